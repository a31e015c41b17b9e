package runner

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"assay/check"
	"assay/internal/expect"
	"assay/load"
	"assay/report"
	"assay/runner/readback"
	"assay/store"
	"assay/workload/bank"
)

func TestARunLeavesItsFolder(t *testing.T) {
	s := small("", 3, 500)
	out := carryOut(t, s)
	var names []string
	entries, err := os.ReadDir(out.Folder)
	expect.NoError(t, err)
	for _, e := range entries {
		names = append(names, e.Name())
	}
	want := []string{"bank.sqlite", FileEnvironment, FileHistory, readback.File, FileReport, FileResult, FileScenario, FileServers, "state.bin"}
	if !slices.Equal(names, want) {
		t.Errorf("the folder holds %v, want %v", names, want)
	}
	keepsSchema(t, out.Folder)
	r := out.Result
	if r.Verdict != check.Valid || r.Outcomes.Total() != 500 || r.Seed != 3 || r.Database.Product != "SQLite" || !r.Database.Embedded {
		t.Errorf("%v, %+v, %s: %s", r.Verdict, r.Outcomes, r.Database.Product, details(r))
	}
	for _, name := range []string{"total", "accounts", "transfers", "record"} {
		if !slices.ContainsFunc(r.Checks, func(c check.Result) bool { return c.Name == name && c.Verdict == check.Valid }) {
			t.Errorf("%s is missing in %s", name, details(r))
		}
	}
	kept, err := report.ReadJSON(filepath.Join(out.Folder, FileResult))
	expect.NoError(t, err)
	sameFigures(t, kept, r)
	if r.Data.Rows["assay_transfer"] != r.Outcomes.Committed || r.Data.Bytes == 0 || !strings.Contains(r.Data.Kept, "bank.sqlite") {
		t.Errorf("data %+v", r.Data)
	}
	var here Environment
	expect.NoError(t, json.Unmarshal(read(t, filepath.Join(out.Folder, FileEnvironment)), &here))
	if here.Version != "test" || here.Go == "" || here.OS == "" || here.CPUs < 1 || here.MemoryBytes == 0 || here.FileSystem == "" {
		t.Errorf("environment %+v", here)
	}
	page := string(read(t, out.Report))
	if !strings.Contains(page, "<html") || !strings.Contains(page, here.Kernel) {
		t.Error("the page says nothing of the machine")
	}
}

func TestDropLeavesOnlyTheFolder(t *testing.T) {
	s := small("", 3, 300)
	s.Drop = true
	out := carryOut(t, s)
	if exists(out.Folder, "bank.sqlite") {
		t.Error("the database is still there")
	}
	if out.Result.Data.Kept != "" || out.Result.Data.Bytes == 0 {
		t.Errorf("data %+v", out.Result.Data)
	}
	sameFigures(t, recheck(t, out.Folder).Result, out.Result)
}

func TestWarmupIsCheckedAndNotMeasured(t *testing.T) {
	s := small("mem://?latency=1ms", 1, 0)
	s.Load.Warmup, s.Load.Duration = 300*time.Millisecond, 300*time.Millisecond
	r := carryOut(t, s).Result
	if r.Measured.Total() == 0 || r.Measured.Total() >= r.Outcomes.Total() {
		t.Errorf("measured %d of %d operations", r.Measured.Total(), r.Outcomes.Total())
	}
	if r.Data.Rows["transfer"] != r.Outcomes.Committed {
		t.Errorf("%d rows of %d committed", r.Data.Rows["transfer"], r.Outcomes.Committed)
	}
}

func TestReasonsForAnInvalidMeasurement(t *testing.T) {
	tests := []struct {
		name   string
		reason string // its beginning
		change func(*Scenario)
	}{
		{"a short time", "too short:", func(s *Scenario) {
			s.Load.Ops, s.Load.Duration = 0, 50*time.Millisecond
		}},
		{"few operations", "too short:", func(s *Scenario) { s.Load.Ops = 50 }},
		{"arrivals that nobody serves", "schedule slipped:", func(s *Scenario) {
			s.Database = "mem://?latency=20ms"
			s.Load.Ops, s.Load.Duration, s.Load.Rate, s.Load.Arrivals = 0, 1200*time.Millisecond, 1000, load.Uniform
		}},
		{"many errors", "too many errors:", func(s *Scenario) { s.Database = "mem://?timeout=0.4" }},
		{"nothing committed", "nothing committed:", func(s *Scenario) { s.Database = "mem://?timeout=1" }},
	}
	for _, test := range tests {
		s := small("mem://", 1, 5000)
		test.change(&s)
		out := carryOut(t, s)
		r := out.Result
		if r.Measurement.Verdict != invalid || !strings.Contains("\n"+reasons(r), "\n"+test.reason) {
			t.Errorf("%s: %s, %q; client %+v", test.name, r.Measurement.Verdict, r.Measurement.Reasons, r.Client)
		}
		if r.Verdict == check.Violated {
			t.Errorf("%s: an honest database was convicted: %s", test.name, details(r))
		}
		if s.Load.Rate > 0 && (r.Load.Unserved < 100 || r.Load.Late.Count == 0 || r.Throughput.Offered != s.Load.Rate) {
			t.Errorf("%s: load %+v, offered %v", test.name, r.Load, r.Throughput.Offered)
		}
		keepsSchema(t, out.Folder)
	}
}

func TestALongEnoughRunIsAMeasurement(t *testing.T) {
	s := small("mem://?latency=2ms", 1, 0)
	s.Load.Duration = 1200 * time.Millisecond
	s.Thresholds = []string{"p50 > 1ms", "p50 < 1ms", "throughput >= 1", "failed < 1%", "worst.throughput >= 1"}
	r := carryOut(t, s).Result
	if own := ownReasons(r); r.Verdict != check.Valid || len(own) != 0 || (r.Measurement.Verdict == "valid") != (len(r.Measurement.Reasons) == 0) {
		t.Errorf("%v, %+v", r.Verdict, r.Measurement)
	}
	if r.Throughput.PerSecond*r.Throughput.Seconds < float64(r.Measured.Committed)*0.9 || r.Throughput.Seconds < 1.2 {
		t.Errorf("throughput %+v of %d", r.Throughput, r.Measured.Committed)
	}
	var kept []bool
	for i, threshold := range r.Thresholds {
		if threshold.Text != s.Thresholds[i] {
			t.Errorf("threshold %q where %q was set", threshold.Text, s.Thresholds[i])
		}
		kept = append(kept, threshold.Kept)
	}
	if !slices.Equal(kept, []bool{true, false, true, true, true}) {
		t.Errorf("thresholds %+v", r.Thresholds)
	}
}

func TestTheNextRunSaysWhatItReplaces(t *testing.T) {
	file := "sqlite:" + filepath.Join(t.TempDir(), "bank.sqlite")
	first := carryOut(t, small(file, 1, 200))
	told := &diary{}
	out := carryOutBy(t, small(file, 2, 200), Options{Progress: told})
	if out.Result.Verdict != check.Valid {
		t.Errorf("%v: %s", out.Result.Verdict, details(out.Result))
	}
	note := strings.Join(told.notes, "\n")
	for _, part := range []string{first.Result.Run, "100 of 100", "complete"} {
		if !strings.Contains(note, part) {
			t.Errorf("%q does not say %q", note, part)
		}
	}
}

func TestAForeignFileStaysAsItIs(t *testing.T) {
	path := filepath.Join(t.TempDir(), "letter.txt")
	const text = "Dear reader, this is not a database."
	put(t, path, text)
	folder, mine := filepath.Join(t.TempDir(), "run"), t.TempDir()
	for _, out := range []string{folder, mine} {
		if _, err := Run(t.Context(), small("sqlite:"+path, 1, 10), Options{Out: out, Progress: &diary{}}); !is[*store.ForeignError](err) {
			t.Errorf("got %v", err)
		}
	}
	if got := string(read(t, path)); got != text {
		t.Errorf("the file now holds %q", got)
	}
	if _, err := os.Stat(folder); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a folder stayed: %v", err)
	}
	if _, err := os.Stat(mine); err != nil {
		t.Errorf("the user's own folder is gone: %v", err)
	}
}

// TestARunSettlesBeforeItReads: late work of the database is in the books, not left to chance.
func TestARunSettlesBeforeItReads(t *testing.T) {
	t.Parallel()
	for seed := range uint64(5) {
		told := &diary{}
		r := carryOutBy(t, small("mem://?bug=late-apply:0.5", seed, 300), Options{Progress: told}).Result
		if r.Outcomes.Unknown < 50 || r.Data.Rows["transfer"] != r.Outcomes.Committed+r.Outcomes.Unknown {
			t.Errorf("seed %d: %d rows of %+v", seed, r.Data.Rows["transfer"], r.Outcomes)
		}
		settling := slices.Index(told.stages, "waiting until nothing is in flight")
		reading := slices.Index(told.stages, "reading everything back")
		if settling < 0 || reading < settling {
			t.Errorf("stages %q", told.stages)
		}
	}
}

// TestSizeAfterLoading is measured before the first transfer.
func TestSizeAfterLoading(t *testing.T) {
	s := small("", 1, 500)
	s.Config.(*bank.Config).Accounts = 10_000
	d := carryOut(t, s).Result.Data
	if d.Loaded == nil || *d.Loaded < 100_000 || *d.Loaded > d.Bytes {
		t.Errorf("%+v", d)
	}
}
