package drivertest

import (
	"slices"
	"strings"
	"testing"

	"assay/history"
	"assay/store"
	"assay/workload/bank"
)

// good is a small state with its answers. Transfer 1 moved 10 from account 1 to 2, transfer 2 moved
// 5 back, 3 was rejected, 4 failed, 5 is unknown and absent.
func good() (*Transfers, Snapshot) {
	l := NewTransfers([]bank.Account{{ID: 1, Balance: 100}, {ID: 2, Balance: 100}})
	l.Record(bank.Transfer{ID: 1, Source: 1, Destination: 2, Amount: 10}, bank.Reply{Reply: store.Reply{Outcome: history.Committed}, Source: bank.State{Balance: 90, Version: 1}, Destination: bank.State{Balance: 110, Version: 1}})
	l.Record(bank.Transfer{ID: 2, Source: 2, Destination: 1, Amount: 5}, bank.Reply{Reply: store.Reply{Outcome: history.Committed}, Source: bank.State{Balance: 105, Version: 2}, Destination: bank.State{Balance: 95, Version: 2}})
	l.Record(bank.Transfer{ID: 3, Source: 1, Destination: 2, Amount: 1000}, bank.Reply{Reply: store.Reply{Outcome: history.Rejected}})
	l.Record(bank.Transfer{ID: 4, Source: 1, Destination: 2, Amount: 4}, bank.Reply{Reply: store.Reply{Outcome: history.Failed}})
	l.Record(bank.Transfer{ID: 5, Source: 1, Destination: 2, Amount: 5}, bank.Reply{})
	return l, Snapshot{
		Accounts: []bank.Account{{ID: 1, Balance: 95, Version: 2}, {ID: 2, Balance: 105, Version: 2}},
		Entries: []bank.Entry{
			{Transfer: bank.Transfer{ID: 2, Source: 2, Destination: 1, Amount: 5}, SourceVersion: 2, DestinationVersion: 2},
			{Transfer: bank.Transfer{ID: 1, Source: 1, Destination: 2, Amount: 10}, SourceVersion: 1, DestinationVersion: 1},
		},
	}
}

func TestLedgerFindsNothingWrong(t *testing.T) {
	l, read := good()
	if problems := l.Problems(read); len(problems) != 0 {
		t.Errorf("found %v", problems)
	}
	// The unknown transfer may also be present.
	read.Accounts = []bank.Account{{ID: 1, Balance: 90, Version: 3}, {ID: 2, Balance: 110, Version: 3}}
	read.Entries = append(read.Entries, bank.Entry{Transfer: bank.Transfer{ID: 5, Source: 1, Destination: 2, Amount: 5},
		SourceVersion: 3, DestinationVersion: 3})
	if problems := l.Problems(read); len(problems) != 0 {
		t.Errorf("found %v", problems)
	}
}

// TestLedgerConvicts spoils the state in one way each time.
func TestLedgerConvicts(t *testing.T) {
	for name, s := range map[string]struct {
		want string
		do   func(*Transfers, *Snapshot)
	}{
		"lost":            {"1 was acknowledged and is not there", func(_ *Transfers, s *Snapshot) { s.Entries = s.Entries[:1] }},
		"doubled":         {"is there twice", func(_ *Transfers, s *Snapshot) { s.Entries = append(s.Entries, s.Entries[0]) }},
		"altered":         {"sent was", func(_ *Transfers, s *Snapshot) { s.Entries[0].Amount++ }},
		"foreign row":     {"foreign row", func(_ *Transfers, s *Snapshot) { s.Entries[0].ID = 77 }},
		"foreign account": {"3 accounts are there, want 2", func(_ *Transfers, s *Snapshot) { s.Accounts = append(s.Accounts, bank.Account{ID: 9}) }},
		"missing account": {"1 accounts are there, want 2", func(_ *Transfers, s *Snapshot) { s.Accounts = s.Accounts[:1] }},
		"balance":         {"{ID:1 Balance:96 Version:2} is there", func(_ *Transfers, s *Snapshot) { s.Accounts[0].Balance++ }},
		"version":         {"{ID:1 Balance:95 Version:3} is there", func(_ *Transfers, s *Snapshot) { s.Accounts[0].Version++ }},
		"lost update":     {"version 1 where 2 was due", func(_ *Transfers, s *Snapshot) { s.Entries[0].SourceVersion = 1 }},
		"failed, there": {"is there, and it failed", func(_ *Transfers, s *Snapshot) {
			s.Entries = append(s.Entries, bank.Entry{Transfer: bank.Transfer{ID: 4, Source: 1, Destination: 2, Amount: 4}})
		}},
		"other balance told": {"was told to leave it as {balance:91", func(l *Transfers, _ *Snapshot) { l.sent[1].told[0].balance++ }},
		"other version told": {"was told to leave it as", func(l *Transfers, _ *Snapshot) { l.sent[1].told[1].version++ }},
		"below zero":         {"account 1: -10 after version 1", func(l *Transfers, _ *Snapshot) { l.opening[1] = 0 }},
		"duplicate of nothing": {"5 was acknowledged and is not there", func(l *Transfers, _ *Snapshot) {
			l.Record(bank.Transfer{ID: 5, Source: 1, Destination: 2, Amount: 5}, bank.Reply{Reply: store.Reply{Outcome: history.Failed, Duplicate: true}})
		}},
	} {
		l, read := good()
		s.do(l, &read)
		if problems := l.Problems(read); !slices.ContainsFunc(problems, func(p string) bool { return strings.Contains(p, s.want) }) {
			t.Errorf("%s: found %q, want %q", name, problems, s.want)
		}
	}
}
