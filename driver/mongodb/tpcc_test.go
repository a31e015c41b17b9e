package mongodb

import (
	"context"
	"errors"
	"testing"
	"time"

	cluster "assay/cluster/mongodb"
	"assay/driver/bugs"
	"assay/driver/drivertest"
	"assay/store"
	"assay/workload"
	"assay/workload/tpcc"
)

// testTPCC runs the suite in both schemas, which share the life cycle, and each seeded bug
// in one of them.
func testTPCC(t *testing.T, set *cluster.ReplicaSet) {
	address := "mongodb://" + set.Node(0).Address() + "/?directConnection=true"
	database := plainClient(t, address).Database("assay_tpcc")
	for number, schema := range []string{tpcc.SchemaNormalized, tpcc.SchemaDenormalized} {
		h := drivertest.TPCC{Open: opening(func(ctx context.Context, target workload.Target) (tpcc.Store, error) {
			target.Schema = schema
			return tpcc.Opener(Open)(ctx, target)
		}, address)}
		if schema == tpcc.SchemaNormalized {
			h.MakeForeign = func(t *testing.T) { makeForeign(t, database) }
			h.ForeignIntact = func(t *testing.T) { foreignIntact(t, database) }
		} else {
			h.OperationsOnly = true
		}
		t.Run(schema, func(t *testing.T) {
			drivertest.RunTPCC(t, h)
			for i, bug := range tpcc.Bugs() {
				if i%2 == number {
					t.Run(bug.Name, func(t *testing.T) { testTPCCBug(t, address, bug, schema) })
				}
			}
		})
	}
}

// testTPCCBug has a bug be found, or left, as its definition says, on this store, and
// looks where the lines of orders are.
func testTPCCBug(t *testing.T, address string, bug bugs.Bug, schema string) {
	opener := func(ctx context.Context, target workload.Target, schema store.Schema) (store.Database, error) {
		db, err := Open(ctx, target, schema)
		if err != nil {
			return nil, err
		}
		return bugs.Over(db, schema, tpcc.Bugs(), []bugs.Seeded{{Name: bug.Name, Probability: 1}}, 1), nil // there are few deliveries
	}
	wrapped := opening(func(ctx context.Context, target workload.Target) (tpcc.Store, error) {
		target.Schema = schema
		return tpcc.Opener(opener)(ctx, target)
	}, address)(t)
	judgement := drivertest.TPCCRun(2, 40, 1).Judge(t.Context(), t, wrapped)
	size, err := wrapped.Size(t.Context())
	if err != nil || size.Rows[bugs.StrikesOf(bug.Name)] == 0 {
		t.Errorf("the bug has not taken effect: %+v, %v", size.Rows, err)
	}
	if size.Rows["orders"] == 0 || (size.Rows["order_line"] > 0) != (schema == tpcc.SchemaNormalized) {
		t.Errorf("%s: %+v", schema, size.Rows)
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
	target := workload.Target{Address: router.address() + "?shard=hashed", ConnectTimeout: 20 * time.Second}
	var refused *workload.OptionError
	if _, err := tpcc.Opener(Open)(t.Context(), target); !errors.As(err, &refused) || refused.Option != parameterShard {
		t.Errorf("sharded: %v", err)
	}
	store := opening(tpcc.Opener(Open), router.address())(t)
	drivertest.ValidTPCC(t, drivertest.TPCCRun(1, 20, 1), store)
	if err := errors.Join(store.Drop(t.Context()), store.Close()); err != nil {
		t.Error(err)
	}
}
