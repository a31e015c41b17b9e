package runner

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"assay/check"
	"assay/history"
	"assay/internal/expect"
	"assay/report"
	"assay/runner/record"
	"assay/workload/candles"
)

// smallCandles takes a moment.
func smallCandles(database string) Scenario {
	s := Defaults(candles.Definition())
	s.Database, s.Load.Seed = database, 5
	c := s.Config.(*candles.Config)
	c.Candles, c.Tickers, c.Batch, c.Queries, c.Repeats = 1000, 10, 100, 50, 5
	return s
}

func TestCandlesRun(t *testing.T) {
	t.Parallel()
	out := carryOut(t, smallCandles(""))
	r := out.Result
	if r.Verdict != check.Valid || len(r.Rounds) != 7 || r.Rounds[0].Name != "ingest" || r.Rounds[0].Outcomes.Committed != 10 {
		t.Errorf("verdict %s, checks %+v, rounds %+v", r.Verdict, r.Checks, r.Rounds)
	}
	wantRounds(t, out)
	endWithWork(t, out)
	for _, round := range r.Rounds {
		if len(round.Facts) < 3 || round.Facts[0].Name != "rows" || round.Facts[0].Value == "0" {
			t.Errorf("%s says %+v", round.Name, round.Facts)
		}
		if round.RowsPerSecond <= 0 {
			t.Errorf("%s has no rows per second", round.Name)
		}
	}
	if notes := strings.Join(r.Notes, "\n"); !strings.Contains(notes, "raw / data") || strings.Contains(notes, "--cold") {
		t.Errorf("notes: %s", notes)
	}
	again := recheck(t, out.Folder)
	if again.Result.Verdict != check.Valid || len(again.Result.Rounds[1].Facts) != len(r.Rounds[1].Facts) {
		t.Errorf("judged again: %+v", again.Result)
	}
}

func TestCandlesOfNoSuchEngine(t *testing.T) {
	s := smallCandles("mem://")
	s.Config.(*candles.Config).Engine = "zstd"
	folder := t.TempDir() + "/run"
	_, err := Run(t.Context(), s, Options{Version: "test", Out: folder, Progress: &diary{}})
	if err == nil || !strings.Contains(err.Error(), "memory") {
		t.Errorf("%v; want a refusal that names the engines", err)
	}
	if _, err := os.Stat(folder); err == nil {
		t.Error("a refused run has left its folder")
	}
}

// wantRounds: the load line names the rounds instead of a length, even if the run was cut before
// the first.
func wantRounds(t *testing.T, out Outcome) {
	t.Helper()
	cut := *out.Result
	cut.Rounds = nil
	for _, r := range []*report.Result{out.Result, &cut} {
		var text strings.Builder
		expect.NoError(t, report.Text(&text, r, report.TextOptions{Width: 200}))
		want := "closed loop, 7 rounds: ingest; quick, first; quick, warm; interval, first; interval, warm; day, first; day, warm\n"
		if !strings.Contains(text.String(), want) || strings.Contains(text.String(), "measured 5 s") {
			t.Errorf("the load line is another: %s", text.String())
		}
	}
	if l := out.Result.Load; l.DurationSeconds != 0 || l.WarmupSeconds != 0 || len(l.Rounds) != 7 {
		t.Errorf("the load is %+v", l)
	}
	keepsSchema(t, out.Folder)
}

// endWithWork: a round ends with its last operation, and the closing of sessions is no part of it.
func endWithWork(t *testing.T, out Outcome) {
	t.Helper()
	last, rounds := map[int]int64{}, record.Rounds{}
	_, err := history.Read(filepath.Join(out.Folder, FileHistory), history.Visitor{
		AsMeasured: true,
		Op:         func(op *history.Op) error { last[op.Client] = max(last[op.Client], op.End); return nil },
		Event:      rounds.Event,
	})
	expect.NoError(t, err)
	if len(rounds.Scopes) != len(out.Result.Rounds) {
		t.Errorf("the history has %d rounds", len(rounds.Scopes))
	}
	for _, scope := range rounds.Scopes {
		end := int64(0)
		for client := range scope.Clients {
			end = max(end, last[scope.First+client]+1)
		}
		if scope.End != end {
			t.Errorf("%s ends at %d ns, and its last operation just before %d", scope.Name, scope.End, end)
		}
	}
}
