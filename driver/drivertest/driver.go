package drivertest

import (
	"context"
	"testing"
	"time"

	"assay/workload"
	"assay/workload/bank"
	"assay/workload/bulkupdate"
	"assay/workload/candles"
	"assay/workload/churn"
	"assay/workload/isolation"
	"assay/workload/keyvalue"
	"assay/workload/script"
	"assay/workload/smallbank"
	"assay/workload/tpcb"
	"assay/workload/tpcc"
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
	// Others are what others can make in or on this workload's data. Nil leaves the test out.
	Others func(workload string) []Other

	Bank       Opener[bank.Store]
	Isolation  Opener[isolation.Store]
	KeyValue   keyvalue.Opener
	Candles    Opener[candles.Store]
	BulkUpdate Opener[bulkupdate.Store]
	Churn      Opener[churn.Store]
	SmallBank  Opener[smallbank.Store]
	TPCB       Opener[tpcb.Store]
	TPCC       Opener[tpcc.Store]
	Script     Opener[script.Store]

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
	suite(t, d, "smallbank", d.SmallBank, RunSmallBank)
	suite(t, d, "tpcb", d.TPCB, RunTPCB)
	suite(t, d, "tpcc", d.TPCC, RunTPCC)
	suite(t, d, "script", d.Script, RunScript)
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
	if d.Others != nil {
		h.Others = d.Others(name)
	}
	if d.Server != "" {
		h.OpenVia = func(t *testing.T, addr string) (S, error) { return open(context.Background(), d.Via(addr)) }
	}
	t.Run(name, func(t *testing.T) { run(t, h) })
}

// The harness of each workload.
type (
	Bank       = Harness[bank.Store]
	Isolation  = Harness[isolation.Store]
	KeyValue   = Harness[keyvalue.Store]
	Candles    = Harness[candles.Store]
	BulkUpdate = Harness[bulkupdate.Store]
	Churn      = Harness[churn.Store]
	SmallBank  = Harness[smallbank.Store]
	TPCB       = Harness[tpcb.Store]
	TPCC       = Harness[tpcc.Store]
	Script     = Harness[script.Store]
)

// Harness is what a driver's test gives to have the Store of one workload
// tested. Only Open is needed; a subtest whose field is nil is left out.
type Harness[S workload.Store] struct {
	// Open returns a Store on the schema under test: in the same server or file
	// at every call. The schema does not exist at first, and the suite drops it
	// before and after each subtest. The suite closes the Store; t is the
	// subtest's, for whatever else is to be released. Open may be called several
	// times in one subtest.
	Open func(t *testing.T) S

	// MakeForeign makes something of another maker under the name that the
	// driver uses (a schema without the marker, holding some data), while the
	// schema under test does not exist. It registers its own removal with
	// t.Cleanup.
	MakeForeign func(t *testing.T)
	// ForeignIntact fails the test unless what MakeForeign made is exactly as
	// it was.
	ForeignIntact func(t *testing.T)

	// Others are what others can make in or on the schema under test.
	Others []Other

	// Secret is the password that the harness connects with, empty if none. It
	// must turn up in nothing that a Store returns.
	Secret string

	// OpenVia opens a Store on the schema under test through this address, as
	// "host:port": Server, a proxy before it, or a port where nobody listens or
	// answers. The driver is to stay with this address (no discovery of other
	// members) and to have a ConnectTimeout of a few seconds. The suite closes
	// the Store.
	OpenVia func(t *testing.T, addr string) (S, error)
	// Server is the server's own address, as "host:port".
	Server string

	// CommitMarker, is in what the client sends when it commits
	// and in nothing that it sends earlier in a transfer: "commit". Upper or
	// lower case.
	CommitMarker []byte
	// Restart, kills the server as by kill -9 and starts it
	// again; it returns when the server has been started, if not yet ready.
	Restart func(t *testing.T)

	// OperationsOnly leaves out the life cycle: for parameters that change the
	// workload's transactions alone, of a database whose life cycle another
	// harness tests.
	OperationsOnly bool

	// Replaces is true for a database in which an insert replaces the row of
	// the same key and is acknowledged, as in Cassandra.
	Replaces bool
	// Engines are those that candles try beside the first; all if it is nil.
	Engines []string
	// Waits is true if the server reports its lock waits to bulkupdate.
	Waits bool
	// Shrinks is true if the last compaction of churn surely makes a small table
	// smaller that is nearly empty.
	Shrinks bool
}

// patience bounds what should be quick. It is long, because it is there to end
// a hanging test and not to measure.
const patience = 10 * time.Minute

// markerOf is the marker of a schema that rows are loaded into, or that is loaded as
// there are none. It has characters that a careless driver trips over, and a time that
// every database can hold.
func markerOf(name, run string, rows int64) workload.Marker {
	return workload.Marker{
		Run: run, Workload: name, Version: `v1'";--é`, Rows: rows, Loaded: rows == 0,
		Created: time.Date(2026, 1, 2, 3, 4, 5, 678_000_000, time.UTC),
	}
}
