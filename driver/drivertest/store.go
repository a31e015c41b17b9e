package drivertest

import (
	"context"
	"strings"
	"testing"

	"assay/store"
	"assay/workload"
)

// Store is what a driver's test gives to have its store.Database tested.
type Store struct {
	// Open is the driver's; each Database on Target that it gives is on the same data. Lacks
	// is what the driver says that its database lacks: what needs it is left out.
	Open   store.Opener
	Lacks  store.Lacks
	Target workload.Target
	// Secret is the password in Target, empty if there is none. It must turn up in nothing
	// that a Database returns.
	Secret string
	// MakeForeign makes something of another maker where this workload's data would be,
	// while they are not there. It registers its own removal with t.Cleanup, and returns
	// what fails the test unless all is as it was. Nil leaves the test out.
	MakeForeign func(t *testing.T, workload string) (intact func(t *testing.T))
	// Others are what others can make in or on this workload's data. Nil leaves the test out.
	Others func(workload string) []Other
	// Server is the server's own address, as "host:port"; the network is broken if it is not
	// empty. Via is Target by way of this "host:port": Server, a proxy before it, or a port
	// where nobody listens or answers. The driver is to stay with this address (no discovery of
	// other members) and to have a ConnectTimeout of a few seconds.
	Server string
	Via    func(addr string) workload.Target
	// CommitMarker is in what the client sends when it commits and in nothing that it sends
	// earlier in a transaction: "commit". Upper or lower case.
	CommitMarker []byte
	// Restart kills the server as by kill -9 and starts it again; it returns when the server
	// has been started, if not yet ready.
	Restart func(t *testing.T)
	// Engines are those that are tried beside the first; all if it is nil. Shrinks is true
	// if the last compaction surely makes a small table smaller that is nearly empty.
	Engines []string
	Shrinks bool
}

// The workloads of the suite's own schemas: one that is written in transactions, where the
// database has them, and one of single records, whose reads may go to another server.
const (
	Conformance        = "conformance"
	ConformanceRecords = "conformance_records"
)

// RunStore tests everything that package store promises, on schemas of its own. Its
// subtests run one after the other.
func RunStore(t *testing.T, s Store) {
	on := func(t *testing.T) *storeFixture { return s.fixture(t, conformanceSchema(s.Lacks)) }
	t.Run("Statements", func(t *testing.T) { testStatements(t, on) })
	ofRecords := func(t *testing.T) *storeFixture { return s.fixture(t, recordsSchema()) }
	records := s
	if s.Lacks[store.Transactions] == "" {
		s.ofSchema(t, Conformance, on)
		records.Others, records.MakeForeign = nil, nil // they have nothing to do with the tables
	}
	records.ofSchema(t, ConformanceRecords, ofRecords)
	runUnreachable(t, s.harness(ConformanceRecords))
	t.Run("Parts", func(t *testing.T) { testParts(t, s, on) })
}

// RunOutcomes is the part of RunStore about what the end of an attempt proves, with races
// and, with a Server, a network that breaks: for a target that changes how sessions work and
// nothing else.
func RunOutcomes(t *testing.T, s Store) {
	on := func(t *testing.T) *storeFixture { return s.fixture(t, conformanceSchema(s.Lacks)) }
	operations(t, ready(on), checked(outcomes(true)))
	runStoreNetwork(t, s.harness(Conformance), true, on)
}

// ofSchema tests the life cycle, the outcomes and the network on one schema.
func (s Store) ofSchema(t *testing.T, name string, on func(t *testing.T) *storeFixture) {
	t.Run(name, func(t *testing.T) {
		h := s.harness(name)
		runLifecycle(t, h, on)
		operations(t, ready(on), checked(outcomes(name == Conformance)))
		runStoreNetwork(t, h, name == Conformance, on)
	})
}

// harness is that of one schema.
func (s Store) harness(name string) Harness[store.Database] {
	schema := recordsSchema()
	if name == Conformance {
		schema = conformanceSchema(s.Lacks)
	}
	open := func(target workload.Target) (store.Database, error) {
		return s.Open(context.Background(), target, schema)
	}
	h := Harness[store.Database]{
		Secret: s.Secret, Server: s.Server, CommitMarker: s.CommitMarker, Restart: s.Restart,
		Open: func(t *testing.T) store.Database {
			t.Helper()
			db, err := open(s.Target)
			if err != nil {
				t.Fatalf("open: %v", err)
			}
			return db
		},
	}
	if s.MakeForeign != nil {
		var intact func(t *testing.T)
		h.MakeForeign = func(t *testing.T) { intact = s.MakeForeign(t, name) }
		h.ForeignIntact = func(t *testing.T) { intact(t) }
	}
	if s.Others != nil {
		h.Others = s.Others(name)
	}
	if s.Server != "" {
		h.OpenVia = func(t *testing.T, addr string) (store.Database, error) { return open(s.Via(addr)) }
	}
	return h
}

// storeFixture is a fixture with what was answered to writes.
type storeFixture struct {
	*fixture[store.Database]
	schema store.Schema
	lacks  store.Lacks
	*ledger
}

func (s Store) fixture(t *testing.T, schema store.Schema) *storeFixture {
	t.Helper()
	c := contents{workload: schema.Workload, found: anyRows}
	if schema.Transactions {
		c.loads = accounts
	}
	f := &storeFixture{fixture: newFixture(t, s.harness(schema.Workload), c), schema: schema, ledger: newLedger()}
	f.lacks = f.store.Lacks()
	for capability, reason := range s.Lacks {
		if f.lacks[capability] == "" {
			t.Errorf("the driver lacks %s (%s), the database does not", capability, reason)
		}
	}
	return f
}

// has reports whether the database has these capabilities, and logs the reason if not.
func (f *storeFixture) has(t *testing.T, all ...store.Capability) bool {
	for _, c := range all {
		if reason := f.lacks[c]; reason != "" {
			t.Logf("left out for want of %s: %s", c, reason)
			return false
		}
	}
	return true
}

// session opens a session for statements, which are named by their numbers.
func (f *storeFixture) session(db store.Database, statements ...store.Statement) store.Session {
	f.t.Helper()
	return sessionOf(f.fixture, func(ctx context.Context) (store.Session, error) { return db.Session(ctx, f.named(statements)) })
}

func (f *storeFixture) named(statements []store.Statement) []store.Statement {
	for i := range statements {
		statements[i].Name = "s" + strings.Repeat("x", i)
	}
	if err := f.schema.Check(statements); err != nil {
		f.t.Errorf("the suite's own statements: %v", err)
	}
	return statements
}

// create implements schema.
func (f *storeFixture) create(db store.Database, marker workload.Marker) error {
	f.ledger.reset()
	return db.Create(f.ctx, marker)
}

// load implements schema: accounts, where there are transactions.
func (f *storeFixture) load(db store.Database) {
	f.t.Helper()
	if f.schema.Transactions {
		f.loadAccounts(db, accounts)
	}
}

func (f *storeFixture) loadAccounts(db store.Database, n int64) {
	f.t.Helper()
	var loaded []account
	for id := range n {
		loaded = append(loaded, account{id + 1, opening, 0})
	}
	f.must("Load", db.Load(f.ctx, store.RowsOf("account", accountColumns(), loaded)))
	f.must("FinishLoad", db.FinishLoad(f.ctx))
	f.ledger.holds(n)
}

// write implements schema.
func (f *storeFixture) write(db store.Database, number int) {
	f.t.Helper()
	c := f.client(db, number)
	defer c.close()
	for range 4 {
		c.insist(f.ctx)
	}
}

// read implements schema.
func (f *storeFixture) read(db store.Database) reading {
	return func(ctx context.Context, each func() error) error {
		_, err := f.readAll(ctx, db.View, each)
		return err
	}
}

// check implements schema: what was answered and what is there fit, once everything has
// come to rest, and nothing changes any more.
func (f *storeFixture) check() {
	f.t.Helper()
	f.settle()
	for range 2 {
		there, err := f.readAll(f.ctx, f.store.View, func() error { return nil })
		f.must("View", err)
		f.ledger.compare(f.t, there)
	}
}
