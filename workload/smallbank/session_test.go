package smallbank_test

import (
	"fmt"
	"slices"
	"testing"

	"assay/driver/mem"
	"assay/history"
	"assay/workload"
	"assay/workload/journal"
	"assay/workload/smallbank"
)

// TestOperations does each operation, with what it reads and leaves.
func TestOperations(t *testing.T) {
	s, err := smallbank.Opener(mem.Open)(t.Context(), workload.Target{Address: "mem://"})
	if err != nil {
		t.Fatal(err)
	}
	config := smallbank.Defaults()
	config.Customers, config.Hotspot = 20, 5
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
	state := func(balance, writer int64) smallbank.State {
		return smallbank.State{Balance: balance, Writer: writer}
	}
	do := func(id int64, kind uint8, customer, other, amount int64) smallbank.Reply {
		return session.Do(t.Context(), smallbank.Operation{ID: id, Kind: kind, Customer: customer, Other: other, Amount: amount})
	}
	nobody := smallbank.Nobody
	opening, third := do(1, smallbank.KindBalance, 2, 0, 0), do(2, smallbank.KindBalance, 3, 0, 0).CheckingRead.Balance
	saving, checking := opening.SavingRead.Balance, opening.CheckingRead.Balance
	rows := map[int64]string{}
	for _, step := range []struct {
		id            int64
		kind          uint8
		other, amount int64
		want          smallbank.Result
		row           string // of the journal
	}{
		{1, smallbank.KindBalance, 3, 0, smallbank.Result{SavingRead: state(saving, nobody), CheckingRead: state(checking, nobody)}, ""},
		{3, smallbank.KindDepositChecking, 0, 7, smallbank.Result{Checking: state(checking+7, nobody)}, "[3 2 0 7 -1 -1 -1]"},
		{4, smallbank.KindTransactSaving, 0, -saving, smallbank.Result{Saving: state(0, nobody)}, fmt.Sprint([]int64{4, 2, 0, -saving, -1, -1, -1})},
		{5, smallbank.KindWriteCheck, 0, checking + 7, smallbank.Result{SavingRead: state(0, 4), CheckingRead: state(checking+7, 3), Checking: state(0, 3)},
			fmt.Sprint([]int64{5, 2, 0, checking + 7, -1, 3, -1})},
		{6, smallbank.KindWriteCheck, 0, 9, smallbank.Result{SavingRead: state(0, 4), CheckingRead: state(0, 5), Checking: state(-10, 5)}, "[6 2 0 10 -1 5 -1]"},
		{7, smallbank.KindTransactSaving, 0, 50, smallbank.Result{Saving: state(50, 4)}, "[7 2 0 50 4 -1 -1]"},
		{8, smallbank.KindAmalgamate, 3, 0, smallbank.Result{SavingRead: state(50, 7), CheckingRead: state(-10, 6), Saving: state(0, 7), Checking: state(0, 6),
			Other: state(third+40, nobody)}, "[8 2 3 40 7 6 -1]"},
		{9, smallbank.KindBalance, 0, 0, smallbank.Result{SavingRead: state(0, 8), CheckingRead: state(0, 8)}, ""},
	} {
		r := do(step.id, step.kind, 2, step.other, step.amount)
		if r.Outcome != history.Committed || r.Err != nil || r.Result != step.want {
			t.Errorf("operation %d: %+v, want %+v", step.id, r, step.want)
		}
		if step.row != "" {
			rows[step.id] = step.row
		}
	}
	if r := do(10, smallbank.KindTransactSaving, 2, 0, -1); r.Outcome != history.Rejected || r.Class != smallbank.ClassNoFunds {
		t.Errorf("a withdrawal without funds: %+v, want it rejected", r)
	}
	if r := do(3, smallbank.KindDepositChecking, 2, 0, 7); r.Outcome != history.Failed || !r.Duplicate || r.Class != workload.ClassDuplicate {
		t.Errorf("done again: %+v, want a duplicate", r)
	}
	var left []int64
	err = s.Read(t.Context(), func(r journal.Row) error {
		switch {
		case r.Table == len(smallbank.Tables())-1:
			if want := rows[r.Values[0]]; fmt.Sprint(r.Values) != want {
				t.Errorf("the journal has %v, want %s", r.Values, want)
			}
			delete(rows, r.Values[0])
		case r.Table == smallbank.Checking && r.Values[0] <= 3:
			left = append(left, r.Values[:2]...)
		}
		return nil
	})
	if err != nil || len(rows) != 0 || len(left) != 6 || !slices.Contains(left, third+40) {
		t.Errorf("%v are not in the journal, %v is left, %v", rows, left, err)
	}
}
