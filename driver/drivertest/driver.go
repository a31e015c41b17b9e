package drivertest

import (
	"context"
	"testing"

	"assay/workload"
	"assay/workload/bank"
	"assay/workload/bulkupdate"
	"assay/workload/candles"
	"assay/workload/churn"
	"assay/workload/isolation"
	"assay/workload/keyvalue"
)

// Opener is how a driver opens the Store of one workload.
type Opener[S workload.Store] func(ctx context.Context, target workload.Target) (S, error)

// Driver is what a driver's test gives to have all its Stores tested. A workload
// that it does not serve is nil.
type Driver struct {
	// Target is the database under test.
	Target workload.Target
	// Secret is the password in Target, empty if there is none.
	Secret string
	// MakeForeign makes something of another maker where this workload's data
	// would be. It registers its own removal with t.Cleanup, and returns what
	// fails the test unless all is as it was. Nil leaves the test out.
	MakeForeign func(t *testing.T, workload string) (intact func(t *testing.T))

	Bank       Opener[bank.Store]
	Isolation  Opener[isolation.Store]
	KeyValue   keyvalue.Opener
	Candles    Opener[candles.Store]
	BulkUpdate Opener[bulkupdate.Store]
	Churn      Opener[churn.Store]

	// Replaces is true for a database in which an insert replaces the row of
	// the same key and is acknowledged, as in Cassandra.
	Replaces bool
	// Waits is true if the server reports its lock waits to bulkupdate.
	Waits bool

	// The network is broken, and the server killed, if Server is not empty; see
	// Harness.
	Server       string                            // "host:port"
	Via          func(addr string) workload.Target // Target by way of this "host:port"
	CommitMarker []byte
	Restart      func(t *testing.T)
}

// Run runs the suites of all workloads that the driver serves. A driver whose
// behaviour depends on its parameters runs RunBank and the others for more of
// them.
func Run(t *testing.T, d Driver) {
	suite(t, d, "bank", d.Bank, func(t *testing.T, h Bank) {
		RunBank(t, h)
		store := h.Open(t)
		_, audits := store.(bank.Auditor)
		if err := store.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
		if audits {
			t.Run("Audits", func(t *testing.T) { RunAudits(t, h) })
		}
		if h.OpenVia != nil {
			t.Run("Network", func(t *testing.T) { RunNetwork(t, h) })
		}
	})
	suite(t, d, "isolation", d.Isolation, RunIsolation)
	if d.KeyValue != nil {
		for _, table := range KeyValueTables() {
			suite(t, d, table.Workload, Opener[keyvalue.Store](d.KeyValue.On(table)),
				func(t *testing.T, h KeyValue) { RunKeyValue(t, table, h) })
		}
	}
	suite(t, d, "candles", d.Candles, RunCandles)
	suite(t, d, "bulkupdate", d.BulkUpdate, RunBulkUpdate)
	suite(t, d, "churn", d.Churn, RunChurn)
}

// suite runs the suite of one workload, if the driver serves it.
func suite[S workload.Store](t *testing.T, d Driver, name string, open Opener[S], run func(t *testing.T, h Harness[S])) {
	if open == nil {
		return
	}
	h := Harness[S]{
		Secret: d.Secret, Server: d.Server, CommitMarker: d.CommitMarker, Restart: d.Restart, Replaces: d.Replaces, Waits: d.Waits,
		Open: func(t *testing.T) S {
			t.Helper()
			store, err := open(context.Background(), d.Target)
			if err != nil {
				t.Fatalf("open: %v", err)
			}
			return store
		},
	}
	if d.MakeForeign != nil {
		var intact func(t *testing.T)
		h.MakeForeign = func(t *testing.T) { intact = d.MakeForeign(t, name) }
		h.ForeignIntact = func(t *testing.T) { intact(t) }
	}
	if d.Server != "" {
		h.OpenVia = func(t *testing.T, addr string) (S, error) { return open(context.Background(), d.Via(addr)) }
	}
	t.Run(name, func(t *testing.T) { run(t, h) })
}
