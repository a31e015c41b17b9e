package drivertest

import (
	"slices"
	"strings"
	"testing"

	"assay/history"
	"assay/workload"
	"assay/workload/bank"
)

// good is a small state with its answers: transfer 1 moved 10 from account 1
// to 2, transfer 2 moved 5 back, transfer 3 was rejected, 4 failed, 5 is
// unknown and not there.
func good() (*Transfers, Snapshot) {
	l := NewTransfers(accountsOf(100, 100))
	l.Record(bank.Transfer{ID: 1, Source: 1, Destination: 2, Amount: 10}, bank.Reply{Reply: workload.Reply{Outcome: history.Committed}, Source: bank.State{Balance: 90, Version: 1}, Destination: bank.State{Balance: 110, Version: 1}})
	l.Record(bank.Transfer{ID: 2, Source: 2, Destination: 1, Amount: 5}, bank.Reply{Reply: workload.Reply{Outcome: history.Committed}, Source: bank.State{Balance: 105, Version: 2}, Destination: bank.State{Balance: 95, Version: 2}})
	l.Record(bank.Transfer{ID: 3, Source: 1, Destination: 2, Amount: 1000}, bank.Reply{Reply: workload.Reply{Outcome: history.Rejected}})
	l.Record(bank.Transfer{ID: 4, Source: 1, Destination: 2, Amount: 4}, bank.Reply{Reply: workload.Reply{Outcome: history.Failed}})
	l.Record(bank.Transfer{ID: 5, Source: 1, Destination: 2, Amount: 5}, bank.Reply{})
	return l, Snapshot{
		Accounts: []bank.Account{{ID: 1, Balance: 95, Version: 2}, {ID: 2, Balance: 105, Version: 2}},
		Entries: []bank.Entry{
			{Transfer: bank.Transfer{ID: 2, Source: 2, Destination: 1, Amount: 5}, SourceVersion: 2, DestinationVersion: 2},
			{Transfer: bank.Transfer{ID: 1, Source: 1, Destination: 2, Amount: 10}, SourceVersion: 1, DestinationVersion: 1},
		},
	}
}

func TestTransfersFindsNothingWrong(t *testing.T) {
	l, read := good()
	if problems := l.Problems(read); len(problems) != 0 {
		t.Errorf("found %v", problems)
	}
	// The unknown transfer may be there just as well.
	read.Accounts = []bank.Account{{ID: 1, Balance: 90, Version: 3}, {ID: 2, Balance: 110, Version: 3}}
	read.Entries = append(read.Entries, bank.Entry{Transfer: bank.Transfer{ID: 5, Source: 1, Destination: 2, Amount: 5},
		SourceVersion: 3, DestinationVersion: 3})
	for range 2 { // asking again finds the same
		if problems := l.Problems(read); len(problems) != 0 {
			t.Errorf("found %v", problems)
		}
	}
}

// TestTransfersConvicts spoils the state in one way each.
func TestTransfersConvicts(t *testing.T) {
	spoil := map[string]struct {
		want string
		do   func(*Transfers, *Snapshot)
	}{
		"lost":            {"committed, no row", func(_ *Transfers, s *Snapshot) { s.Entries = s.Entries[:1] }},
		"doubled":         {"2 rows", func(_ *Transfers, s *Snapshot) { s.Entries = append(s.Entries, s.Entries[0]) }},
		"altered":         {"altered row", func(_ *Transfers, s *Snapshot) { s.Entries[0].Amount++ }},
		"foreign row":     {"foreign row", func(_ *Transfers, s *Snapshot) { s.Entries[0].ID = 77 }},
		"foreign account": {"foreign account", func(_ *Transfers, s *Snapshot) { s.Accounts = append(s.Accounts, bank.Account{ID: 9}) }},
		"missing account": {"account 2 is missing", func(_ *Transfers, s *Snapshot) { s.Accounts = s.Accounts[:1] }},
		"order":           {"was read after", func(_ *Transfers, s *Snapshot) { slices.Reverse(s.Accounts) }},
		"balance":         {"account 1: balance", func(_ *Transfers, s *Snapshot) { s.Accounts[0].Balance++ }},
		"version":         {"account 1: balance", func(_ *Transfers, s *Snapshot) { s.Accounts[0].Version++ }},
		"lost update":     {"version 1 where 2 was due", func(_ *Transfers, s *Snapshot) { s.Entries[0].SourceVersion = 1 }},
		"other version":   {"were acknowledged", func(_ *Transfers, s *Snapshot) { s.Entries[0].SourceVersion = 3 }},
		"failed, there": {"failed, but a row is there", func(_ *Transfers, s *Snapshot) {
			s.Entries = append(s.Entries, bank.Entry{Transfer: bank.Transfer{ID: 4, Source: 1, Destination: 2, Amount: 4}})
		}},
		"other balance said": {"acknowledged balance", func(l *Transfers, _ *Snapshot) { l.sent[1].committed.Source.Balance++ }},
		"below zero": {"account 1: -10 after version 1", func(l *Transfers, s *Snapshot) {
			l.opening[1] = 0
			s.Accounts[0].Balance -= 100
		}},
		"duplicate of nothing": {"no earlier attempt", func(l *Transfers, _ *Snapshot) {
			l.Record(bank.Transfer{ID: 4, Source: 1, Destination: 2, Amount: 4}, bank.Reply{Reply: workload.Reply{Outcome: history.Failed, Duplicate: true}})
		}},
		"committed twice": {"committed before", func(l *Transfers, _ *Snapshot) { l.Record(l.sent[1].transfer, l.sent[1].committed) }},
	}
	for name, s := range spoil {
		l, read := good()
		s.do(l, &read)
		if problems := strings.Join(l.Problems(read), "\n"); !strings.Contains(problems, s.want) {
			t.Errorf("%s: found %q, want %q", name, problems, s.want)
		}
	}
}

func TestTransfersTakesDuplicateForCommitted(t *testing.T) {
	l, read := good()
	l.Record(bank.Transfer{ID: 5, Source: 1, Destination: 2, Amount: 5}, bank.Reply{Reply: workload.Reply{Outcome: history.Failed, Duplicate: true}})
	if problems := strings.Join(l.Problems(read), "\n"); !strings.Contains(problems, "transfer 5: committed, no row") {
		t.Errorf("found %q", problems)
	}
}
