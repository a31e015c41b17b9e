package powercuts

import (
	"path/filepath"
	"testing"
	"time"

	"assay/check"
	"assay/internal/expect"
	"assay/measure"
	"assay/report"
	"assay/runner"
)

type silent struct{}

func (silent) Stage(string)                                  {}
func (silent) Rows(_, _ int64)                               {}
func (silent) Working(time.Duration, bool, measure.Snapshot) {}
func (silent) Note(string)                                   {}

// TestTrialWithoutACut has no verdict, except that of a promise that was broken meanwhile.
func TestTrialWithoutACut(t *testing.T) {
	now := time.Now()
	cut, uncut := report.Fault{CutAt: &now, Proven: true, RecoveredAfter: 40}, report.Fault{Problem: "no loop device"}
	for _, c := range []struct {
		verdict          check.Verdict
		fault            report.Fault
		wanted, explains string
		recovered        float64
	}{
		{check.Valid, cut, "valid", "", 40},
		{check.Allowed, cut, "allowed", "transfers: 3 lost", 40},
		{check.Violated, cut, "violated", "transfers: 3 lost", 40},
		{check.Valid, uncut, "unknown", "the power was not cut: no loop device", -1},
		{check.Allowed, uncut, "unknown", "the power was not cut: no loop device", -1},
		{check.Violated, uncut, "violated", "transfers: 3 lost; the power was not cut: no loop device", -1},
	} {
		r := &report.Result{Verdict: c.verdict, Faults: []report.Fault{c.fault}, Checks: []check.Result{{Name: "transfers", Verdict: c.verdict, Detail: "3 lost"}}}
		if d := trialOf(r); d.Verdict != c.wanted || d.Why != c.explains || d.Recovered != c.recovered {
			t.Errorf("%v with %+v: %+v", c.verdict, c.fault, d)
		}
	}
}

// TestDurabilityIsTried: PostgreSQL loses nothing promised, and without waiting for the disk only
// what it announces. The amount depends on the moment.
func TestDurabilityIsTried(t *testing.T) {
	out := filepath.Join(t.TempDir(), "runs")
	var trials []Trial
	err := Try(t.Context(), Trials{Cluster: "postgres:1", Settings: []string{"synchronous_commit=on", "synchronous_commit=off"}, Seed: 1},
		runner.Options{Version: "test", Out: out, Progress: silent{}}, func(d Trial) { trials = append(trials, d) })
	if err != nil || len(trials) != 2 {
		t.Fatalf("%+v, %v", trials, err)
	}
	for i, class := range []string{"system crash", "system crash with loss of up to 600 ms"} {
		d := trials[i]
		if took := d.Verdict == "allowed" && d.Lost != nil && d.Lost.Operations > 0; !took && d.Verdict != "valid" || d.Durability.Class != class || !d.Durability.Tried || d.Lost == nil || d.Lost.Beyond != 0 || d.Acknowledged == 0 {
			t.Errorf("%+v, durability %+v, lost %+v", d, d.Durability, d.Lost)
		}
	}
	if lost := trials[0].Lost; lost != nil && lost.Operations != 0 {
		t.Errorf("lost by what promises to keep it: %+v", lost)
	}
	again, err := runner.Recheck(t.Context(), trials[1].Folder, runner.RecheckOptions{Version: "test", Progress: silent{}})
	expect.NoError(t, err)
	if lost := again.Result.Lost; lost == nil || lost.Text != trials[1].Lost.Text {
		t.Errorf("judged again: %+v; first %+v", lost, trials[1].Lost)
	}
}
