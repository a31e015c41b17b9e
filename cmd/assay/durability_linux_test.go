package main

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"assay/runner/powercuts"
)

// TestPowerCutsOfSQLite: in a process of its own SQLite loses no more than its manual
// allows, and all that was never synced, with the schema.
func TestPowerCutsOfSQLite(t *testing.T) {
	t.Parallel()
	e := assay(t, t.TempDir(), "durability", "--cluster", "sqlite:1,disk=faulty", "--duration", "3s", "--json", "--quiet",
		"--setting", "journal=wal,synchronous=full", "--setting", "journal=delete,synchronous=full", "--setting", "journal=wal,synchronous=off")
	e.want(t, exitValid)
	var trials []powercuts.Trial
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
	if newest := trials[1]; newest.Lost.Operations > 1 || newest.Verdict != map[bool]string{true: "allowed", false: "valid"}[newest.Lost.Operations > 0] {
		t.Errorf("%+v, lost %+v", newest, newest.Lost)
	}
	if never := trials[2]; never.Verdict != "allowed" || never.Lost.Operations != never.Acknowledged || !strings.Contains(never.Lost.Text, " acknowledged operations are lost; ") {
		t.Errorf("%+v, lost %+v", never, never.Lost)
	}
}

// TestPowerCutsAreRefused: without root, or what disks are made of, nothing is started, and
// the folder for temporary files stays empty (start sees to that).
func TestPowerCutsAreRefused(t *testing.T) {
	t.Parallel()
	const (
		unprivileged = `exec setpriv --reuid 65534 --inh-caps +dac_override --ambient-caps +dac_override "$0" "$@"`
		// The program itself may lie below /dev/shm, which stays.
		noDevices = `exec unshare --mount sh -c 'mount --bind /dev/shm /mnt && mount -t tmpfs tmpfs /dev && mkdir /dev/shm &&
			mount --move /mnt /dev/shm && exec "$0" "$@"' "$0" "$@"`
	)
	run := func(cluster, fault string) []string {
		return []string{"run", "entity", "--cluster", cluster, "--fault", fault, "--duration", "2s", "--out", "run"}
	}
	for _, test := range []struct {
		shell string
		args  []string
		says  string
	}{
		{unprivileged, run("sqlite:1", "power-cut n1 at 1s for 1s"), "run assay as root"},
		{unprivileged, run("sqlite:1,disk=faulty", "disk-full n1 at 1s for 1s"), "run assay as root"},
		{unprivileged, []string{"durability", "--cluster", "sqlite:1"}, "run assay as root"},
		{noDevices, run("sqlite:1", "power-cut n1 at 1s for 1s"), "/dev/loop-control"},
		{noDevices, run("sqlite:1", "power-cut=torn n1 at 1s for 1s"), "/dev/fuse"},
		{noDevices, []string{"durability", "--cluster", "sqlite:1,disk=faulty"}, "modprobe fuse"},
	} {
		dir := t.TempDir()
		e := ends(t, command{dir: dir, args: test.args, shell: test.shell})
		said := e.complaint(t)
		if e.code != exitCannotRun || !strings.Contains(said, test.says) {
			t.Errorf("want %q: %v", test.says, e)
		}
		if made, err := os.ReadDir(dir); err != nil || len(made) != 0 {
			t.Errorf("%v made %v, %v", test.args, made, err)
		}
	}
}
