package bank_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"assay/driver/mem"
	"assay/history"
	"assay/internal/expect"
	"assay/store"
	"assay/workload/bank"
)

// opened is a bank with accounts of these balances, and a session of it.
func opened(t *testing.T, balances ...int64) (bank.Store, *bank.Session) {
	t.Helper()
	db, err := mem.Open(t.Context(), store.Target{Address: "mem://"}, bank.Schema())
	expect.NoError(t, err)
	s := bank.Over(db)
	var accounts []bank.Account
	for i, balance := range balances {
		accounts = append(accounts, bank.Account{ID: int64(i + 1), Balance: balance})
	}
	slices.Reverse(accounts) // they are read in the order of their ids
	expect.NoError(t, errors.Join(s.Create(t.Context(), store.Marker{}), s.LoadAccounts(t.Context(), accounts), s.FinishLoad(t.Context())))
	session, err := s.Session(t.Context())
	expect.NoError(t, err)
	t.Cleanup(session.Close)
	return s, session
}

// read is all that is there.
func read(t *testing.T, s bank.Store) (accounts []bank.Account, entries []bank.Entry) {
	t.Helper()
	if err := s.Read(t.Context(), func(a bank.Account) error { accounts = append(accounts, a); return nil },
		func(e bank.Entry) error { entries = append(entries, e); return nil }); err != nil {
		t.Fatal(err)
	}
	return accounts, entries
}

// TestTransfers has transfers in both directions, that the database refuses, and that are
// repeated, with the same content and with another.
func TestTransfers(t *testing.T) {
	s, session := opened(t, 1000, 1000, 1000)
	ids, committed := map[int64]bool{}, 0
	for i, step := range []struct {
		id, source, destination, amount int64
		outcome                         history.Outcome
		class                           string
		left, gained                    bank.State
	}{
		{id: 1, source: 1, destination: 2, amount: 100, left: bank.State{Balance: 900, Version: 1}, gained: bank.State{Balance: 1100, Version: 1}},
		{id: 2, source: 2, destination: 1, amount: 50, left: bank.State{Balance: 1050, Version: 2}, gained: bank.State{Balance: 950, Version: 2}},
		{id: 3, source: 3, destination: 1, amount: 1000, left: bank.State{Version: 1}, gained: bank.State{Balance: 1950, Version: 3}},
		{id: 4, source: 3, destination: 1, amount: 1, outcome: history.Rejected, class: bank.ClassNoFunds},
		{id: 5, source: 1, destination: 2, amount: 1951, outcome: history.Rejected, class: bank.ClassNoFunds},
		{id: 6, source: 1, destination: 4, amount: 1, outcome: history.Rejected, class: bank.ClassNoAccount},
		{id: 7, source: 4, destination: 1, amount: 1, outcome: history.Rejected, class: bank.ClassNoAccount},
		{id: 8, source: 8, destination: 9, amount: 1, outcome: history.Rejected, class: bank.ClassNoAccount},
		{id: 3, source: 3, destination: 1, amount: 1000, outcome: history.Failed, class: store.ClassDuplicate}, // there are no funds for it any more
		{id: 1, source: 1, destination: 2, amount: 100, outcome: history.Failed, class: store.ClassDuplicate},
		{id: 1, source: 2, destination: 3, amount: 5, outcome: history.Failed, class: store.ClassDuplicate},
		{id: 1, source: 4, destination: 1, amount: 5, outcome: history.Failed, class: store.ClassDuplicate},
		{id: 4, source: 1, destination: 3, amount: 1950, left: bank.State{Version: 4}, gained: bank.State{Balance: 1950, Version: 2}}, // the rejected one left nothing
	} {
		want := step.outcome
		if step.class == "" {
			want = history.Committed
			committed++
		}
		r := session.Transfer(t.Context(), bank.Transfer{ID: step.id, Source: step.source, Destination: step.destination, Amount: step.amount})
		if r.Outcome != want || r.Class != step.class || r.Source != step.left || r.Destination != step.gained || r.Duplicate != (step.class == store.ClassDuplicate) || r.Broken {
			t.Errorf("step %d: %+v, want %+v", i, r, step)
		}
		ids[step.id] = ids[step.id] || want == history.Committed
	}
	accounts, entries := read(t, s)
	if want := []bank.Account{{ID: 1, Version: 4}, {ID: 2, Balance: 1050, Version: 2}, {ID: 3, Balance: 1950, Version: 2}}; !slices.Equal(accounts, want) {
		t.Errorf("accounts %+v, want %+v", accounts, want)
	}
	last := bank.Entry{Transfer: bank.Transfer{ID: 4, Source: 1, Destination: 3, Amount: 1950}, SourceVersion: 4, DestinationVersion: 2}
	if len(entries) != committed || !slices.Contains(entries, last) || slices.ContainsFunc(entries, func(e bank.Entry) bool { return !ids[e.ID] }) {
		t.Errorf("entries %+v, want %d with %+v", entries, committed, last)
	}
}

// TestAudits reads some accounts, one of them missing, and all.
func TestAudits(t *testing.T) {
	s, session := opened(t, 1000, 1000, 1000, 1000)
	for id, destination := range map[int64]int64{1: 2, 2: 3} {
		if r := session.Transfer(t.Context(), bank.Transfer{ID: id, Source: 1, Destination: destination, Amount: 5 * id}); r.Outcome != history.Committed {
			t.Fatalf("%+v", r)
		}
	}
	ids := []int64{3, 1, 99, 2, 4}
	want := []bank.State{{Balance: 1010, Version: 1}, {Balance: 985, Version: 2}, {}, {Balance: 1005, Version: 1}, {Balance: 1000}}
	states := slices.Repeat([]bank.State{{Balance: 7, Version: 7}}, len(ids))
	if err := s.Audit(t.Context(), ids, states); err != nil || !slices.Equal(states, want) {
		t.Errorf("%v were read as %+v, %v; want %+v", ids, states, err, want)
	}
	all, err := s.AuditAll(t.Context())
	if want := (bank.Totals{Accounts: 4, Balance: 4000, Versions: 4}); err != nil || all != want {
		t.Errorf("all accounts were read as %+v, %v; want %+v", all, err, want)
	}
	for n, ok := range map[int]bool{0: true, bank.MaxAudited: true, bank.MaxAudited + 1: false} {
		if err := s.Audit(t.Context(), make([]int64, n), make([]bank.State, n)); (err == nil) != ok {
			t.Errorf("an audit of %d accounts: %v", n, err)
		}
	}
}

// TestMembers reads every member, which all show the same.
func TestMembers(t *testing.T) {
	s, session := opened(t, 10, 10)
	session.Transfer(t.Context(), bank.Transfer{ID: 1, Source: 1, Destination: 2, Amount: 1})
	replicated, is := store.As[store.Replicated](s.Database)
	if !is {
		t.Fatal("there are no members")
	}
	members, unreachable, err := replicated.Replicas(t.Context())
	if err != nil || len(members) < 2 || len(unreachable) != 0 {
		t.Fatalf("%v, %v, %v", members, unreachable, err)
	}
	for _, m := range members {
		n := 0
		err := errors.Join(replicated.CatchUp(t.Context(), m), bank.ReadFrom(t.Context(),
			func(ctx context.Context, read func(store.Reader) error) error {
				return replicated.ViewReplica(ctx, m, read)
			},
			func(bank.Account) error { n++; return nil }, func(bank.Entry) error { n++; return nil }))
		if err != nil || n != 3 {
			t.Errorf("%v shows %d rows, %v", m, n, err)
		}
	}
}
