package mem

import (
	"errors"
	"testing"

	"assay/driver/drivertest"
	"assay/workload"
	"assay/workload/availability"
	"assay/workload/entity"
	"assay/workload/keyvalue"
)

func openKeyValue(t testing.TB, table keyvalue.Table, address string, seed uint64) keyvalue.Store {
	t.Helper()
	store, err := OpenKeyValue(t.Context(), workload.Target{Address: address, Seed: seed}, table)
	if err != nil {
		t.Fatal(err)
	}
	return store
}

func TestKeyValue(t *testing.T) {
	for _, table := range drivertest.KeyValueTables() {
		for _, latency := range []string{"0s", "200us"} {
			t.Run(table.Workload+latency, func(t *testing.T) {
				open := shared(t, "mem://?latency="+latency, keyvalue.Opener(OpenKeyValue).On(table))
				d := open(t).(*keyValueStore).d
				drivertest.RunKeyValue(t, table, drivertest.KeyValue{Open: open, MakeForeign: foreign(d), ForeignIntact: untouched(d)})
			})
		}
	}
}

func TestKeyValueAddress(t *testing.T) {
	for _, table := range drivertest.KeyValueTables() {
		for address, option := range map[string]string{
			"mem://": "", "mem://?timeout=0.1&latency=1ms": "",
			"mem://?bug=lost-ack:1": "the address's option", "mem://?speed=1": "the address's option", "mem://?timeout=2": "timeout",
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

// TestAnHonestDatabaseIsAvailable is the other half of every conviction. Only
// blind repetition makes duplicates.
func TestAnHonestDatabaseIsAvailable(t *testing.T) {
	for _, policy := range availability.Policies() {
		for seed := range uint64(3) {
			d := openKeyValue(t, availability.Table(), "mem://?timeout=0.2", seed)
			j := availabilityRun(policy, seed).Valid(t.Context(), t, d)
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
		j := entityRun(seed, 1).Valid(t.Context(), t, openKeyValue(t, entity.Table(), "mem://", seed))
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
	f := run.Valid(t.Context(), t, openKeyValue(t, entity.Table(), "mem://?timeout=0.2", 9)).Figures
	if f.Writes.Outcomes.Unknown != 0 || f.Rows != f.Acknowledged {
		t.Errorf("with repetition under one id: %+v", f)
	}
	run.Attempts = 1
	f = run.Valid(t.Context(), t, openKeyValue(t, entity.Table(), "mem://?timeout=0.2", 9)).Figures
	if f.Writes.Outcomes.Unknown == 0 || f.UnknownDone == 0 || f.Rows != f.Acknowledged+f.UnknownDone {
		t.Errorf("without repetition: %+v", f)
	}
}

func TestMutable(t *testing.T) {
	table := drivertest.MutableTable()
	drivertest.RunMutable(t, false, shared(t, "mem://?latency=100us", keyvalue.Opener(OpenKeyValue).On(table)))
}
