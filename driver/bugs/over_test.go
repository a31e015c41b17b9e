package bugs

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"assay/check"
	"assay/driver/drivertest"
	"assay/internal/expect"
	"assay/store"
	"assay/store/bug"
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

type spoiled struct {
	of     definition.Workload
	config definition.Config
	bugs   []bug.Bug
	schema store.Schema
	each   int
}

func allSpoiled(t *testing.T) []spoiled {
	orders, err := tpcc.Schema(store.Target{})
	transactions := script.Defaults()
	of, _ := definition.Lookup(&transactions, "script")
	expect.NoError(t, errors.Join(err, of.Value.(interface{ Set(string) error }).Set(filepath.Join("..", "..", "examples", "bank.star"))))
	query := candles.Defaults()
	query.Candles, query.Tickers, query.Batch, query.Loaders = 900, 6, 50, 2
	query.Queries, query.Latest, query.Intervals, query.Repeats = 60, 10, 3, 5
	whole := &ycsb.Config{Mix: "read=0.3,update=0.3,insert=0.1,scan=0.1,rmw=0.2", Records: 30, Fields: 3, FieldBytes: 20, ScanLength: 20}
	// YCSB's properties give each field versions of its own.
	fields := &ycsb.Config{Mix: "a", Records: 1, Fields: 1, FieldBytes: 16, ScanLength: 1, Properties: map[string]string{
		"recordcount": "30", "fieldcount": "3", "fieldlength": "20", "readproportion": "0.3", "updateproportion": "0.3", "insertproportion": "0.1",
		"scanproportion": "0.1", "readmodifywriteproportion": "0.2", "maxscanlength": "20", "requestdistribution": "zipfian"}}
	return []spoiled{
		{tpcb.Definition(), &tpcb.Config{Scale: 1, Accounts: 20, Loaders: 1}, tpcb.Bugs(), tpcb.Schema(),
			100},
		{smallbank.Definition(), &smallbank.Config{Customers: 20, Hotspot: 5, HotspotShare: 0.5, BalanceShare: 0.3, Loaders: 1}, smallbank.Bugs(), smallbank.Schema(),
			300},
		{bank.Definition(), &bank.Config{Accounts: 10, Keys: "uniform", Loaders: 1, Audits: 1000}, bank.Bugs(), bank.Schema(),
			300},
		{availability.Definition(), &availability.Config{Policy: availability.PolicyTimeout, Readers: 2, ReadRate: 100, Read: store.ReadPrimary}, availability.Bugs(),
			availability.Schema(), 100},
		{churn.Definition(), &churn.Config{Rows: 200, RowBytes: 50, DeleteShare: 0.5, Cycles: 2, Batch: 10}, churn.Bugs(), churn.Schema(), 1},
		{bulkupdate.Definition(), &bulkupdate.Config{Users: 40, Documents: 10, Workers: "1,3,5", Field: bulkupdate.FieldRandom, Loaders: 2}, bulkupdate.Bugs(),
			bulkupdate.Schema(), 1},
		{candles.Definition(), &query, candles.Bugs(), candles.Schema(), 1},
		{entity.Definition(), &entity.Config{WriteShare: 0.5}, entity.Bugs(), entity.Schema(), 100},
		{ycsb.Definition(), whole, ycsb.Bugs(), recordsOf(t, whole), 200},
		{ycsb.Definition(), fields, ycsb.Bugs(), recordsOf(t, fields), 200},
		{tpcc.Definition(), &tpcc.Config{Warehouses: 2, Items: 100, Customers: 10, Loaders: 2}, tpcc.Bugs(), orders, 40},
		{script.Definition(), &transactions, script.Bugs(), script.Schema(), 60},
	}
}

func recordsOf(t *testing.T, c *ycsb.Config) store.Schema {
	var target store.Target
	c.Target(&target)
	schema, err := ycsb.Definition().Schema(target)
	expect.NoError(t, err)
	return schema
}

// TestEveryCheckHasABug that it must find.
func TestEveryCheckHasABug(t *testing.T) {
	all := isolation.Defaults()
	all.Test = "all"
	for _, w := range append(allSpoiled(t), spoiled{isolation.Definition(), &all, isolation.Bugs(), isolation.Schema(), 40}) {
		db := opened(t, onSQLite(), w.schema, w.bugs, 1)
		results := drivertest.ShortRun{Workload: w.of, Config: w.config, Seed: 1, Clients: 4, Each: w.each, Attempts: 1}.Judge(t.Context(), t, db).Results
		for _, r := range results {
			if !slices.ContainsFunc(w.bugs, func(b bug.Bug) bool { return b.Check == r.Name || b.Or == r.Name }) {
				t.Errorf("%s: no bug is for the check %s to find", w.of.Name, r.Name)
			}
		}
	}
}

// TestTrustEveryBugIsFound by the check that it names, in short runs, in each of which it has taken
// effect or nothing is found. The runner's TestTrust has more seeds.
func TestTrustEveryBugIsFound(t *testing.T) {
	for _, w := range allSpoiled(t) {
		for _, b := range w.bugs {
			t.Run(w.of.Name+"/"+b.Name, func(t *testing.T) {
				t.Parallel()
				w.found(t, b)
			})
		}
	}
}

func (w *spoiled) found(t *testing.T, b bug.Bug) {
	struck, named, last := int64(0), false, ""
	for seed := uint64(0); seed < 4 && (struck == 0 || len(b.Kinds) > 0 && !named); seed++ {
		chance := 0.1
		switch b.Act.Does {
		case bug.Truncates, bug.ReadsForked, bug.ReadsPassed:
			chance = 1
		}
		if b.Act.Stepped || b.Name == "half-delivery" { // which have few occasions
			chance = 1
		}
		db := opened(t, onSQLite(), w.schema, w.bugs, seed, Seeded{b.Name, chance})
		run := drivertest.ShortRun{Workload: w.of, Config: w.config, Seed: seed, Clients: 4, Each: w.each, Attempts: 1}
		results := run.Judge(t.Context(), t, db).Results
		strikes := strikesOf(t, db, b)
		last = said(results)
		struck += strikes
		convicted := false
		for _, r := range results {
			of := r.Verdict == check.Violated && (r.Name == b.Check || r.Name == b.Or)
			convicted = convicted || of
			named = named || of && slices.ContainsFunc(r.Evidence, func(e check.Evidence) bool { return slices.Contains(b.Kinds, e.Kind) })
		}
		valid := !slices.ContainsFunc(results, func(r check.Result) bool { return r.Verdict == check.Violated })
		if convicted != (strikes > 0 && b.Check != "") && (convicted || !b.Passing) || (b.Check == "" || strikes == 0) && !valid {
			t.Errorf("seed %d: after %d strikes: %s", seed, strikes, said(results))
		}
	}
	if struck == 0 || len(b.Kinds) > 0 && !named {
		t.Errorf("%d strikes, named %v: %s", struck, named, last)
	}
}

func said(results []check.Result) (text string) {
	for _, r := range results {
		text += fmt.Sprintf("\n\t%s %v: %s", r.Name, r.Verdict, r.Detail)
		for _, e := range r.Evidence[:min(2, len(r.Evidence))] {
			text += "\n\t\t" + e.Kind + ": " + e.Text
		}
	}
	return text
}

func strikesOf(t *testing.T, database store.Administration, bug Bug) int64 {
	t.Helper()
	size, err := database.Size(t.Context())
	expect.NoError(t, err)
	return size.Rows[StrikesOf(bug.Name)]
}
