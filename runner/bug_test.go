package runner

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"assay/check"
	"assay/internal/expect"
	"assay/report"
)

func bugPage(t *testing.T, folder string) (string, error) {
	t.Helper()
	d, err := BugReport(t.Context(), folder, time.Minute)
	if err != nil {
		return "", err
	}
	var page strings.Builder
	expect.NoError(t, d.Markdown(&page))
	return page.String(), nil
}

// TestBugReport: a planted bug's page has the lost operation and its time, also for runs of an
// earlier program.
func TestBugReport(t *testing.T) {
	t.Parallel()
	s := dry("mem://?bug=lost-ack:0.2", 1)
	s.Load.Ops = 200
	out := carryOut(t, s)
	page, err := bugPage(t, out.Folder)
	expect.NoError(t, err)
	expect.Text(t, "the page", page, "seeded on purpose (lost-ack:0.2)", "was acknowledged as committed and has no journal row", "┌ operation ", "└ committed",
		"assay run bank --scenario scenario.yaml", "| faults of assay | yes | none was injected |")
	if found := out.Result.Started.UTC().Format("2006-01-02 15:04"); !strings.Contains(page, "when | "+found) {
		t.Errorf("the run was at %s:\n%s", found, page)
	}
	path := filepath.Join(out.Folder, FileResult)
	text, err := os.ReadFile(path)
	expect.NoError(t, err)
	for _, key := range []string{"rules", "seeded", "promise", "conviction", "findings", "changed_settings", "fields"} {
		text = []byte(strings.ReplaceAll(string(text), `"`+key+`":`, `"earlier_`+key+`":`))
	}
	put(t, path, string(text))
	page, err = bugPage(t, out.Folder)
	if err != nil || !strings.Contains(page, "has no journal row") || !strings.Contains(page, "the server does not tell") {
		t.Errorf("of an earlier program: %v\n%s", err, page)
	}
}

// TestBugReportOfNothing: a run without a finding, killed or of an earlier program, has no page,
// and the error says why.
func TestBugReportOfNothing(t *testing.T) {
	t.Parallel()
	out := carryOut(t, small("mem://", 1, 100))
	_, err := bugPage(t, out.Folder)
	if !is[*NothingError](err) || !strings.Contains(err.Error(), "the verdict is valid") {
		t.Errorf("an honest run: %v", err)
	}
	r := &report.Result{Format: 1, Workload: "bank", Seed: out.Result.Seed, Run: out.Result.Run, Unanswered: []string{"the run was killed"}}
	expect.NoError(t, writeResult(out.Folder, r))
	_, err = bugPage(t, out.Folder)
	if !is[*NothingError](err) || !strings.Contains(err.Error(), "the verdict is unknown (") || !strings.Contains(err.Error(), "the run was killed") {
		t.Errorf("a killed run: %v", err)
	}
	if _, err = bugPage(t, filepath.Join("testdata", "earlier", "bank")); !is[*NothingError](err) {
		t.Errorf("a run of an earlier program: %v", err)
	}
	if _, err = bugPage(t, t.TempDir()); !is[*report.InputError](err) {
		t.Errorf("no run: %v", err)
	}
}

// TestFaultsOfAPage: a fault's effect is beside the operation, and a power cut where the power went.
func TestFaultsOfAPage(t *testing.T) {
	r := &report.Result{Faults: []report.Fault{{Action: "kill", Nodes: []string{"n1"}, InjectedSecond: 2, HealedSecond: 3, Proven: true, Proof: "it is gone", Healing: "it is back"},
		{Action: "kill", Nodes: []string{"n2"}, Skipped: true}, {Action: "pause", Nodes: []string{"n3"}, InjectedSecond: 9, HealedSecond: -1, Proven: true}}}
	x := besideFaults(r, []check.Operation{{Name: "operation 7", Invoke: 1e9, Complete: 25e8}})
	if len(x.Operations) != 3 || x.Operations[1].Name != "kill n1" || x.Operations[2].Complete != -1 {
		t.Errorf("%+v", x.Operations)
	}
	injected := time.Date(2026, 11, 29, 12, 31, 48, 0, time.UTC)
	cut := injected.Add(6 * time.Millisecond)
	r.Faults = []report.Fault{{Action: "power-cut", Nodes: []string{"n1"}, InjectedAt: injected, CutAt: &cut, InjectedSecond: 2, HealedSecond: 3, Proven: true}}
	x = besideFaults(r, []check.Operation{{Name: "operation 7", Invoke: 1e9, Complete: 2.005e9}})
	if at := x.Operations[1].Invoke; at != 2.006e9 {
		t.Errorf("the power was cut at 2.006 s, after the acknowledgement at 2.005 s, and is drawn at %d ns", at)
	}
}

// TestLinesAround finds each product's log lines of a moment, one of each kind, by the log's own
// times.
func TestLinesAround(t *testing.T) {
	folder := t.TempDir()
	at := time.Date(2026, 11, 29, 12, 21, 4, 799e6, time.Local)
	zoned := at.UTC().Format("2006-01-02T15:04:05.000")
	own := at.Format("2006-01-02 15:04:05")
	for name, first := range map[string]string{
		"postgres": strings.Replace(zoned, "T", " ", 1) + " UTC [7210] ERROR:  here 1",
		"etcd":     `{"level":"warn","ts":"` + zoned + `Z","msg":"here 1"}`,
		"mongodb":  `{"t":{"$date":"` + zoned + `+00:00"},"s":"I","msg":"here 1"}`,
		"mariadb":  own + " 0 [Note] here 1",
		"redis":    "7210:M " + at.Format("02 Jan 2006 15:04:05.000") + " * here 1",
		"patroni":  own + ",799 INFO: here 1", "cassandra": "INFO  [main] " + own + ",799 Gossiper.java:1 - here 1",
	} {
		put(t, filepath.Join(folder, name+".log"), "2026-11-28 10:00:00 UTC long before\n\n"+first+"\n  and so on\n"+strings.Replace(first, "here 1", "here 2", 1)+"\n2026-11-30 10:00:00 UTC later\n")
	}
	logs, err := linesAround(folder, []span{{at, at}})
	if err != nil || len(logs) != 7 {
		t.Fatal(logs, err)
	}
	for _, log := range logs {
		if lines := strings.Split(log.Value, "\n"); len(lines) != 2 || !strings.Contains(lines[0], "here 1") || !strings.HasSuffix(lines[0], " (2 such lines)") || lines[1] != "  and so on" {
			t.Errorf("%s: %q", log.Name, lines)
		}
	}
	if logs, err = linesAround(filepath.Join(folder, "none"), []span{{at, at}}); len(logs) > 0 || err != nil {
		t.Errorf("no folder: %v %v", logs, err)
	}
}
