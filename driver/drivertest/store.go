package drivertest

import (
	"slices"
	"testing"

	"assay/store"
)

// Store is what a driver's test gives to have its store.Database tested.
type Store struct {
	// Open is the driver's; each Database on Target that it gives is on the same data. Lacks
	// is what the driver says that its database lacks: what needs it is left out.
	Open   store.Opener
	Lacks  store.Lacks
	Target store.Target
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
	// other members).
	Server string
	Via    func(addr string) store.Target
	// CommitMarker is in what the client sends when it commits and in nothing that it sends
	// earlier in a transaction: "commit". Upper or lower case.
	CommitMarker []byte
	// HTTP2 is true if the server speaks HTTP/2, and so sends of itself beside its answers.
	HTTP2 bool
	// Unproven is true if an error of a statement outside of a transaction does not prove
	// that it had no effect, since such a statement commits before it is answered.
	Unproven bool
	// Confirms is true if the driver says of a row that a repeated insert meets that it is as
	// durable as an acknowledged one (store.Reply.Confirmed).
	Confirms bool
	// Restart kills the server as by kill -9 and starts it again; it returns when the server
	// has been started, if not yet ready.
	Restart func(t *testing.T)
	// Engines are those that are tried beside the first; all if it is nil. Shrinks is true
	// if the last compaction surely makes a small table smaller that is nearly empty.
	Engines []string
	Shrinks bool
	// brief is true if what is tried many times is tried less often.
	brief bool
}

// The workloads of the suite's own schemas: one that is written in transactions, where the
// database has them, one of single records, whose reads may go to another server, and one
// whose tables and statements are a user's, in the database's language.
const (
	Conformance        = "conformance"
	ConformanceRecords = "conformance_records"
	ConformanceOpen    = "conformance_open"
)

// RunStore tests everything that package store promises, on schemas of its own. Its
// subtests run one after the other.
func RunStore(t *testing.T, s Store) {
	RunStatements(t, s)
	records, transactions := s, s.Lacks[store.Transactions] == ""
	if transactions {
		s.ofSchema(t, conformanceSchema(s.Lacks), true)
		records.Others, records.MakeForeign = nil, nil // they have nothing to do with the tables, nor have leases
	}
	records.ofSchema(t, recordsSchema(), !transactions)
	if s.Lacks[store.Language] == "" {
		s.ofSchema(t, openSchema(), false)
	}
	s.runUnreachable(t)
	t.Run("Parts", func(t *testing.T) { testParts(t, s, s.fixtures(conformanceSchema(s.Lacks))) })
}

// RunStatements is the part of RunStore about what single statements do.
func RunStatements(t *testing.T, s Store) {
	t.Run("Statements", func(t *testing.T) { testStatements(t, s.fixtures(conformanceSchema(s.Lacks))) })
}

// RunOutcomes is the part of RunStore about what the end of an attempt proves, with races
// and, with a Server, a network that breaks: for a target that changes how sessions work and
// nothing else. What is tried many times is tried less often. With workloads only these are tried.
func RunOutcomes(t *testing.T, s Store, workloads ...string) {
	s.brief = true
	for _, schema := range []store.Schema{conformanceSchema(s.Lacks), openSchema()} {
		if (!schema.Open || s.Lacks[store.Language] == "") && (len(workloads) == 0 || slices.Contains(workloads, schema.Workload)) {
			t.Run(schema.Workload, func(t *testing.T) { s.runOutcomes(t, schema) })
		}
	}
}

func (s Store) runOutcomes(t *testing.T, schema store.Schema) {
	all := checked(outcomes(schema))
	switch {
	case s.Server == "":
	case schema.Open:
		all = append(all, operation{"VerbatimCut", func(f *fixture) { f.network().testVerbatimCut() }})
	default:
		all = append(all, s.networks(schema)...)
	}
	onOne(t, ready(s.fixtures(schema)), all)
}

// RunThroughFaults has eight clients work while faults of the servers happen, one after the other. It
// wants every client to work on, and every answer to fit the data. A fault that calls work waits until
// every client has had a write acknowledged.
func RunThroughFaults(t *testing.T, s Store, faults ...func(work func())) {
	f := ready(s.fixtures(conformanceSchema(s.Lacks)))(t)
	f.whileFailing(f.store, 0, 8, 40, faults...)
	f.closeClients()
	f.check()
}

// ofSchema tests the life cycle, the outcomes and the network on one schema.
func (s Store) ofSchema(t *testing.T, schema store.Schema, leases bool) {
	t.Run(schema.Workload, func(t *testing.T) {
		s.runLifecycle(t, s.fixtures(schema), leases)
		s.runOutcomes(t, schema)
	})
}

func (s Store) fixtures(schema store.Schema) func(t *testing.T) *fixture {
	return func(t *testing.T) *fixture {
		t.Helper()
		return s.fixture(t, schema)
	}
}
