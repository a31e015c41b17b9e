//go:build ferretdb

package mongodb

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"assay/cluster/ferretdb"
	"assay/cluster/postgres"
	"assay/driver/drivertest"
	"assay/internal/expect"
	"assay/store"
	"assay/workload/bank"
	"assay/workload/definition"
	"assay/workload/entity"
	"assay/workload/isolation"
	"assay/workload/script"
	"assay/workload/smallbank"
	"assay/workload/tpcb"
	"assay/workload/tpcc"
)

// startFerretDB starts a server.
func startFerretDB(t *testing.T, o ferretdb.Options) *ferretdb.Server {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	s, err := ferretdb.Start(ctx, o)
	expect.NoError(t, err)
	expect.AtEnd(t, s.Close)
	return s
}

// onEachBackend runs a test over a file of SQLite's and over a PostgreSQL server.
func onEachBackend(t *testing.T, test func(t *testing.T, o ferretdb.Options)) {
	t.Run("sqlite", func(t *testing.T) { test(t, ferretdb.Options{}) })
	t.Run("postgres", func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		behind, err := postgres.Start(ctx, postgres.Options{User: "assay", Password: "a password"})
		expect.NoError(t, err)
		expect.AtEnd(t, behind.Close)
		test(t, ferretdb.Options{PostgreSQL: behind.Address()})
	})
}

func ferretTarget(s *ferretdb.Server) store.Target {
	return store.Target{Address: s.Address(), ConnectTimeout: 20 * time.Second}
}

// ferretLacks is what a schema that is opened on FerretDB lacks.
func ferretLacks() store.Lacks {
	return (&database{connection: &connection{settings: new(settings), standalone: true, ferretDB: "1"}}).Lacks()
}

// TestFerretDBStore: the contract of a Store without transactions, the lease among it, holds on
// FerretDB, which has no pipeline updates and no atomic update.
func TestFerretDBStore(t *testing.T) { onEachBackend(t, conformToStore) }

func conformToStore(t *testing.T, o ferretdb.Options) {
	f := startFerretDB(t, o)
	plain := plainClient(t, ferretTarget(f).Address)
	drivertest.RunStore(t, drivertest.Store{
		Open: Open, Lacks: ferretLacks(), Target: ferretTarget(f),
		MakeForeign: func(t *testing.T, workload string) (intact func(t *testing.T)) {
			database := plain.Database("assay_" + workload)
			makeForeign(t, database)
			return func(t *testing.T) { foreignIntact(t, database) }
		},
		Restart: func(t *testing.T) {
			expect.NoError(t, f.Kill(), f.Restart(t.Context()))
		},
		Engines: []string{},
	})
}

// TestFerretDBWorkloads: what needs no transactions runs, whether FerretDB calls itself a replica
// set or not, and the rest is refused for the reason before anything is made.
func TestFerretDBWorkloads(t *testing.T) { onEachBackend(t, runWorkloads) }

func runWorkloads(t *testing.T, o ferretdb.Options) {
	for _, replicaSet := range []string{"", "rs0"} {
		o.ReplicaSet = replicaSet
		f := startFerretDB(t, o)
		for _, by := range append(supports(), definition.SupportOf(script.Definition(), Open, Lacks())) {
			db, err := by.Open(t.Context(), ferretTarget(f))
			switch by.Workload {
			case bank.Name, isolation.Name, smallbank.Name, tpcb.Name, tpcc.Name, script.Name:
				if err == nil || !strings.Contains(err.Error(), "is FerretDB 1.") || !strings.Contains(err.Error(), "has no transactions") {
					t.Errorf("%s on FerretDB: %v", by.Workload, err)
				}
			default:
				expect.NoError(t, err)
				expect.NoError(t, db.Close())
				drivertest.ShortRuns(t, ferretTarget(f), by)
			}
		}
	}
}

// TestFerretDBTold: what it is, and what of an address it would ignore.
func TestFerretDBTold(t *testing.T) {
	f := startFerretDB(t, ferretdb.Options{})
	for _, option := range []string{"w=1", "w=majority", "journal=true", "readConcernLevel=majority", "readConcernLevel=linearizable", "readConcernLevel=available"} {
		to := ferretTarget(f)
		to.Address += "?" + option
		var refused *store.OptionError
		if _, err := Open(t.Context(), to, entity.Schema()); !errors.As(err, &refused) || !strings.Contains(err.Error(), "ignores it") {
			t.Errorf("%s: %v", option, err)
		}
	}
	db, err := Open(t.Context(), ferretTarget(f), entity.Schema())
	expect.NoError(t, err)
	defer db.Close()
	product, err := db.Describe(t.Context())
	expect.NoError(t, err)
	if product.Name != "FerretDB" || !strings.HasPrefix(product.Version, "1.") || product.Topology.Nodes != 1 ||
		slices.ContainsFunc(product.Settings, func(s store.Setting) bool { return s.Name == "write concern" }) {
		t.Errorf("%+v", product)
	}
}

// TestFerretDBLateHolder: a holder that let its lease expire, and renews it just when another has
// inserted its own, is seen by it, and of the two no more than one holds.
func TestFerretDBLateHolder(t *testing.T) {
	f := startFerretDB(t, ferretdb.Options{})
	ctx := t.Context()
	open := func() *database {
		db, err := Open(ctx, ferretTarget(f), entity.Schema())
		expect.NoError(t, err)
		expect.AtEnd(t, db.Close)
		return db.(*database)
	}
	holder := func(run string) store.Holder { return store.Holder{Token: run, Run: run} }
	first, second := open(), open()
	var held *store.HeldError

	// expiry sets when the first's lease ends, as a renewal does that has not looked again yet.
	expiry := func(from time.Duration) {
		_, err := first.leases().UpdateOne(ctx, bson.D{{Key: "token", Value: "first"}},
			bson.D{{Key: "$set", Value: bson.D{{Key: "expires", Value: time.Now().Add(from)}}}})
		expect.NoError(t, err)
	}
	insert := func() {
		_, err := second.leases().InsertOne(ctx, taking{2, lease{Token: "second", Expires: time.Now().Add(time.Hour)}})
		expect.NoError(t, err)
	}

	expect.NoError(t, first.TakeLease(ctx, holder("first"), time.Hour, ""))
	insert() // by one that has seen the first's as expired
	if has, err := second.keepLease(ctx, 2, "second", ""); has || !errors.As(err, &held) || held.Lease.Token != "first" {
		t.Errorf("the second, after the first has renewed: %v, %v", has, err)
	}
	expect.NoError(t, first.RenewLease(ctx, "first", time.Hour))

	expiry(-time.Hour)
	insert()
	expiry(time.Hour)
	if err := first.RenewLease(ctx, "first", time.Hour); !errors.As(err, &held) || held.Lease.Token != "second" {
		t.Errorf("the first, which finds the second's: %v", err)
	}

	expiry(-time.Hour)
	if has, err := second.keepLease(ctx, 2, "second", ""); !has || err != nil {
		t.Errorf("the second, which finds the first's expired: %v, %v", has, err)
	}
	if err := first.RenewLease(ctx, "first", time.Hour); !errors.As(err, &held) || held.Lease.Token != "second" {
		t.Errorf("the first, whose lease is gone: %v", err)
	}
	if has, err := first.keepLease(ctx, 1, "first", ""); has || !errors.As(err, &held) {
		t.Errorf("one whose taking was deleted as expired: %v, %v", has, err)
	}
}

// TestFerretDBSharedLease: of two processes of one run that take its lease at the same time
// neither deletes what the other has inserted after it, so that one taking stays.
func TestFerretDBSharedLease(t *testing.T) {
	f := startFerretDB(t, ferretdb.Options{})
	ctx := t.Context()
	opened, err := Open(ctx, ferretTarget(f), entity.Schema())
	expect.NoError(t, err)
	expect.AtEnd(t, opened.Close)
	db := opened.(*database)
	for number := range int64(2) {
		_, err := db.leases().InsertOne(ctx, taking{1 + number, lease{Token: "run", Expires: time.Now().Add(time.Hour)}})
		expect.NoError(t, err)
	}
	for number := range int64(2) {
		if has, err := db.keepLease(ctx, 1+number, "run", ""); !has || err != nil {
			t.Errorf("taking %d: %v, %v", 1+number, has, err)
		}
	}
	if held, err := db.Lease(ctx); err != nil || held == nil || held.Token != "run" {
		t.Errorf("%+v, %v", held, err)
	}
	expect.NoError(t, db.RenewLease(ctx, "run", time.Hour))
}
