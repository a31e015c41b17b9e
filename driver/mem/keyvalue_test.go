package mem

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"assay/check"
	"assay/driver/drivertest"
	"assay/workload"
	"assay/workload/availability"
	"assay/workload/entity"
	"assay/workload/keyvalue"
)

func mustKeyValue(t testing.TB, table keyvalue.Table, o Options) *Records {
	t.Helper()
	d, err := NewKeyValue(table, o)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestKeyValue(t *testing.T) {
	for _, table := range drivertest.KeyValueTables() {
		for _, latency := range []time.Duration{0, 200 * time.Microsecond} {
			t.Run(fmt.Sprint(table.Workload, latency), func(t *testing.T) {
				d := mustKeyValue(t, table, Options{Latency: latency})
				setForeign := func(foreign bool) {
					d.mu.Lock()
					d.foreign = foreign
					d.mu.Unlock()
				}
				drivertest.RunKeyValue(t, table, drivertest.KeyValue{
					Open: func(*testing.T) keyvalue.Store { return d.KeyValue() },
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
			})
		}
	}
}

func TestKeyValueAddress(t *testing.T) {
	for _, table := range drivertest.KeyValueTables() {
		for address, option := range map[string]string{
			"mem://": "", "mem://?bug=stale-read:0.5,lost-ack:1&timeout=0.1&latency=1ms": "",
			"mem://?bug=torn-transfer:1": "bug", "mem://?speed=1": "parameter", "mem://?timeout=2": "timeout",
		} {
			_, err := OpenKeyValue(t.Context(), workload.Target{Address: address}, table)
			var refused *workload.OptionError
			if errors.As(err, &refused) != (option != "") || option != "" && refused.Option != option {
				t.Errorf("%s: %v, want a refusal of %q", address, err, option)
			}
		}
		if _, err := OpenKeyValue(t.Context(), workload.Target{Address: "mem://", Read: workload.ReadPrimary}, table); err != nil {
			t.Error(err)
		}
		if _, err := OpenKeyValue(t.Context(), workload.Target{Address: "mem://", Read: workload.ReadNearest}, table); err == nil {
			t.Error("there is no nearest member")
		}
	}
}

// availabilityRun is a run in which calls time out now and then.
func availabilityRun(policy availability.Policy, seed uint64) drivertest.AvailabilityRun {
	config := availability.Defaults()
	config.Policy, config.Readers = policy, 2
	return drivertest.AvailabilityRun{Config: config, Seed: seed, Clients: 3, Each: 200, Attempts: 50}
}

func entityRun(seed uint64, attempts int) drivertest.EntityRun {
	config := entity.Defaults()
	config.Entities = 50
	return drivertest.EntityRun{Config: config, Seed: seed, Clients: 4, Each: 300, Attempts: attempts}
}

// TestEveryAvailabilityBugIsFound by the checks that the bug names, and by no
// others.
func TestEveryAvailabilityBugIsFound(t *testing.T) {
	for _, bug := range KeyValueBugs(availability.Table()) {
		for _, policy := range availability.Policies() {
			d := mustKeyValue(t, availability.Table(), withBug(bug))
			j := availabilityRun(policy, 1).Judge(t.Context(), t, d.KeyValue())
			wantConviction(t, fmt.Sprintf("%s under %s", bug.Name, policy), bug, j.Results)
		}
	}
}

// TestEveryEntityBugIsFound by the checks that the bug names, and by no others.
func TestEveryEntityBugIsFound(t *testing.T) {
	for _, bug := range KeyValueBugs(entity.Table()) {
		for _, attempts := range []int{1, 20} {
			run := entityRun(1, attempts)
			run.Config.Entities = 0 // a load does not bear timeouts
			j := run.Judge(t.Context(), t, mustKeyValue(t, entity.Table(), withBug(bug)).KeyValue())
			wantConviction(t, fmt.Sprintf("%s in %d attempts", bug.Name, attempts), bug, j.Results)
		}
	}
}

func withBug(bug Bug) Options {
	chance := 0.05
	if bug.Name == "truncated-read" {
		chance = 1
	}
	return Options{Seed: 1, Timeout: 0.02, Inject: []Injection{{bug.Name, chance}}}
}

// wantConviction fails the test unless the check that the bug names has found it,
// and no other has found anything that it must not.
func wantConviction(t *testing.T, name string, bug Bug, results []check.Result) {
	t.Helper()
	also := map[string][]string{"altered-row": {keyvalue.CheckReads}, "altered-field": {keyvalue.CheckRows, keyvalue.CheckReads}}
	found := false
	for _, r := range results {
		expected := r.Name == bug.Check
		if r.Verdict == check.Unknown || r.Verdict == check.Violated && !expected && !slices.Contains(also[bug.Name], r.Name) {
			t.Errorf("%s: %s is %v: %s %+v", name, r.Name, r.Verdict, r.Detail, r.Evidence)
		}
		if !expected {
			continue
		}
		found = r.Verdict == check.Violated
		for _, e := range r.Evidence {
			if !slices.Contains(bug.Kinds, e.Kind) || e.Text == "" || len(e.Fields) == 0 {
				t.Errorf("%s: evidence %+v, want one of %v", name, e, bug.Kinds)
			}
		}
	}
	if found != (bug.Check != "") {
		t.Errorf("%s: found is %v: %+v", name, found, results)
	}
}

// TestAnHonestDatabaseIsAvailable is the other half of every conviction. Only
// blind repetition makes duplicates.
func TestAnHonestDatabaseIsAvailable(t *testing.T) {
	for _, policy := range availability.Policies() {
		for seed := range uint64(3) {
			d := mustKeyValue(t, availability.Table(), Options{Seed: seed, Timeout: 0.2})
			j := availabilityRun(policy, seed).Valid(t.Context(), t, d.KeyValue())
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

// TestAnHonestDatabaseKeepsEntities is the other half of every conviction.
func TestAnHonestDatabaseKeepsEntities(t *testing.T) {
	for seed := range uint64(3) {
		j := entityRun(seed, 1).Valid(t.Context(), t, mustKeyValue(t, entity.Table(), Options{Seed: seed}).KeyValue())
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
	f := run.Valid(t.Context(), t, mustKeyValue(t, entity.Table(), Options{Seed: 9, Timeout: 0.2}).KeyValue()).Figures
	if f.Writes.Outcomes.Unknown != 0 || f.Rows != f.Acknowledged {
		t.Errorf("with repetition under one id: %+v", f)
	}
	run.Attempts = 1
	f = run.Valid(t.Context(), t, mustKeyValue(t, entity.Table(), Options{Seed: 9, Timeout: 0.2}).KeyValue()).Figures
	if f.Writes.Outcomes.Unknown == 0 || f.UnknownDone == 0 || f.Rows != f.Acknowledged+f.UnknownDone {
		t.Errorf("without repetition: %+v", f)
	}
}
