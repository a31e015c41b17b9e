package smallbank

import (
	"fmt"
	"slices"
	"testing"

	"assay/driver/mem"
	"assay/history"
	"assay/internal/expect"
	"assay/store"
	"assay/workload/journal"
)

// TestSession does each operation, with what it reads and leaves.
func TestSession(t *testing.T) {
	db, err := mem.Open(t.Context(), store.Target{Address: "mem://"}, Schema())
	expect.NoError(t, err)
	c := Defaults()
	c.Customers, c.Hotspot = 20, 5
	work, err := c.Open(t.Context(), db, 7, 1)
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
	do := func(id int64, kind uint8, customer, other, amount int64) (store.Reply, Result) {
		o := Operation{ID: id, Kind: kind, Customer: customer, Other: other, Amount: amount}
		r, values := o.do(t.Context(), session)
		if r.Outcome != history.Committed {
			return r, Result{}
		}
		return r, resultFrom(values)
	}
	read := func(saving, savingWriter, checking, checkingWriter int64) [2]State {
		return [2]State{{saving, savingWriter}, {checking, checkingWriter}}
	}
	_, opening := do(1, KindBalance, 2, 0, 0)
	_, others := do(2, KindBalance, 3, 0, 0)
	saving, checking, third := opening.Read[0].Balance, opening.Read[1].Balance, others.Read[1].Balance
	rows := map[int64]string{}
	for _, step := range []struct {
		id            int64
		kind          uint8
		other, amount int64
		want          Result
		row           string // of the journal
	}{
		{1, KindBalance, 3, 0, Result{Read: read(saving, Nobody, checking, Nobody)}, ""},
		{3, KindDepositChecking, 0, 7, Result{Left: [3]State{1: {checking + 7, Nobody}}}, "[3 2 0 7 -1 -1 -1]"},
		{4, KindTransactSaving, 0, -saving, Result{Left: [3]State{{0, Nobody}}}, fmt.Sprint([]int64{4, 2, 0, -saving, -1, -1, -1})},
		{5, KindWriteCheck, 0, checking + 7, Result{read(0, 4, checking+7, 3), [3]State{1: {0, 3}}}, fmt.Sprint([]int64{5, 2, 0, checking + 7, -1, 3, -1})},
		{6, KindWriteCheck, 0, 9, Result{read(0, 4, 0, 5), [3]State{1: {-10, 5}}}, "[6 2 0 10 -1 5 -1]"},
		{7, KindTransactSaving, 0, 50, Result{Left: [3]State{{50, 4}}}, "[7 2 0 50 4 -1 -1]"},
		{8, KindAmalgamate, 3, 0, Result{read(50, 7, -10, 6), [3]State{{0, 7}, {0, 6}, {third + 40, Nobody}}}, "[8 2 3 40 7 6 -1]"},
		{9, KindBalance, 0, 0, Result{Read: read(0, 8, 0, 8)}, ""},
	} {
		r, result := do(step.id, step.kind, 2, step.other, step.amount)
		if r.Outcome != history.Committed || r.Err != nil || result != step.want {
			t.Errorf("operation %d: %+v, %+v, want %+v", step.id, r, result, step.want)
		}
		if step.row != "" {
			rows[step.id] = step.row
		}
	}
	if r, _ := do(10, KindTransactSaving, 2, 0, -1); r.Outcome != history.Rejected || r.Class != ClassNoFunds {
		t.Errorf("a withdrawal without funds: %+v, want it rejected", r)
	}
	if r, _ := do(3, KindDepositChecking, 2, 0, 7); r.Outcome != history.Failed || !r.Duplicate || r.Class != store.ClassDuplicate {
		t.Errorf("done again: %+v, want a duplicate", r)
	}
	var left []int64
	err = state().From(db.View)(t.Context(), func(r journal.Row) error {
		switch {
		case r.Table == len(Tables())-1:
			if want := rows[r.Values[0]]; fmt.Sprint(r.Values) != want {
				t.Errorf("the journal has %v, want %s", r.Values, want)
			}
			delete(rows, r.Values[0])
		case r.Table == Checking && r.Values[0] <= 3:
			left = append(left, r.Values[:2]...)
		}
		return nil
	})
	if err != nil || len(rows) != 0 || len(left) != 6 || !slices.Contains(left, third+40) {
		t.Errorf("%v are not in the journal, %v is left, %v", rows, left, err)
	}
}
