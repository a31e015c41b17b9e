package mem

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"assay/driver/drivertest"
	"assay/workload"
	"assay/workload/availability"
)

func mustAvailability(t testing.TB, o Options) *Rows {
	t.Helper()
	d, err := NewAvailability(o)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestAvailability(t *testing.T) {
	d := mustAvailability(t, Options{})
	setForeign := func(foreign bool) {
		d.mu.Lock()
		d.foreign = foreign
		d.mu.Unlock()
	}
	drivertest.RunAvailability(t, drivertest.Availability{
		Open: func(*testing.T) availability.Store { return d.Availability() },
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

func TestAvailabilityWithLatency(t *testing.T) {
	d := mustAvailability(t, Options{Latency: 200 * time.Microsecond})
	drivertest.RunAvailability(t, drivertest.Availability{Open: func(*testing.T) availability.Store { return d.Availability() }})
}

func TestAvailabilityAddress(t *testing.T) {
	for address, option := range map[string]string{
		"mem://": "", "mem://?bug=stale-read:0.5,lost-ack:1&timeout=0.1&latency=1ms": "",
		"mem://?bug=torn-transfer:1": "bug", "mem://?speed=1": "parameter", "mem://?timeout=2": "timeout",
	} {
		_, err := OpenAvailability(t.Context(), workload.Target{Address: address})
		var refused *workload.OptionError
		if errors.As(err, &refused) != (option != "") || option != "" && refused.Option != option {
			t.Errorf("%s: %v, want a refusal of %q", address, err, option)
		}
	}
	if _, err := OpenAvailability(t.Context(), workload.Target{Address: "mem://", Read: workload.ReadPrimary}); err != nil {
		t.Error(err)
	}
	if _, err := OpenAvailability(t.Context(), workload.Target{Address: "mem://", Read: workload.ReadNearest}); err == nil {
		t.Error("there is no nearest member")
	}
}

// availabilityRun is a run in which calls time out now and then.
func availabilityRun(policy availability.Policy, seed uint64) drivertest.AvailabilityRun {
	config := availability.Defaults()
	config.Policy, config.Readers = policy, 2
	return drivertest.AvailabilityRun{Config: config, Seed: seed, Clients: 3, Each: 200, Attempts: 50}
}

// TestEveryAvailabilityBugIsFound by the checks that the bug names, and by no
// others.
func TestEveryAvailabilityBugIsFound(t *testing.T) {
	also := map[string][]string{"altered-row": {checkReads}}
	for _, bug := range AvailabilityBugs() {
		for _, policy := range availability.Policies() {
			chance := 0.05
			if bug.Name == "truncated-read" {
				chance = 1
			}
			d := mustAvailability(t, Options{Seed: 1, Timeout: 0.02, Inject: []Injection{{bug.Name, chance}}})
			j := availabilityRun(policy, 1).Judge(t.Context(), t, d.Availability())
			name := fmt.Sprintf("%s under %s", bug.Name, policy)
			found := false
			for _, r := range j.Results {
				expected, verdict := r.Name == bug.Check, r.Verdict.String()
				if verdict == "unknown" || verdict == "violated" && !expected && !slices.Contains(also[bug.Name], r.Name) {
					t.Errorf("%s: %s is %v: %s %+v", name, r.Name, r.Verdict, r.Detail, r.Evidence)
				}
				if !expected {
					continue
				}
				found = verdict == "violated"
				for _, e := range r.Evidence {
					if !slices.Contains(bug.Kinds, e.Kind) {
						t.Errorf("%s: evidence %+v, want one of %v", name, e, bug.Kinds)
					}
				}
			}
			if found != (bug.Check != "") {
				t.Errorf("%s: found is %v: %+v", name, found, j.Results)
			}
		}
	}
}

// TestAnHonestDatabaseIsAvailable is the other half of every conviction. Only
// blind repetition makes duplicates.
func TestAnHonestDatabaseIsAvailable(t *testing.T) {
	for _, policy := range availability.Policies() {
		for seed := range uint64(3) {
			d := mustAvailability(t, Options{Seed: seed, Timeout: 0.2})
			j := availabilityRun(policy, seed).Valid(t.Context(), t, d.Availability())
			f := j.Figures
			writes, repeats := f.Writes.Committed+f.Writes.Unknown, policy == availability.PolicyRetry || policy == availability.PolicyIdempotent
			if writes != 600 || repeats != (f.Writes.Unknown == 0) || repeats != (f.Attempts > 600) {
				t.Errorf("%s: %+v", policy, f)
			}
			if blind := policy == availability.PolicyRetry; blind != (f.Duplicates > 0) || f.Rows != f.Writes.Committed+f.Surplus+f.UnknownDone {
				t.Errorf("%s: %+v", policy, f)
			}
			if f.Reads.Committed == 0 || f.Reads.Failed != 0 || f.Stale+f.Missed+f.Lost != 0 {
				t.Errorf("%s: %+v", policy, f)
			}
		}
	}
}
