package runner

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"assay/check"
	"assay/history"
	"assay/internal/expect"
	"assay/report"
	"assay/runner/readback"
	"assay/store"
	"assay/workload/bank"
	"assay/workload/isolation"
)

// kill leaves what kill -9 leaves at the end of the work: a history without its end, an early
// result, and no state.
func kill(t *testing.T, out Outcome, stateFile string) {
	t.Helper()
	for _, file := range []string{stateFile, readback.File, FileReport} {
		remove(t, filepath.Join(out.Folder, file))
	}
	path := filepath.Join(out.Folder, FileHistory)
	rewrite(t, path, func(*history.Op) {}, func(e history.Event) bool {
		return e.Name != history.EventQuiesced && e.Name != history.EventMeasureEnd
	})
	expect.NoError(t, os.Truncate(path, int64(len(read(t, path))-1)))
	r := *out.Result
	begun := begin(Defaults(workloadOf(r.Workload)), store.Marker{Run: r.Run, Version: r.Version}, r.Started)
	begun.Seed, begun.Load, begun.Retries, begun.Options = r.Seed, r.Load, r.Retries, r.Options
	begun.Database, begun.Loading = r.Database, r.Loading
	begun.Load.Unserved, begun.Load.Late = 0, report.Latency{}
	expect.NoError(t, writeResult(out.Folder, begun))
}

// TestJudgingIsIdempotent: every judging gives the same, and a killed run is judged by what was
// read after it settled. PostgreSQL's read committed allows what workload isolation finds.
func TestJudgingIsIdempotent(t *testing.T) {
	t.Parallel()
	server := onServers(t, "postgres:1,fsync=off")
	for name, s := range wordy() {
		for product, database := range map[string]string{"sqlite": "", "postgres": server.Address()} {
			if s.Database = database; database != "" && name != bank.Name && name != isolation.Name {
				continue // what another database does to a workload is in the state that was read
			}
			if s.Options = nil; database == "" {
				s.Options = []string{"synchronous=off"} // no power is cut
			}
			t.Run(name+" on "+product, func(t *testing.T) { judgedAgainAndAgain(t, s) })
		}
	}
}

func judgedAgainAndAgain(t *testing.T, s Scenario) {
	out := carryOut(t, s)
	first := out.Result.Verdict
	if allows := first == check.Allowed && s.Workload == isolation.Name && s.Database != ""; first != check.Valid && !allows {
		t.Fatalf("%v: %s", first, details(out.Result))
	}
	result := func() string { return string(read(t, filepath.Join(out.Folder, FileResult))) }
	for _, when := range []string{"after the run", "after it was killed"} {
		before := result()
		if when != "after the run" {
			kill(t, out, s.definition().State)
			again, err := Recheck(t.Context(), out.Folder, RecheckOptions{Version: "test", Database: s.Database, Progress: &diary{}})
			expect.NoError(t, err)
			if r := again.Result; r.Verdict != first {
				t.Fatalf("%s: %v, and was %v: %s", when, r.Verdict, first, details(r))
			}
			before = result()
		}
		recheck(t, out.Folder)
		if after := result(); after != before {
			t.Fatalf("%s: judged again: %s", when, firstDifference(after, before))
		}
	}
}

// TestAStateOfUnknownAgeIsReadAgain: earlier versions did not say whether a killed run had settled.
func TestAStateOfUnknownAgeIsReadAgain(t *testing.T) {
	t.Parallel()
	out := carryOut(t, small("", 1, 2000))
	state := read(t, filepath.Join(out.Folder, bank.FileState))
	kill(t, out, bank.FileState)
	put(t, filepath.Join(out.Folder, bank.FileState), string(state))
	if r := recheck(t, out.Folder).Result; r.Verdict != check.Valid {
		t.Errorf("%v: %s", r.Verdict, details(r))
	}
}

// TestAJudgementIsNotLost: a weaker judgement, or one by another model, does not replace the kept
// one.
func TestAJudgementIsNotLost(t *testing.T) {
	t.Parallel()
	out := carryOut(t, small("mem://", 1, 2000))
	kept := string(read(t, filepath.Join(out.Folder, FileResult)))
	truncate(t, filepath.Join(out.Folder, bank.FileState))
	again := recheck(t, out.Folder)
	if again.Result.Verdict != check.Unknown || !strings.Contains(strings.Join(again.Result.Notes, "; "), "keeps that earlier judgement (valid)") {
		t.Errorf("%v, notes %q", again.Result.Verdict, again.Result.Notes)
	}
	if after := string(read(t, filepath.Join(out.Folder, FileResult))); after != kept || again.Report != "" {
		t.Errorf("the earlier judgement was replaced: %s", firstDifference(after, kept))
	}

	s := small("mem://", 1, 2000)
	become(&s, isolation.Definition())
	out = carryOut(t, s)
	kept = string(read(t, filepath.Join(out.Folder, FileResult)))
	other, err := Recheck(t.Context(), out.Folder, RecheckOptions{Model: "read-committed", Progress: &diary{}})
	expect.NoError(t, err)
	if !slices.Contains(other.Result.Notes, "read-committed was asked for this answer alone; the folder keeps the run's own judgement, against strict-serializable") {
		t.Errorf("notes %q", other.Result.Notes)
	}
	if after := string(read(t, filepath.Join(out.Folder, FileResult))); after != kept {
		t.Errorf("another model replaced the run's own judgement: %s", firstDifference(after, kept))
	}
}

// TestACutHistoryConvictsNobody: a record lost after the run is not blamed on the database.
func TestACutHistoryConvictsNobody(t *testing.T) {
	t.Parallel()
	folder := carryOut(t, small("mem://", 1, 20_000)).Folder
	truncate(t, filepath.Join(folder, FileHistory))
	wantInput(t, folder, RecheckOptions{}, "its history was cut after the run had ended")
}

// TestATestersFailureStays: differing counts make a run unknown, also when judged again.
func TestATestersFailureStays(t *testing.T) {
	t.Parallel()
	folder := carryOut(t, small("mem://", 1, 500)).Folder
	_, r, err := readRun(folder)
	expect.NoError(t, err)
	r.Client.Counted.Attempts++
	expect.NoError(t, writeResult(folder, r))
	again := recheck(t, folder).Result
	if i := slices.IndexFunc(again.Checks, func(c check.Result) bool { return c.Name == "record" }); again.Checks[i].Verdict != check.Unknown {
		t.Errorf("%v: %s", again.Checks[i].Verdict, again.Checks[i].Detail)
	}
}
