package mongodb

import (
	"context"
	"testing"
	"time"

	cluster "assay/cluster/mongodb"
	"assay/driver/drivertest"
	"assay/workload"
	"assay/workload/script"
)

// openedOn opens a workload's Store on a set.
func openedOn[S workload.Store](set *cluster.ReplicaSet, open func(context.Context, workload.Target) (S, error)) func(t *testing.T) S {
	return func(t *testing.T) S {
		store, err := open(t.Context(), workload.Target{Address: set.Address(), ConnectTimeout: 20 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		return store
	}
}

func testScript(t *testing.T, set *cluster.ReplicaSet) {
	database := plainClient(t, set.Address()).Database("assay_script")
	drivertest.RunScript(t, drivertest.Script{Open: openedOn(set, script.Opener(Open)),
		MakeForeign:   func(t *testing.T) { makeForeign(t, database) },
		ForeignIntact: func(t *testing.T) { foreignIntact(t, database) },
	})
}
