package tpcb

import (
	"slices"
	"testing"

	"assay/driver/mem"
	"assay/history"
	"assay/internal/expect"
	"assay/store"
	"assay/workload/journal"
)

// TestTransactions changes the balances of one teller, one branch and one account.
func TestTransactions(t *testing.T) {
	db, err := mem.Open(t.Context(), store.Target{Address: "mem://"}, Schema())
	expect.NoError(t, err)
	config := Config{Scale: 1, Accounts: 30, Loaders: 4}
	work, err := config.Open(t.Context(), db, 7, 1)
	if err == nil {
		err = work.Create(t.Context(), store.Marker{})
	}
	if err == nil {
		err = work.Load(t.Context(), func(int64, int64) {})
	}
	expect.NoError(t, err)
	session, err := db.Session(t.Context(), statements())
	expect.NoError(t, err)
	defer session.Close()
	var due int64
	rows := map[int64][]int64{}
	for n := range int64(6) {
		x := Transaction{ID: 100 + n, Teller: 3, Branch: 1, Account: 5, Delta: 10 - 7*n}
		r, balance := x.do(t.Context(), session, n%2 == 0, n < 3)
		if due += x.Delta; r.Outcome != history.Committed || balance[0] != due {
			t.Errorf("transaction %d: %+v, the balance %d, want %d", n, r, balance, due)
		}
		if r, _ := x.do(t.Context(), session, n%2 == 1, n < 3); r.Outcome != history.Failed || !r.Duplicate || r.Class != store.ClassDuplicate {
			t.Errorf("done again: %+v, want a duplicate", r)
		}
		rows[x.ID] = append(x.Values(), balance[1])
	}
	changed := map[int]int64{Branches: 1, Tellers: 3, Accounts: 5}
	column := map[int]int{Branches: 1, Tellers: 2, Accounts: 2}
	counts := make([]int, len(Tables()))
	err = state().From(db.View)(t.Context(), func(r journal.Row) error {
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
		if r.Values[column[r.Table]] != want {
			t.Errorf("%s: %v, want the balance %d", Tables()[r.Table].Name, r.Values, want)
		}
		return nil
	})
	if err != nil || !slices.Equal(counts, []int{1, 10, 30, 6}) {
		t.Errorf("rows by table: %v, %v", counts, err)
	}
}
