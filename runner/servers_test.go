package runner

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"assay/measure/servers"
)

// TestServersOfAnEmbeddedDatabase: assay itself is measured, and the result says why alone. A
// missing file, as of earlier versions, means nothing, and an unreadable one costs nothing else.
func TestServersOfAnEmbeddedDatabase(t *testing.T) {
	out := carryOut(t, small("", 1, 50))
	got := out.Result.Servers
	if got == nil || got.NoNodes == "" || !strings.Contains(got.NoAccount, "SQLite") || len(got.Nodes) != 1 || !got.Nodes[0].Tester || got.Limit.Text == "" {
		t.Fatalf("%+v", got)
	}
	path := filepath.Join(out.Folder, FileServers)
	for text, says := range map[string]string{"": "", "malformed\n": "what the servers were doing is not known"} {
		put(t, path, text)
		again := recheck(t, out.Folder)
		if again.Result.Servers != nil || again.Result.Verdict != out.Result.Verdict {
			t.Errorf("%q: %+v", text, again.Result.Servers)
		}
		if notes := strings.Join(again.Result.Notes, "\n"); !strings.Contains(notes, says) || says == "" && strings.Contains(notes, "servers were doing") {
			t.Errorf("%q: notes %s", text, notes)
		}
	}
}

// TestServersAreNotLookedAt on request, also of a scenario.
func TestServersAreNotLookedAt(t *testing.T) {
	s := small("", 1, 50)
	s.NoServerStats = true
	out := carryOut(t, s)
	if out.Result.Servers != nil || exists(out.Folder, FileServers) {
		t.Errorf("%+v", out.Result)
	}
	if kept, err := ReadScenario(filepath.Join(out.Folder, FileScenario)); err != nil || !kept.NoServerStats {
		t.Errorf("%v, %+v", err, kept)
	}
}

// TestServersOfThisMachine finds a server by its local port, and none of another machine.
func TestServersOfThisMachine(t *testing.T) {
	for address, why := range map[string]string{
		"postgres://u:hunter2@192.0.2.1/d": "192.0.2.1:5432 is not an address of this machine",
		"postgres://127.0.0.1:1/d":         "who listens on 127.0.0.1:1 cannot be seen", "postgres:///d?host=/run": "names no host",
	} {
		sources, got := participants{address: address, testers: func() []int { return nil }}.sources()
		if !strings.Contains(got, why) || strings.Contains(got, "hunter2") || len(sources()) != 1 {
			t.Errorf("%s: %q, %d sources", address, got, len(sources()))
		}
	}
}

// TestTheSummaryIsJSON, even without content.
func TestTheSummaryIsJSON(t *testing.T) {
	record := &servers.Record{}
	if text, err := json.Marshal(servers.Summarize(record, servers.Conditions{TesterShare: -1})); err != nil || !strings.Contains(string(text), `"nodes":[]`) {
		t.Errorf("%s, %v", text, err)
	}
}
