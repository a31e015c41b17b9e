package mongodb

import (
	"context"
	"errors"
	"testing"
	"time"

	cluster "assay/cluster/mongodb"
	"assay/driver/bugs"
	"assay/driver/drivertest"
	"assay/internal/expect"
	"assay/store"
	"assay/workload/definition"
	"assay/workload/tpcc"
)

// testTPCC has a short run with orders as documents, and each seeded bug be found, or left, as
// its definition says, in one of both schemas.
func testTPCC(t *testing.T, set *cluster.ReplicaSet) {
	target := store.Target{Address: set.Address(), ConnectTimeout: 20 * time.Second, Schema: tpcc.SchemaDenormalized}
	drivertest.ShortRuns(t, target, definition.SupportOf(tpcc.Definition(), Open, Lacks()))
	for i, bug := range tpcc.Bugs() {
		target.Schema = []string{tpcc.SchemaNormalized, tpcc.SchemaDenormalized}[i%2]
		t.Run(bug.Name, func(t *testing.T) { testTPCCBug(t, target, bug) })
	}
}

// testTPCCBug looks where the lines of orders are as well.
func testTPCCBug(t *testing.T, target store.Target, bug bugs.Bug) {
	by := definition.SupportOf(tpcc.Definition(), func(ctx context.Context, target store.Target, schema store.Schema) (store.Database, error) {
		db, err := Open(ctx, target, schema)
		if err != nil {
			return nil, err
		}
		return bugs.Over(db, schema, tpcc.Bugs(), []bugs.Seeded{{Name: bug.Name, Probability: 1}}, 1), nil // there are few deliveries
	}, Lacks())
	wrapped, err := by.Open(t.Context(), target)
	expect.NoError(t, err)
	config := tpcc.Config{Warehouses: 2, Items: 100, Customers: 10, Schema: target.Schema, Loaders: 2}
	run := drivertest.ShortRun{Workload: tpcc.Definition(), Config: &config, Seed: 7, Clients: 2, Each: 40, Attempts: 1}
	judgement := run.Judge(t.Context(), t, wrapped)
	size, err := wrapped.Size(t.Context())
	if err != nil || size.Rows[bugs.StrikesOf(bug.Name)] == 0 {
		t.Errorf("the bug has not taken effect: %+v, %v", size.Rows, err)
	}
	if size.Rows["orders"] == 0 || (size.Rows["order_line"] > 0) != (target.Schema == tpcc.SchemaNormalized) {
		t.Errorf("%s: %+v", target.Schema, size.Rows)
	}
	found := false
	for _, r := range judgement.Results {
		if r.Found > 0 && bug.Check == "" {
			t.Errorf("%s finds %+v", r.Name, r.Evidence)
		}
		found = found || r.Found > 0 && r.Name == bug.Check
	}
	if found != (bug.Check != "") {
		t.Errorf("found by %q: %v", bug.Check, found)
	}
	if err := errors.Join(wrapped.Drop(t.Context()), wrapped.Close()); err != nil {
		t.Error(err)
	}
}

// testRouterTPCC: orders have a second unique key, so that they cannot be sharded by _id.
func testRouterTPCC(t *testing.T, _ *cluster.ReplicaSet, router *standIn) {
	target := store.Target{Address: router.address() + "?shard=hashed", ConnectTimeout: 20 * time.Second}
	var refused *store.OptionError
	if _, err := definition.SupportOf(tpcc.Definition(), Open, Lacks()).Open(t.Context(), target); !errors.As(err, &refused) || refused.Option != parameterShard {
		t.Errorf("sharded: %v", err)
	}
	target.Address = router.address()
	drivertest.ShortRuns(t, target, definition.SupportOf(tpcc.Definition(), Open, Lacks()))
}
