package mem

import (
	"errors"
	"slices"
	"testing"
	"time"

	"assay/driver/drivertest"
	"assay/workload"
	"assay/workload/entity"
)

func mustEntities(t testing.TB, o Options) *Entities {
	t.Helper()
	d, err := NewEntities(o)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestEntity(t *testing.T) {
	d := mustEntities(t, Options{})
	setForeign := func(foreign bool) {
		d.mu.Lock()
		d.foreign = foreign
		d.mu.Unlock()
	}
	drivertest.RunEntity(t, drivertest.Entity{
		Open: func(*testing.T) entity.Store { return d.Entity() },
		MakeForeign: func(t *testing.T) {
			setForeign(true)
			t.Cleanup(func() { setForeign(false) })
		},
		ForeignIntact: func(t *testing.T) {
			if d.mark != nil || len(d.rows) != 0 {
				t.Error("what is foreign was changed")
			}
		},
	})
}

func TestEntityWithLatency(t *testing.T) {
	d := mustEntities(t, Options{Latency: 100 * time.Microsecond})
	drivertest.RunEntity(t, drivertest.Entity{Open: func(*testing.T) entity.Store { return d.Entity() }})
}

func TestEntityAddress(t *testing.T) {
	for address, option := range map[string]string{
		"mem://": "", "mem://?bug=stale-read:0.5,lost-ack:1&timeout=0.1&latency=1ms": "",
		"mem://?bug=torn-transfer:1": "bug", "mem://?speed=1": "parameter",
	} {
		_, err := OpenEntity(t.Context(), workload.Target{Address: address})
		var refused *workload.OptionError
		if errors.As(err, &refused) != (option != "") || option != "" && refused.Option != option {
			t.Errorf("%s: %v, want a refusal of %q", address, err, option)
		}
	}
}

func entityRun(seed uint64, attempts int) drivertest.EntityRun {
	config := entity.Defaults()
	config.Entities = 50
	return drivertest.EntityRun{Config: config, Seed: seed, Clients: 4, Each: 300, Attempts: attempts}
}

// TestEveryEntityBugIsFound by the checks that the bug names, and by no others.
func TestEveryEntityBugIsFound(t *testing.T) {
	also := map[string][]string{"altered-field": {checkRows, checkReads}}
	for _, bug := range EntityBugs() {
		for _, attempts := range []int{1, 20} {
			chance := 0.05
			if bug.Name == "truncated-read" {
				chance = 1
			}
			options := Options{Seed: 1, Timeout: 0.02, Inject: []Injection{{bug.Name, chance}}}
			run := entityRun(1, attempts)
			run.Config.Entities = 0 // a load does not bear timeouts
			j := run.Judge(t.Context(), t, mustEntities(t, options).Entity())
			found := false
			for _, r := range j.Results {
				expected, verdict := r.Name == bug.Check, r.Verdict.String()
				if verdict == "unknown" || verdict == "violated" && !expected && !slices.Contains(also[bug.Name], r.Name) {
					t.Errorf("%s: %s is %v: %s %+v", bug.Name, r.Name, r.Verdict, r.Detail, r.Evidence)
				}
				if !expected {
					continue
				}
				found = verdict == "violated"
				for _, e := range r.Evidence {
					if !slices.Contains(bug.Kinds, e.Kind) || e.Text == "" || len(e.Fields) == 0 {
						t.Errorf("%s: evidence %+v, want one of %v", bug.Name, e, bug.Kinds)
					}
				}
			}
			if found != (bug.Check != "") {
				t.Errorf("%s in %d attempts: found is %v: %+v", bug.Name, attempts, found, j.Results)
			}
		}
	}
}

// TestAnHonestDatabaseKeepsEntities is the other half of every conviction.
func TestAnHonestDatabaseKeepsEntities(t *testing.T) {
	for seed := range uint64(3) {
		j := entityRun(seed, 1).Valid(t.Context(), t, mustEntities(t, Options{Seed: seed}).Entity())
		f := j.Figures
		if f.Writes.Outcomes.Committed+f.Reads.Outcomes.Committed != 1200 || f.Rows != f.Acknowledged || f.Acknowledged != f.Writes.Outcomes.Committed+50 {
			t.Errorf("%+v", f)
		}
		if f.Answered != f.Reads.Outcomes.Committed || f.Answered < 400 || f.Wrong+f.Stale+f.Missed+f.Lost != 0 {
			t.Errorf("%+v", f)
		}
	}
	run := entityRun(9, 50)
	run.Config.Entities = 0
	f := run.Valid(t.Context(), t, mustEntities(t, Options{Seed: 9, Timeout: 0.2}).Entity()).Figures
	if f.Writes.Outcomes.Unknown != 0 || f.Rows != f.Acknowledged {
		t.Errorf("with repetition under one id: %+v", f)
	}
	run.Attempts = 1
	f = run.Valid(t.Context(), t, mustEntities(t, Options{Seed: 9, Timeout: 0.2}).Entity()).Figures
	if f.Writes.Outcomes.Unknown == 0 || f.UnknownDone == 0 || f.Rows != f.Acknowledged+f.UnknownDone {
		t.Errorf("without repetition: %+v", f)
	}
}
