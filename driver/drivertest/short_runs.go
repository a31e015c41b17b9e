package drivertest

import (
	"context"
	"path/filepath"
	"testing"

	"assay/internal/expect"
	"assay/store"
	"assay/workload/availability"
	"assay/workload/bank"
	"assay/workload/bulkupdate"
	"assay/workload/candles"
	"assay/workload/churn"
	"assay/workload/definition"
	"assay/workload/entity"
	"assay/workload/isolation"
	"assay/workload/script"
	"assay/workload/smallbank"
	"assay/workload/tpcb"
	"assay/workload/tpcc"
	"assay/workload/ycsb"
)

// Supports lists the workloads on a store.Database that open gives.
func Supports(open store.Opener, lacks store.Lacks) []definition.Support {
	var all []definition.Support
	for _, w := range []definition.Workload{
		bank.Definition(), smallbank.Definition(), tpcb.Definition(), isolation.Definition(), bulkupdate.Definition(), churn.Definition(),
		candles.Definition(), tpcc.Definition(), availability.Definition(), entity.Definition(), ycsb.Definition(),
	} {
		all = append(all, definition.SupportOf(w, open, lacks))
	}
	return all
}

// ShortRuns does a short run of each supported workload and fails the test unless every verdict
// is valid. Each run has more rows than a server with narrow limits returns.
func ShortRuns(t *testing.T, target store.Target, supports ...definition.Support) {
	for _, s := range supports {
		t.Run(s.Workload, func(t *testing.T) {
			if s.Open == nil {
				t.Logf("left out: %s", s.Reason)
				return
			}
			for _, run := range shortRuns(t, s.Workload) {
				shortRun(t, target, s, run)
			}
		})
	}
}

func shortRuns(t *testing.T, name string) (all []ShortRun) {
	query := candles.Defaults()
	query.Candles, query.Tickers, query.Batch, query.Loaders = 300, 3, 50, 2
	query.Queries, query.Latest, query.Intervals, query.Repeats = 20, 10, 2, 2
	orders := tpcc.Defaults()
	orders.Warehouses, orders.Items, orders.Customers, orders.Loaders = 1, 100, 30, 1
	every, rewriting := isolation.Defaults(), isolation.Defaults()
	every.Test, rewriting.Rewrite, rewriting.Keys = "all", true, 4
	add := func(of definition.Workload, configs ...definition.Config) {
		if of.Name == name {
			for _, c := range configs {
				all = append(all, ShortRun{Workload: of, Config: c, Seed: 1, Clients: 3, Each: 20, Attempts: 20})
			}
		}
	}
	add(bank.Definition(), &bank.Config{Accounts: 60, Keys: "uniform", Payroll: 0.2, Loaders: 2, Audits: 10})
	add(isolation.Definition(), &every, &rewriting)
	add(smallbank.Definition(), &smallbank.Config{Customers: 60, Hotspot: 10, HotspotShare: 0.5, BalanceShare: 0.3, Loaders: 1})
	add(tpcb.Definition(), &tpcb.Config{Scale: 1, Accounts: 60, Loaders: 1})
	add(tpcc.Definition(), &orders)
	add(candles.Definition(), &query)
	add(bulkupdate.Definition(), &bulkupdate.Config{Users: 6, Documents: 10, Workers: "1,2", Field: bulkupdate.FieldRandom, Loaders: 1})
	add(churn.Definition(), &churn.Config{Rows: 60, RowBytes: 50, DeleteShare: 0.5, Cycles: 1, Batch: 20, Repair: true})
	add(ycsb.Definition(), &ycsb.Config{Mix: "a", Records: 60, Fields: 2, FieldBytes: 20, ScanLength: 20})
	add(entity.Definition(), &entity.Config{WriteShare: 0.5, Entities: 60})
	add(availability.Definition(), &availability.Config{Policy: availability.PolicyTimeout, Readers: 1, ReadRate: 10, Read: store.ReadPrimary})
	if name == script.Name {
		add(script.Definition(), exampleScript(t))
	}
	if all == nil {
		t.Errorf("no run of %s is known", name)
	}
	return all
}

// exampleScript is the bank of examples/.
func exampleScript(t *testing.T) *script.Config {
	config := script.Defaults()
	for _, flag := range config.Flags() {
		if file, is := flag.Value.(interface{ Set(string) error }); is && flag.Name == "script" {
			expect.NoError(t, file.Set(filepath.Join("..", "..", "examples", "bank.star")))
		}
	}
	return &config
}

func shortRun(t *testing.T, target store.Target, by definition.Support, run ShortRun) definition.Judgement {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	switch run.Config.(type) {
	case *candles.Config: // a batch that is sent again is written over itself
		run.Attempts = 1
	case *script.Config: // the example computes what it writes
		target.Isolation = "serializable"
	}
	if c, chooses := run.Config.(definition.Targeting); chooses {
		c.Target(&target)
	}
	db, err := by.Open(ctx, target)
	expect.NoError(t, err)
	defer func() {
		if err := db.Drop(context.WithoutCancel(ctx)); err != nil {
			t.Errorf("Drop: %v", err)
		}
		if err := db.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	}()
	if records, is := run.Config.(*ycsb.Config); is && db.Lacks()[store.OrderedScans] == "" {
		records.Mix = "read=0.3,update=0.3,insert=0.1,scan=0.1,rmw=0.2"
	}
	if transfers, is := run.Config.(*bank.Config); is && db.Lacks()[store.Snapshots] != "" {
		transfers.WithoutObservers()
	}
	j := run.Valid(ctx, t, db)
	if j.TPCC != nil && len(j.TPCC.IsolationTests) == 0 {
		t.Errorf("no isolation test was played: %v", j.Notes)
	}
	return j
}
