package mem

import (
	"testing"

	"assay/check"
	"assay/driver/drivertest"
	"assay/internal/expect"
	"assay/store"
	"assay/workload/availability"
	"assay/workload/entity"
)

func openOn(t testing.TB, of store.Schema, address string, seed uint64) store.Database {
	t.Helper()
	db, err := Open(t.Context(), store.Target{Address: address, Seed: seed}, of)
	expect.NoError(t, err)
	return db
}

// availabilityRun requires a valid run in which some calls time out.
func availabilityRun(t *testing.T, policy availability.Policy, seed uint64) availability.Figures {
	t.Helper()
	config := availability.Defaults()
	config.Policy, config.Readers = policy, 2
	run := drivertest.ShortRun{Workload: availability.Definition(), Config: &config, Seed: seed, Clients: 3, Each: 200, Attempts: 50}
	results, figures, err := availability.Judge(config, seed, run.Evidence(t.Context(), t, openOn(t, availability.Schema(), "mem://?timeout=0.2", seed)))
	if err != nil || check.Combine(results) != check.Valid {
		t.Errorf("%+v, %v", results, err)
	}
	return figures
}

// entityRun requires a valid run with loaded entities.
func entityRun(t *testing.T, address string, seed uint64, entities int64, attempts int) entity.Figures {
	t.Helper()
	config := entity.Defaults()
	config.Entities = entities
	run := drivertest.ShortRun{Workload: entity.Definition(), Config: &config, Seed: seed, Clients: 4, Each: 300, Attempts: attempts, Idempotent: true}
	results, figures, err := entity.Judge(config, seed, run.Evidence(t.Context(), t, openOn(t, entity.Schema(), address, seed)))
	if err != nil || check.Combine(results) != check.Valid {
		t.Errorf("%+v, %v", results, err)
	}
	return figures
}

// TestAnHonestDatabaseIsAvailable is the other half of every conviction. Only blind repetition
// makes duplicates.
func TestAnHonestDatabaseIsAvailable(t *testing.T) {
	for _, policy := range availability.Policies() {
		for seed := range uint64(3) {
			f := availabilityRun(t, policy, seed)
			writes, repeats := f.Writes.Committed+f.Writes.Unknown, policy == availability.PolicyRetry || policy == availability.PolicyIdempotent
			if writes != 600 || repeats != (f.Writes.Unknown == 0) {
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
		f := entityRun(t, "mem://", seed, 50, 1)
		if f.Writes.Outcomes.Committed+f.Reads.Outcomes.Committed != 1200 || f.Rows != f.Acknowledged || f.Acknowledged != f.Writes.Outcomes.Committed+50 {
			t.Errorf("%+v", f)
		}
		if f.Answered != f.Reads.Outcomes.Committed || f.Answered < 400 || f.Wrong+f.Stale+f.Missed+f.Lost != 0 {
			t.Errorf("%+v", f)
		}
	}
	f := entityRun(t, "mem://?timeout=0.2", 9, 0, 50)
	if f.Writes.Outcomes.Unknown != 0 || f.Rows != f.Acknowledged {
		t.Errorf("with repetition under one id: %+v", f)
	}
	f = entityRun(t, "mem://?timeout=0.2", 9, 0, 1)
	if f.Writes.Outcomes.Unknown == 0 || f.UnknownDone == 0 || f.Rows != f.Acknowledged+f.UnknownDone {
		t.Errorf("without repetition: %+v", f)
	}
}
