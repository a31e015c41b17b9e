package main

import (
	"encoding/json"
	"strings"
	"testing"

	"assay/runner"
)

// TestPowerCutsOfSQLite: in a process of its own SQLite loses no more than its manual
// allows, and all that was never synced, with the schema.
func TestPowerCutsOfSQLite(t *testing.T) {
	t.Parallel()
	e := assay(t, t.TempDir(), "durability", "--cluster", "sqlite:1,disk=faulty", "--duration", "4s", "--json", "--quiet",
		"--setting", "journal=wal,synchronous=full", "--setting", "journal=delete,synchronous=full", "--setting", "journal=wal,synchronous=off")
	e.want(t, exitNoVerdict)
	var trials []runner.DurabilityTrial
	if err := json.Unmarshal([]byte(e.stdout), &trials); err != nil || len(trials) != 3 {
		t.Fatalf("%v: %v", err, e)
	}
	for i, class := range []string{"system crash", "system crash with loss of up to 5000 ms", "process crash"} {
		d := trials[i]
		if d.Durability == nil || d.Durability.Class != class || !d.Durability.Tried || d.Acknowledged == 0 || d.Lost == nil || d.Lost.Beyond != 0 {
			t.Fatalf("%s: %+v: %v", d.Setting, d.Durability, e)
		}
	}
	if kept := trials[0]; kept.Verdict != "valid" || kept.Lost.Operations != 0 {
		t.Errorf("%+v, lost %+v", kept, kept.Lost)
	}
	if newest := trials[1]; newest.Verdict != "valid" || newest.Lost.Operations > 1 {
		t.Errorf("%+v, lost %+v", newest, newest.Lost)
	}
	if never := trials[2]; never.Verdict != "unknown" || !strings.Contains(never.Lost.Text, "everything is gone") {
		t.Errorf("%+v, lost %+v", never, never.Lost)
	}
}
