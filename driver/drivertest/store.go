package drivertest

import (
	"slices"
	"testing"

	"assay/store"
)

// Store is a driver's test's description of its database.
type Store struct {
	// Open must give Databases on the same data for the same Target. Lacks is the driver's own
	// list; tests that need a missing capability are left out.
	Open   store.Opener
	Lacks  store.Lacks
	Target store.Target
	// Secret is the password in Target, or empty. No result or error may show it.
	Secret string
	// MakeForeign makes something of somebody else in place of this workload's data. It
	// registers the removal with t.Cleanup and returns a check that all is as it was. If nil, the
	// test is left out.
	MakeForeign func(t *testing.T, workload string) (intact func(t *testing.T))
	// Others lists things to make in or on this workload's data. If nil, the test is left out.
	Others func(workload string) []Other
	// Server is the server's own "host:port"; if it is empty, the network is not broken. Via is
	// Target through another "host:port": Server, a proxy, or a port without a listener. The
	// driver must keep to that address and discover no members.
	Server string
	Via    func(addr string) store.Target
	// CommitMarker is in the bytes of a commit and in no earlier bytes of a transaction:
	// "commit". Case does not matter.
	CommitMarker []byte
	// HTTP2 is true if the server speaks HTTP/2, and so sends more than answers.
	HTTP2 bool
	// Unproven is true if an error of a statement outside of a transaction does not prove that
	// it had no effect, since such a statement commits before it is answered.
	Unproven bool
	// Confirms is true if the driver confirms that the row of a repeated insert is as durable as
	// an acknowledged row (store.Reply.Confirmed).
	Confirms bool
	// Restart kills the server with SIGKILL and starts it again. It may return before the server
	// is ready.
	Restart func(t *testing.T)
	// Engines are tried beside the first; nil means all. Shrinks is true if the last compaction
	// surely shrinks a small, nearly empty table.
	Engines []string
	Shrinks bool
	// brief reduces repetitions to a third.
	brief bool
}

// Workloads of the suite's own schemas: in transactions if the database has them; single
// records, whose reads may go to another server; a user's tables and statements in the
// database's language.
const (
	Conformance        = "conformance"
	ConformanceRecords = "conformance_records"
	ConformanceOpen    = "conformance_open"
)

// RunStore tests all promises of package store. Its subtests run one after the other.
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

// RunStatements is the part of RunStore about single statements.
func RunStatements(t *testing.T, s Store) {
	t.Run("Statements", func(t *testing.T) { testStatements(t, s.fixtures(conformanceSchema(s.Lacks))) })
}

// RunOutcomes is the part of RunStore about outcomes, races and a breaking network. It is for
// targets that only change how sessions work, and repeats less often. If workloads are given,
// only these are tried.
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

// RunThroughFaults has eight clients work during faults, one after the other. Every client must
// work on, and every answer must fit the data. A fault's call of work waits until every client
// has had a write acknowledged.
func RunThroughFaults(t *testing.T, s Store, faults ...func(work func())) {
	f := ready(s.fixtures(conformanceSchema(s.Lacks)))(t)
	f.whileFailing(f.store, 0, 8, 40, faults...)
	f.closeClients()
	f.check()
}

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
