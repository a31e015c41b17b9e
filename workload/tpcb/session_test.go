package tpcb_test

import (
	"slices"
	"testing"

	"assay/driver/mem"
	"assay/history"
	"assay/workload"
	"assay/workload/journal"
	"assay/workload/tpcb"
)

// TestTransactions changes the balances of one teller, one branch and one account.
func TestTransactions(t *testing.T) {
	s, err := tpcb.Opener(mem.Open)(t.Context(), workload.Target{Address: "mem://"})
	if err != nil {
		t.Fatal(err)
	}
	config := tpcb.Defaults()
	config.Accounts = 30
	work, err := config.Open(t.Context(), s, 7, 1)
	if err == nil {
		err = work.Create(t.Context(), workload.Marker{})
	}
	if err == nil {
		err = work.Load(t.Context(), func(int64, int64) {})
	}
	if err != nil {
		t.Fatal(err)
	}
	session, err := s.Session(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	var due int64
	rows := map[int64][]int64{}
	for n := range int64(6) {
		x := tpcb.Transaction{ID: 100 + n, Teller: 3, Branch: 1, Account: 5, Delta: 10 - 7*n}
		r := session.Do(t.Context(), x, n%2 == 0)
		if due += x.Delta; r.Outcome != history.Committed || r.Balance != due {
			t.Errorf("transaction %d: %+v, want the balance %d", n, r, due)
		}
		if r := session.Do(t.Context(), x, n%2 == 1); r.Outcome != history.Failed || !r.Duplicate || r.Class != workload.ClassDuplicate {
			t.Errorf("done again: %+v, want a duplicate", r)
		}
		rows[x.ID] = x.Values()
	}
	changed := map[int]int64{tpcb.Branches: 1, tpcb.Tellers: 3, tpcb.Accounts: 5}
	balance := map[int]int{tpcb.Branches: 1, tpcb.Tellers: 2, tpcb.Accounts: 2}
	counts := make([]int, len(tpcb.Tables()))
	err = s.Read(t.Context(), func(r journal.Row) error {
		counts[r.Table]++
		if r.Table == len(counts)-1 {
			if !slices.Equal(r.Values, rows[r.Values[0]]) {
				t.Errorf("the journal has %v, want %v", r.Values, rows[r.Values[0]])
			}
			return nil
		}
		want := int64(0)
		if r.Values[0] == changed[r.Table] {
			want = due
		}
		if r.Values[balance[r.Table]] != want {
			t.Errorf("%s: %v, want the balance %d", tpcb.Tables()[r.Table].Name, r.Values, want)
		}
		return nil
	})
	if err != nil || !slices.Equal(counts, []int{1, 10, 30, 6}) {
		t.Errorf("rows by table: %v, %v", counts, err)
	}
}
