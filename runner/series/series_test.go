package series

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"assay/check"
	"assay/internal/expect"
	"assay/report"
	"assay/runner"
	"assay/runner/catalog"
)

// plan varies the clients and repeats twice.
func plan(t *testing.T) Plan {
	t.Helper()
	w, err := catalog.WorkloadOf("bank")
	expect.NoError(t, err)
	p := Plan{Base: runner.Defaults(w), Repeats: 2}
	p.Base.Load.Seed = 40
	axis := Axis{Name: "clients"}
	for _, n := range []int{1, 8} {
		axis.Choices = append(axis.Choices, Choice{Text: fmt.Sprint(n), Apply: func(s *runner.Scenario) { s.Load.Clients = n }})
	}
	p.Axes = []Axis{axis}
	return p
}

// journal is a test's Progress and runs.
type journal struct {
	t     *testing.T
	began []string
	made  []string
	// act decides the fate of run number n.
	act func(n int) error
}

func (j *journal) Begins(number, total int, r report.SeriesRun, _ time.Duration) {
	j.began = append(j.began, fmt.Sprintf("%d/%d %s %d", number, total, r.Configuration, r.Repeat))
}

func (j *journal) Ended(report.SeriesRun, *report.Result) {}

func (j *journal) run(_ context.Context, s runner.Scenario, folder string) (*report.Result, error) {
	j.made = append(j.made, fmt.Sprintf("%d clients, seed %d", s.Load.Clients, s.Load.Seed))
	if err := os.Mkdir(folder, 0o755); err != nil {
		j.t.Error(err)
	}
	if j.act != nil {
		if err := j.act(len(j.made)); err != nil {
			return nil, err
		}
	}
	return &report.Result{Workload: "bank", Verdict: check.Valid, Measurement: report.Measurement{Verdict: "valid"}}, nil
}

// TestUntilValid: an invalid measurement is repeated up to a limit, but not after a finding, nor if
// it is too short.
func TestUntilValid(t *testing.T) {
	for _, c := range []struct {
		verdict     check.Verdict
		valid       int // from which run on measurements are
		why         string
		made, again int
	}{
		{check.Valid, 1, "machine busy: x", 4, 0}, {check.Valid, 3, "machine busy: x", 6, 2}, {check.Valid, 99, "stalled: x", 12, 8}, {check.Violated, 99, "stalled: x", 4, 0}, {check.Unknown, 99, "stalled: x", 4, 0},
		{check.Valid, 99, "too short: 1 s", 4, 0},
	} {
		j := &journal{t: t}
		o := Options{Out: filepath.Join(t.TempDir(), "series"), UntilValid: 2, Progress: j}
		o.Run = func(ctx context.Context, s runner.Scenario, folder string) (*report.Result, error) {
			r, err := j.run(ctx, s, folder)
			if r.Verdict = c.verdict; len(j.made) < c.valid {
				r.Measurement.Verdict, r.Measurement.Reasons = "invalid", []string{c.why}
			}
			return r, err
		}
		s, _, err := Run(t.Context(), plan(t), o)
		expect.NoError(t, err)
		again := 0
		for _, r := range s.Runs {
			again += r.Again
		}
		if len(j.made) != c.made || again != c.again || len(s.Runs) != 4 {
			t.Errorf("%+v: %d made, %d again, %d in the series", c, len(j.made), again, len(s.Runs))
		}
	}
}

func TestRunsAreInterleaved(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "series")
	j := &journal{t: t}
	s, at, err := Run(t.Context(), plan(t), Options{Out: folder, Run: j.run, Progress: j})
	if err != nil || at != folder {
		t.Fatal(at, err)
	}
	want := []string{"1 clients, seed 40", "8 clients, seed 40", "1 clients, seed 41", "8 clients, seed 41"}
	if !slices.Equal(j.made, want) || j.began[2] != "3/4 clients=1 2" {
		t.Errorf("made %q, began %q", j.made, j.began)
	}
	saved, err := report.ReadSeries(folder)
	if err != nil || len(saved.Runs) != 4 || saved.Runs[3].State != report.StateDone || saved.Runs[3].Exit.Code != 0 || s.Runs[3].Folder != saved.Runs[3].Folder {
		t.Errorf("saved %+v, %v", saved, err)
	}
}

// TestSeriesGoesOn: interrupted and impossible runs are made again, finished ones are not.
func TestSeriesGoesOn(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "series")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	j := &journal{t: t, act: func(n int) error {
		switch n {
		case 2:
			return errors.New("no servers")
		case 3:
			cancel()
		}
		return nil
	}}
	o := Options{Out: folder, Run: j.run, Progress: j}
	s, _, err := Run(ctx, plan(t), o)
	if !errors.Is(err, context.Canceled) || s.Runs[1].State != report.StateFailed || s.Runs[1].Problem != "no servers" || s.Runs[2].State != report.StateWaiting {
		t.Fatalf("%+v, %v", s, err)
	}
	j.act, j.made = nil, nil
	if s, _, err = Run(t.Context(), plan(t), o); err != nil {
		t.Fatal(err)
	}
	if want := []string{"8 clients, seed 40", "1 clients, seed 41", "8 clients, seed 41"}; !slices.Equal(j.made, want) {
		t.Errorf("made %q", j.made)
	}
	if s.Runs[2].Folder != "002-001-again-2" {
		t.Errorf("the folder is %s", s.Runs[2].Folder)
	}
	more := plan(t)
	more.Repeats = 3
	j.made = nil
	if s, _, err = Run(t.Context(), more, o); err != nil || len(j.made) != 2 || s.Repeats != 3 {
		t.Errorf("one more repeat: %q, %v", j.made, err)
	}
}

// TestRepeatThatWasCutIsMadeAgain: the invalid run before it does not stand for it.
func TestRepeatThatWasCutIsMadeAgain(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	j := &journal{t: t, act: func(n int) error {
		if n == 2 {
			cancel()
		}
		return nil
	}}
	o := Options{Out: filepath.Join(t.TempDir(), "series"), UntilValid: 2, Progress: j}
	o.Run = func(ctx context.Context, s runner.Scenario, folder string) (*report.Result, error) {
		r, err := j.run(ctx, s, folder)
		if len(j.made) == 1 {
			r.Measurement.Verdict, r.Measurement.Reasons = "invalid", []string{"machine busy: x"}
		}
		return r, err
	}
	_, folder, err := Run(ctx, plan(t), o)
	saved, unread := report.ReadSeries(folder)
	expect.NoError(t, unread)
	if first := saved.Runs[0]; !errors.Is(err, context.Canceled) || first.State != report.StateWaiting || first.Exit != nil || first.Again != 1 {
		t.Fatalf("%+v, %v", first, err)
	}
	s, _, err := Run(t.Context(), plan(t), o)
	expect.NoError(t, err)
	if first := s.Runs[0]; len(j.made) != 6 || first.State != report.StateDone || first.Exit == nil || first.Folder != "001-001-again-3" {
		t.Errorf("%d made, %+v", len(j.made), first)
	}
}

// TestViolationOfACutRunIsKept: what a run has proven before it was cut is told, and not made again.
func TestViolationOfACutRunIsKept(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	o := Options{Out: filepath.Join(t.TempDir(), "series"), Progress: &journal{t: t}}
	o.Run = func(context.Context, runner.Scenario, string) (*report.Result, error) {
		cancel()
		return &report.Result{Verdict: check.Violated}, nil
	}
	s, folder, err := Run(ctx, plan(t), o)
	if !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	saved, unread := report.ReadSeries(folder)
	expect.NoError(t, unread)
	for _, r := range []report.SeriesRun{s.Runs[0], saved.Runs[0]} {
		if r.State != report.StateDone || r.Exit == nil || r.Exit.Code != report.ExitViolated {
			t.Errorf("%+v", r)
		}
	}
	if s.Runs[1].State != report.StateWaiting {
		t.Errorf("the next run is %+v", s.Runs[1])
	}
}

// TestRunThatWasRemovedIsMadeAgain under the same seed, and the others are kept.
func TestRunThatWasRemovedIsMadeAgain(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "series")
	j := &journal{t: t}
	s, _, err := Run(t.Context(), plan(t), Options{Out: folder, Run: j.run, Progress: j})
	expect.NoError(t, err, os.Remove(filepath.Join(folder, s.Runs[2].Folder)))
	j.made = nil
	again, _, err := Run(t.Context(), plan(t), Options{Out: folder, Run: j.run, Progress: j})
	expect.NoError(t, err)
	if want := []string{"1 clients, seed 41"}; !slices.Equal(j.made, want) || again.Runs[2].Folder != s.Runs[2].Folder || again.Count(report.StateDone) != 4 {
		t.Errorf("made %q, %+v; want %q", j.made, again.Runs, want)
	}
}

func TestAnotherPlanIsRefused(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "series")
	j := &journal{t: t}
	o := Options{Out: folder, Run: j.run, Progress: j}
	if _, _, err := Run(t.Context(), plan(t), o); err != nil {
		t.Fatal(err)
	}
	for want, change := range map[string]func(p *Plan){
		"seed":     func(p *Plan) { p.Base.Load.Seed++ },
		"duration": func(p *Plan) { p.Base.Load.Duration++ },
		"others":   func(p *Plan) { p.Axes = nil },
		"repeats":  func(p *Plan) { p.Repeats = 1 },
	} {
		p := plan(t)
		change(&p)
		if _, _, err := Run(t.Context(), p, o); !errors.As(err, new(*runner.FolderError)) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	expect.NoError(t, os.WriteFile(filepath.Join(folder, report.FileSeries), []byte("{"), 0o644))
	if _, _, err := Run(t.Context(), plan(t), o); !errors.As(err, new(*report.FileError)) {
		t.Errorf("a cut series.json: %v", err)
	}
	o.Out = t.TempDir()
	expect.NoError(t, os.WriteFile(filepath.Join(o.Out, "x"), nil, 0o644))
	if _, _, err := Run(t.Context(), plan(t), o); !errors.As(err, new(*runner.FolderError)) {
		t.Errorf("a folder in use: %v", err)
	}
}

func TestPlansThatCannotBeMade(t *testing.T) {
	for name, change := range map[string]func(p *Plan){
		"twice":   func(p *Plan) { p.Axes[0].Choices[1] = p.Axes[0].Choices[0] },
		"repeat":  func(p *Plan) { p.Repeats = 0 },
		"more":    func(p *Plan) { p.Repeats = MaxRuns },
		"clients": func(p *Plan) { p.Axes[0].Choices[1].Apply = func(s *runner.Scenario) { s.Load.Clients = 0 } },
	} {
		p := plan(t)
		change(&p)
		folder := filepath.Join(t.TempDir(), "series")
		if _, _, err := Run(t.Context(), p, Options{Out: folder}); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := os.Stat(folder); err == nil {
			t.Errorf("%s: a folder is left", name)
		}
	}
}

// TestPasswordsStayOut of a series' names and file.
func TestPasswordsStayOut(t *testing.T) {
	p := plan(t)
	p.Base.Database = "postgres://u:hush-hush@127.0.0.1:1/x"
	folder := filepath.Join(t.TempDir(), "series")
	j := &journal{t: t}
	if _, _, err := Run(t.Context(), p, Options{Out: folder, Run: j.run, Progress: j}); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(folder, report.FileSeries))
	if err != nil || strings.Contains(string(text), "hush-hush") {
		t.Errorf("%s, %v", text, err)
	}
}
