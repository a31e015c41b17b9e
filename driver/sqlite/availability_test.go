package sqlite

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"assay/driver/drivertest"
	"assay/workload"
	"assay/workload/availability"
)

func TestAvailability(t *testing.T) {
	for _, parameters := range []string{"?journal=delete&synchronous=off"} {
		t.Run("parameters "+parameters, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "availability.db")
			foreign := &foreignFile{path: path}
			open := func(t *testing.T) availability.Store {
				s, err := OpenAvailability(t.Context(), workload.Target{Address: "sqlite:" + path + parameters})
				if err != nil {
					t.Fatal(err)
				}
				return s
			}
			drivertest.RunAvailability(t, drivertest.Availability{Open: open, MakeForeign: foreign.make, ForeignIntact: foreign.intact})
			judgeAvailability(t, open(t))
			entries, err := os.ReadDir(filepath.Dir(path))
			if err != nil || len(entries) != 0 {
				t.Errorf("left behind: %v, %v", entries, err)
			}
		})
	}
}

// judgeAvailability does a short run under blind repetition, whose calls are
// given up after a short while, and leaves nothing behind.
func judgeAvailability(t *testing.T, store availability.Store) {
	t.Helper()
	config := availability.Defaults()
	config.Policy, config.Readers = availability.PolicyRetry, 2
	run := drivertest.AvailabilityRun{Config: config, Seed: 1, Clients: 3, Each: 30, Attempts: 1000, Limit: 5 * time.Second}
	j := run.Valid(t.Context(), t, store)
	if f := j.Figures; f.Writes.Committed != 90 || f.Rows != 90+f.Surplus || f.Stale != 0 {
		t.Errorf("%+v", j.Figures)
	}
	if err := errors.Join(store.Drop(t.Context()), store.Close()); err != nil {
		t.Error(err)
	}
}

func TestAvailabilityHasOneMember(t *testing.T) {
	for read, possible := range map[string]bool{
		"": true, workload.ReadPrimary: true, workload.ReadSecondaryPreferred: false, workload.ReadNearest: false,
	} {
		_, err := OpenAvailability(t.Context(), workload.Target{Address: "sqlite:x.db", Read: read})
		var refused *workload.OptionError
		if possible != (err == nil) || !possible && !errors.As(err, &refused) {
			t.Errorf("read %q: %v", read, err)
		}
	}
}
