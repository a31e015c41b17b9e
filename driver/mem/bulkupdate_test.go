package mem

import (
	"errors"
	"slices"
	"testing"

	"assay/driver/drivertest"
	"assay/workload"
	"assay/workload/bulkupdate"
)

func mustBulkUpdate(t testing.TB, o Options) *Shelves {
	t.Helper()
	d, err := NewBulkUpdate(o)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestBulkUpdate(t *testing.T) {
	d := mustBulkUpdate(t, Options{})
	setForeign := func(foreign bool) {
		d.mu.Lock()
		d.foreign = foreign
		d.mu.Unlock()
	}
	drivertest.RunBulkUpdate(t, drivertest.BulkUpdate{
		Open: func(*testing.T) bulkupdate.Store { return d.BulkUpdate() },
		MakeForeign: func(t *testing.T) {
			setForeign(true)
			t.Cleanup(func() { setForeign(false) })
		},
		ForeignIntact: func(t *testing.T) {
			if d.mark != nil || len(d.documents) != 0 {
				t.Error("what is foreign was changed")
			}
		},
	})
}

func TestBulkUpdateAddress(t *testing.T) {
	for address, option := range map[string]string{
		"mem://": "", "mem://?bug=partial-update:0.5,lost-ack:1&timeout=0.1&latency=1ms": "",
		"mem://?bug=torn-transfer:1": "bug", "mem://?speed=1": "parameter", "mem://?timeout=2": "timeout",
	} {
		_, err := OpenBulkUpdate(t.Context(), workload.Target{Address: address})
		var refused *workload.OptionError
		if errors.As(err, &refused) != (option != "") || option != "" && refused.Option != option {
			t.Errorf("%s: %v, want a refusal of %q", address, err, option)
		}
	}
}

func bulkUpdateRun(seed uint64) drivertest.BulkUpdateRun {
	return drivertest.BulkUpdateRun{Attempts: 1, Seed: seed,
		Config: bulkupdate.Config{Users: 40, Documents: 10, Workers: "1,3,5", Field: bulkupdate.FieldRandom, Loaders: 2}}
}

// TestEveryBulkUpdateBugIsFound by the check that the bug names, and by no
// other.
func TestEveryBulkUpdateBugIsFound(t *testing.T) {
	for _, bug := range BulkUpdateBugs() {
		for seed := range uint64(3) {
			chance := 0.3
			if bug.Name == "truncated-read" {
				chance = 1
			}
			d := mustBulkUpdate(t, Options{Seed: seed, Inject: []Injection{{bug.Name, chance}}})
			j := bulkUpdateRun(seed).Judge(t.Context(), t, d.BulkUpdate())
			for _, r := range j.Results {
				want := "valid"
				if r.Name == bug.Check {
					want = "violated"
				}
				if r.Verdict.String() != want {
					t.Errorf("%s: %s is %v, want %v: %s %+v", bug.Name, r.Name, r.Verdict, want, r.Detail, r.Evidence)
				}
				for _, e := range r.Evidence {
					if !slices.Contains(bug.Kinds, e.Kind) {
						t.Errorf("%s: evidence %+v, want one of %v", bug.Name, e, bug.Kinds)
					}
					if e.Text == "" || len(e.Fields) == 0 {
						t.Errorf("%s: evidence %+v says nothing", bug.Name, e)
					}
				}
			}
		}
	}
}

// TestAnHonestDatabaseUpdatesAll is the other half of every conviction.
func TestAnHonestDatabaseUpdatesAll(t *testing.T) {
	for seed := range uint64(5) {
		d := mustBulkUpdate(t, Options{Seed: seed, Timeout: 0.2, Inject: []Injection{{"late-apply", 0.1}}})
		j := bulkUpdateRun(seed).Valid(t.Context(), t, d.BulkUpdate())
		if j.Outcomes.Total() != 120 || j.UnknownDone == 0 || len(j.Facts) != 0 || j.Problem != "" {
			t.Errorf("seed %d: %+v", seed, j)
		}
	}
}
