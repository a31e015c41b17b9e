package drivertest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"assay/history"
	"assay/workload/bank"
)

// Transfers remembers what was sent and answered, and compares it with what a
// Store reads back. It keeps everything in memory. It is safe for concurrent
// use.
type Transfers struct {
	mu       sync.Mutex
	opening  map[int64]int64
	sent     map[int64]*sent
	problems []string
}

// sent is one transfer over all its attempts.
type sent struct {
	transfer bank.Transfer
	outcome  history.Outcome
	// committed is the reply that said so, if one did.
	committed bank.Reply
}

// NewTransfers returns the record of these opening accounts.
func NewTransfers(opening []bank.Account) *Transfers {
	l := &Transfers{opening: map[int64]int64{}, sent: map[int64]*sent{}}
	l.open(opening)
	return l
}

// open adds accounts that were loaded.
func (l *Transfers) open(accounts []bank.Account) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, a := range accounts {
		l.opening[a.ID] = a.Balance
	}
}

// Record adds one attempt of a transfer. Attempts of one id must be recorded
// in their order and ask for the same. The zero Reply stands for a transfer
// that may have been sent.
func (l *Transfers) Record(t bank.Transfer, r bank.Reply) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s, again := l.sent[t.ID]
	if !again {
		s = &sent{transfer: t, outcome: r.Outcome}
		l.sent[t.ID] = s
	}
	outcome := r.Outcome
	if r.Outcome == history.Failed && r.Duplicate {
		if !again || s.outcome == history.Failed || s.outcome == history.Rejected {
			l.problem("transfer %d: answered as a duplicate, but no earlier attempt can have had an effect", t.ID)
		}
		outcome = history.Committed
	}
	if again && s.committed.Outcome == history.Committed && r.Outcome != history.Failed && r.Outcome != history.Unknown {
		l.problem("transfer %d: committed before, answered %v when repeated", t.ID, r.Outcome)
	}
	if again {
		s.outcome = s.outcome.Then(outcome)
	} else {
		s.outcome = outcome
	}
	if r.Outcome == history.Committed {
		s.committed = r
	}
}

func (l *Transfers) problem(format string, args ...any) {
	l.problems = append(l.problems, fmt.Sprintf(format, args...))
}

// Count returns how many transfers ended in this outcome.
func (l *Transfers) Count(outcome history.Outcome) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := 0
	for _, s := range l.sent {
		if s.outcome == outcome {
			n++
		}
	}
	return n
}

// Check settles, reads everything and fails the test for each thing that does
// not fit. It returns what was read.
func (l *Transfers) Check(ctx context.Context, t *testing.T, store bank.Store) Snapshot {
	t.Helper()
	if err := store.Settle(ctx); err != nil {
		t.Fatalf("Settle: %v", err)
	}
	read, err := ReadAll(ctx, store)
	if err != nil {
		t.Fatalf("Read: %v", err)
	}
	problems := l.Problems(read)
	const most = 10
	if len(problems) > most {
		problems = append(problems[:most], fmt.Sprintf("and %d more", len(problems)-most))
	}
	if len(problems) > 0 {
		t.Errorf("answers and data do not fit:\n  %s", strings.Join(problems, "\n  "))
	}
	return read
}

// Snapshot is a whole state as read.
type Snapshot struct {
	Accounts []bank.Account
	Entries  []bank.Entry
}

// ReadAll reads the whole state into memory.
func ReadAll(ctx context.Context, store bank.Store) (Snapshot, error) {
	var s Snapshot
	err := store.Read(ctx,
		func(a bank.Account) error { s.Accounts = append(s.Accounts, a); return nil },
		func(e bank.Entry) error { s.Entries = append(s.Entries, e); return nil })
	return s, err
}

// Account returns an account as read, the zero Account if it is not there.
func (s Snapshot) Account(id int64) bank.Account {
	for _, a := range s.Accounts {
		if a.ID == id {
			return a
		}
	}
	return bank.Account{}
}

// Entry returns the first row of this transfer; ok is false if there is none.
func (s Snapshot) Entry(id int64) (e bank.Entry, ok bool) {
	for _, e := range s.Entries {
		if e.ID == id {
			return e, true
		}
	}
	return bank.Entry{}, false
}

// Problems returns everything in which what was read contradicts what was
// answered: rows that are missing, too many, foreign or altered, states that
// differ from those acknowledged, versions that are not 1, 2, 3 ..., balances
// that do not follow from the journal.
func (l *Transfers) Problems(read Snapshot) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	before := l.problems
	defer func() { l.problems = before }()
	l.judgeRows(read)
	l.judgeAccounts(read)
	return l.problems
}

func (l *Transfers) judgeRows(read Snapshot) {
	rows := map[int64]int{}
	for _, e := range read.Entries {
		rows[e.ID]++
		s := l.sent[e.ID]
		switch {
		case s == nil:
			l.problem("foreign row %+v", e)
		case s.transfer != e.Transfer:
			l.problem("altered row %+v, sent %+v", e.Transfer, s.transfer)
		case s.committed.Outcome == history.Committed &&
			(s.committed.Source.Version != e.SourceVersion || s.committed.Destination.Version != e.DestinationVersion):
			l.problem("transfer %d: versions %d and %d were acknowledged, the row has %d and %d", e.ID,
				s.committed.Source.Version, s.committed.Destination.Version, e.SourceVersion, e.DestinationVersion)
		}
	}
	for id, s := range l.sent {
		n := rows[id]
		switch {
		case n > 1:
			l.problem("transfer %d: %d rows", id, n)
		case s.outcome == history.Committed && n == 0:
			l.problem("transfer %d: committed, no row", id)
		case (s.outcome == history.Failed || s.outcome == history.Rejected) && n != 0:
			l.problem("transfer %d: %v, but a row is there", id, s.outcome)
		}
	}
}

// change is what one row did to one account.
type change struct {
	version, amount, id int64
	source              bool
}

func (l *Transfers) judgeAccounts(read Snapshot) {
	changes := map[int64][]change{}
	for _, e := range read.Entries {
		changes[e.Source] = append(changes[e.Source], change{e.SourceVersion, -e.Amount, e.ID, true})
		changes[e.Destination] = append(changes[e.Destination], change{e.DestinationVersion, e.Amount, e.ID, false})
	}
	var last int64
	seen := map[int64]bool{}
	for i, a := range read.Accounts {
		if i > 0 && a.ID <= last {
			l.problem("account %d was read after account %d", a.ID, last)
		}
		last, seen[a.ID] = a.ID, true
		if _, known := l.opening[a.ID]; !known {
			l.problem("foreign account %+v", a)
			continue
		}
		l.judgeAccount(a, changes[a.ID])
	}
	for id := range l.opening {
		if !seen[id] {
			l.problem("account %d is missing", id)
		}
	}
}

// judgeAccount replays an account's changes in the order of their versions.
func (l *Transfers) judgeAccount(a bank.Account, changes []change) {
	slices.SortFunc(changes, func(a, b change) int { return int(a.version - b.version) })
	balance := l.opening[a.ID]
	for i, c := range changes {
		balance += c.amount
		if c.version != int64(i+1) {
			l.problem("account %d: version %d where %d was due", a.ID, c.version, i+1)
		}
		if balance < 0 {
			l.problem("account %d: %d after version %d", a.ID, balance, c.version)
		}
		s := l.sent[c.id]
		if s == nil || s.committed.Outcome != history.Committed {
			continue
		}
		said := s.committed.Destination
		if c.source {
			said = s.committed.Source
		}
		if said.Balance != balance {
			l.problem("account %d: transfer %d acknowledged balance %d, the journal says %d", a.ID, c.id, said.Balance, balance)
		}
	}
	if a.Balance != balance || a.Version != int64(len(changes)) {
		l.problem("account %d: balance %d at version %d, the journal says %d at version %d",
			a.ID, a.Balance, a.Version, balance, len(changes))
	}
}
