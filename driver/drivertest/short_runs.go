package drivertest

import (
	"context"
	"path/filepath"
	"testing"

	"assay/workload"
	"assay/workload/availability"
	"assay/workload/bank"
	"assay/workload/bulkupdate"
	"assay/workload/candles"
	"assay/workload/churn"
	"assay/workload/definition"
	"assay/workload/entity"
	"assay/workload/isolation"
	"assay/workload/keyvalue"
	"assay/workload/script"
	"assay/workload/smallbank"
	"assay/workload/tpcb"
	"assay/workload/tpcc"
	"assay/workload/ycsb"
)

// ValidRuns does a short run of each workload that the driver serves and fails the test
// unless every verdict is valid: what surrounds the database (its configuration, a pooler)
// must convict nobody. Each run has more rows than a server with narrow limits returns.
func ValidRuns(t *testing.T, d Driver) {
	records := ycsb.Config{Mix: "a", Records: 60, Fields: 2, FieldBytes: 20, ScanLength: 20}
	reads := availability.Config{Policy: availability.PolicyTimeout, Readers: 1, ReadRate: 10, Read: workload.ReadPrimary}
	query := candles.Defaults()
	query.Candles, query.Tickers, query.Batch, query.Loaders = 300, 3, 50, 2
	query.Queries, query.Latest, query.Intervals, query.Repeats = 20, 10, 2, 2
	orders := tpcc.Defaults()
	orders.Warehouses, orders.Items, orders.Customers, orders.Loaders = 1, 100, 30, 1
	lists := isolation.Defaults()
	validRun(t, d, d.Bank, bank.Definition(), &bank.Config{Accounts: 60, Keys: "uniform", Payroll: 0.2, Loaders: 2, Audits: 10})
	validRun(t, d, d.Isolation, isolation.Definition(), &lists)
	validRun(t, d, d.SmallBank, smallbank.Definition(), &smallbank.Config{Customers: 60, Hotspot: 10, HotspotShare: 0.5, BalanceShare: 0.3, Loaders: 1})
	validRun(t, d, d.TPCB, tpcb.Definition(), &tpcb.Config{Scale: 1, Accounts: 60, Loaders: 1})
	validRun(t, d, d.TPCC, tpcc.Definition(), &orders)
	validRun(t, d, d.Candles, candles.Definition(), &query)
	validRun(t, d, d.BulkUpdate, bulkupdate.Definition(), &bulkupdate.Config{Users: 6, Documents: 10, Workers: "1,2", Field: bulkupdate.FieldRandom, Loaders: 1})
	validRun(t, d, d.Churn, churn.Definition(), &churn.Config{Rows: 60, RowBytes: 50, DeleteShare: 0.5, Cycles: 1, Batch: 20, Repair: true})
	if d.KeyValue != nil {
		validRun(t, d, Opener[keyvalue.Store](d.KeyValue.On(ycsb.Table(records.Fields, records.FieldBytes))), ycsb.Definition(), &records)
		validRun(t, d, Opener[keyvalue.Store](d.KeyValue.On(entity.Table())), entity.Definition(), &entity.Config{WriteShare: 0.5, Entities: 60})
		validRun(t, d, Opener[keyvalue.Store](d.KeyValue.On(availability.Table())), availability.Definition(), &reads)
	}
	if d.Script != nil {
		d.Target.Isolation = "serializable" // the example computes what it writes
		validRun(t, d, d.Script, script.Definition(), exampleScript(t))
	}
}

// exampleScript is the bank of the examples.
func exampleScript(t *testing.T) *script.Config {
	config := script.Defaults()
	for _, flag := range config.Flags() {
		if file, is := flag.Value.(interface{ Set(string) error }); is && flag.Name == "script" {
			if err := file.Set(filepath.Join("..", "..", "examples", "bank.star")); err != nil {
				t.Fatal(err)
			}
		}
	}
	return &config
}

func validRun[S workload.Store](t *testing.T, d Driver, open Opener[S], of definition.Workload, config definition.Config) {
	if open == nil {
		return
	}
	t.Run(of.Name, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		store, err := open(ctx, d.Target)
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := store.Drop(context.WithoutCancel(ctx)); err != nil {
				t.Errorf("Drop: %v", err)
			}
			if err := store.Close(); err != nil {
				t.Errorf("Close: %v", err)
			}
		}()
		run := ShortRun{Workload: of, Config: config, Seed: 1, Clients: 3, Each: 20, Attempts: 20}
		if of.Name == candles.Name { // a batch that is sent again is written over itself
			run.Attempts = 1
		}
		run.Valid(ctx, t, store)
	})
}
