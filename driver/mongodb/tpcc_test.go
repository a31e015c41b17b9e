package mongodb

import (
	"context"
	"errors"
	"slices"
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

// testTPCC has a short run with orders as documents, and the seeded bugs of orders be found, in one of
// both schemas. The others are tried on any database by package bugs.
func testTPCC(t *testing.T, set *cluster.ReplicaSet) {
	target := store.Target{Address: set.Address(), ConnectTimeout: 20 * time.Second, Schema: tpcc.SchemaDenormalized}
	drivertest.ShortRuns(t, target, definition.SupportOf(tpcc.Definition(), Open, Lacks()))
	for name, schema := range map[string]string{"lost-line": tpcc.SchemaDenormalized, "lost-order": tpcc.SchemaNormalized, "half-delivery": tpcc.SchemaDenormalized} {
		bug := tpcc.Bugs()[slices.IndexFunc(tpcc.Bugs(), func(b bugs.Bug) bool { return b.Name == name })]
		target.Schema = schema
		t.Run(name, func(t *testing.T) { testTPCCBug(t, target, bug) })
	}
}

// testTPCCBug has a bug of orders found, and looks where their lines are.
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
		found = found || r.Found > 0 && r.Name == bug.Check
	}
	if !found {
		t.Errorf("not found by %q", bug.Check)
	}
	expect.NoError(t, wrapped.Drop(t.Context()), wrapped.Close())
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
