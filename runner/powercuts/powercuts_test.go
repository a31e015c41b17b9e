package powercuts

import (
	"path/filepath"
	"testing"
	"time"

	"assay/internal/expect"
	"assay/measure"
	"assay/runner"
)

type silent struct{}

func (silent) Stage(string)                                  {}
func (silent) Rows(_, _ int64)                               {}
func (silent) Working(time.Duration, bool, measure.Snapshot) {}
func (silent) Note(string)                                   {}

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
