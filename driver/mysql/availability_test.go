package mysql

import (
	"context"
	"errors"
	"testing"
	"time"

	"assay/driver/drivertest"
	"assay/workload"
	"assay/workload/availability"
)

func openAvailability(t *testing.T, to workload.Target) availability.Store {
	t.Helper()
	store, err := OpenAvailability(context.Background(), to)
	if err != nil {
		t.Fatal(err)
	}
	return store
}

func TestAvailability(t *testing.T) {
	for name, changes := range map[string][]func(*spot){"InnoDB": nil, "RocksDB": {parameter("engine", "rocksdb")}} {
		t.Run(name, func(t *testing.T) {
			drivertest.RunAvailability(t, drivertest.Availability{
				Secret:        secret,
				Open:          func(t *testing.T) availability.Store { return openAvailability(t, target(changes...)) },
				MakeForeign:   func(t *testing.T) { makeForeign(t, availabilitySchema, "entry") },
				ForeignIntact: func(t *testing.T) { foreignIntact(t, availabilitySchema, "entry") },
				Server:        node.HostPort(0),
				OpenVia: func(t *testing.T, addr string) (availability.Store, error) {
					ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
					defer cancel()
					return OpenAvailability(ctx, target(append(changes, atHosts(addr))...))
				},
			})
		})
	}
}

func TestAvailabilityReads(t *testing.T) {
	for _, read := range []string{workload.ReadNearest, workload.ReadSecondaryPreferred, "farthest"} {
		to := target()
		to.Read = read
		_, err := OpenAvailability(context.Background(), to)
		if refused := (*workload.OptionError)(nil); !errors.As(err, &refused) || refused.Value != read {
			t.Errorf("%s with one host: %v", read, err)
		}
	}
	to := target()
	to.Read = workload.ReadPrimary
	store := openAvailability(t, to)
	if promise := store.(availability.Promising).Promise(); promise != availability.PromiseLinearizable {
		t.Errorf("one server promises %q", promise)
	}
	if err := store.Close(); err != nil {
		t.Error(err)
	}
}
