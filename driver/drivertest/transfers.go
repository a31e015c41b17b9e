package drivertest

import (
	"context"
	"slices"
	"testing"

	"assay/history"
	"assay/store"
	"assay/workload/bank"
)

// Transfers records transfers sent to a bank and their answers, and compares them with the rows
// read back. It is safe for concurrent use.
type Transfers struct{ *ledger }

// NewTransfers returns a record that begins with the opening accounts.
func NewTransfers(opening []bank.Account) *Transfers {
	l := &Transfers{newLedger()}
	l.open(opening)
	return l
}

func (l *Transfers) open(accounts []bank.Account) {
	for _, a := range accounts {
		l.opening[a.ID] = a.Balance
	}
}

// Record adds one attempt of a transfer. Attempts of one id must be recorded in order and ask
// for the same. The zero Reply stands for a transfer that may have been sent.
func (l *Transfers) Record(t bank.Transfer, r bank.Reply) {
	w := sentWrite{entry: entry{ID: t.ID, Source: t.Source, Destination: t.Destination, Amount: t.Amount}, outcome: r.Outcome,
		told: [2]left{{r.Source.Balance, r.Source.Version}, {r.Destination.Balance, r.Destination.Version}}}
	if r.Outcome == history.Failed && r.Duplicate { // an earlier attempt did it
		w.outcome, w.told = history.Committed, [2]left{}
	}
	l.record(w)
}

// Count returns the number of transfers with an outcome.
func (l *Transfers) Count(outcome history.Outcome) (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range l.sent {
		if s.outcome == outcome {
			n++
		}
	}
	return n
}

// Check settles, reads everything, fails the test for each contradiction and returns the rows.
func (l *Transfers) Check(ctx context.Context, t *testing.T, db bank.Store) Snapshot {
	t.Helper()
	if err := db.Settle(ctx); err != nil {
		t.Fatalf("Settle: %v", err)
	}
	read, err := ReadAll(ctx, db)
	if err != nil {
		t.Fatalf("Read: %v", err)
	}
	l.compare(t, read.state())
	return read
}

// Problems lists the contradictions between the rows and the answers.
func (l *Transfers) Problems(read Snapshot) []string { return l.problems(read.state()) }

// Snapshot is a whole state of a bank as read.
type Snapshot struct {
	Accounts []bank.Account
	Entries  []bank.Entry
}

func (s Snapshot) state() *state {
	all := &state{accounts: map[int64]account{}}
	for _, a := range s.Accounts {
		all.accounts[a.ID] = account{a.ID, a.Balance, a.Version}
	}
	for _, e := range s.Entries {
		all.entries = append(all.entries, entry{e.ID, e.Source, e.Destination, e.Amount, e.SourceVersion, e.DestinationVersion})
	}
	return all
}

// ReadAll reads the whole state into memory.
func ReadAll(ctx context.Context, db bank.Store) (Snapshot, error) {
	var s Snapshot
	err := db.Read(ctx,
		func(a bank.Account) error { s.Accounts = append(s.Accounts, a); return nil },
		func(e bank.Entry) error { s.Entries = append(s.Entries, e); return nil })
	return s, err
}

// ReadReplica reads a member, the entries in the order of their ids.
func ReadReplica(ctx context.Context, db store.Replicated, member store.Replica) (s Snapshot, err error) {
	err = bank.ReadFrom(ctx, func(ctx context.Context, read func(store.Reader) error) error {
		return db.ViewReplica(ctx, member, read)
	},
		func(a bank.Account) error { s.Accounts = append(s.Accounts, a); return nil },
		func(e bank.Entry) error { s.Entries = append(s.Entries, e); return nil })
	slices.SortFunc(s.Entries, func(a, b bank.Entry) int { return int(a.ID - b.ID) })
	return s, err
}

// Account returns an account as read, or the zero Account.
func (s Snapshot) Account(id int64) bank.Account {
	for _, a := range s.Accounts {
		if a.ID == id {
			return a
		}
	}
	return bank.Account{}
}

// Entry returns a transfer's first row.
func (s Snapshot) Entry(id int64) (e bank.Entry, ok bool) {
	for _, e := range s.Entries {
		if e.ID == id {
			return e, true
		}
	}
	return bank.Entry{}, false
}
