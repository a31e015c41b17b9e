package tpcb

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"testing"

	"assay/check"
	"assay/history"
	"assay/internal/expect"
	"assay/workload"
	"assay/workload/definition"
	"assay/workload/journal"
)

const seed = 5

func config() Config { return Config{Scale: 2, Accounts: 4, Loaders: 1} }

// story is a run of one client, done one transaction after the other.
type story struct {
	transactions *Transactions
	ops          []history.Op
	tables       [History][][]int64
	rows         []Transaction
	// longer is what a table's fillers have too much, later what the moments of rows do.
	longer [History]string
	later  int64
}

func told(t *testing.T) *story {
	t.Helper()
	transactions := &Transactions{config(), seed}
	y := &story{transactions: transactions}
	for table := range y.tables {
		for i := int64(1); i <= transactions.rows(table); i++ {
			y.tables[table] = append(y.tables[table], transactions.opening(table, i))
		}
	}
	for seq := range uint64(60) {
		x := transactions.At(workload.OperationID(0, seq))
		for table, key := range [...]int64{Branches: x.Branch, Tellers: x.Teller, Accounts: x.Account} {
			*y.balance(table, key) += x.Delta
		}
		y.rows = append(y.rows, x)
		y.ops = append(y.ops, history.Op{Seq: seq, Attempt: 1, Last: true, Kind: kindTransaction, Outcome: history.Committed, Final: history.Committed,
			Values: []int64{*y.balance(Accounts, x.Account), moment(x.ID)}})
	}
	return y
}

func (y *story) balance(table int, key int64) *int64 {
	row := y.tables[table][key-1]
	return &row[len(row)-1]
}

func (y *story) end(op int, outcome history.Outcome) {
	y.ops[op].Outcome, y.ops[op].Final, y.ops[op].Values = outcome, outcome, nil
}

// moment is what the row of a transaction has as its mtime.
func moment(id int64) int64 { return 1_700_000_000_000_000 + id%1000 }

func (y *story) read(_ context.Context, row func(journal.Row) error) error {
	var err error
	for table, rows := range y.tables {
		for _, values := range rows {
			err = errors.Join(err, row(journal.Row{Table: table, Values: append(slices.Clone(values), workload.Sum(filler(table)+y.longer[table]))}))
		}
	}
	for i := range y.rows {
		err = errors.Join(err, row(journal.Row{Table: History, Values: append(y.rows[i].Values(), moment(y.rows[i].ID)+y.later)}))
	}
	return err
}

// undo takes a transaction back from its balances.
func (y *story) undo(x Transaction) {
	*y.balance(Branches, x.Branch) -= x.Delta
	*y.balance(Tellers, x.Teller) -= x.Delta
	*y.balance(Accounts, x.Account) -= x.Delta
}

// TestJudge: each wrong run is found by the checks that are named, and by no other; its
// valid twins by none.
func TestJudge(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(*story)
		want   []string
	}{
		{"all went well", func(*story) {}, nil},
		{"an unknown transaction was done", func(y *story) { y.end(7, history.Unknown) }, nil},
		{"one without a record was done", func(y *story) { y.ops = y.ops[:59] }, nil},
		{"an unknown transaction explains one balance, and another is wrong too", func(y *story) {
			last := len(y.rows) - 1
			y.end(slices.IndexFunc(y.rows, func(x Transaction) bool { return x.Account == y.rows[last].Account }), history.Unknown)
			y.ops[last].Values[0]++
		}, []string{"order"}},
		{"an unknown transaction was not done", func(y *story) { y.end(59, history.Unknown); y.undo(y.rows[59]); y.rows = y.rows[:59] }, nil},
		{"a row is lost", func(y *story) { y.rows = y.rows[:59] }, []string{"operations", "total", "balances"}},
		{"a transaction is lost with its balances", func(y *story) { y.undo(y.rows[59]); y.rows = y.rows[:59] }, []string{"operations"}},
		{"an update is lost", func(y *story) { y.undo(y.rows[3]) }, []string{"total", "balances"}},
		{"a teller was left out", func(y *story) { *y.balance(Tellers, y.rows[3].Teller) -= y.rows[3].Delta }, []string{"total", "balances"}},
		{"two tellers were mistaken", func(y *story) { *y.balance(Tellers, 1)--; *y.balance(Tellers, 2)++ }, []string{"balances"}},
		{"a row is there twice", func(y *story) { y.rows = append(y.rows, y.rows[9]) }, []string{"operations", "total", "balances"}},
		{"a failed transaction has a row", func(y *story) { y.end(59, history.Failed) }, []string{"operations"}},
		{"a row of nobody's", func(y *story) { y.rows = append(y.rows, Transaction{ID: workload.OperationID(4, 4)}) }, []string{"operations"}},
		{"a row is altered", func(y *story) { y.rows[8].Delta++ }, []string{"operations", "total", "balances"}},
		{"an account is not there", func(y *story) { *y.balance(Accounts, 8) = 0; y.tables[Accounts] = y.tables[Accounts][:7] }, []string{"total"}},
		{"an account has another branch", func(y *story) { y.tables[Accounts][2][1]++ }, []string{"total"}},
		{"a filler is longer", func(y *story) { y.longer[Tellers] = " " }, []string{"total"}},
		{"rows are of another moment", func(y *story) { y.later = 1 }, []string{"operations"}},
		{"a balance was answered that nobody left", func(y *story) { y.ops[20].Values[0]++ }, []string{"order"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			y := told(t)
			test.change(y)
			j := y.judge(t, "")
			var violated []string
			for _, r := range j.Results {
				if r.Verdict == check.Violated {
					violated = append(violated, r.Name)
				} else if r.Verdict != check.Valid {
					t.Errorf("%s is %v: %s", r.Name, r.Verdict, r.Detail)
				}
			}
			if !slices.Equal(violated, test.want) {
				t.Errorf("violated %v, want %v: %+v", violated, test.want, j.Results)
			}
		})
	}
	for _, r := range told(t).judge(t, "a client never came back").Results[:3] {
		if r.Verdict != check.Unknown {
			t.Errorf("in flight: %s is %v", r.Name, r.Verdict)
		}
	}
}

func (y *story) judge(t *testing.T, inFlight string) definition.Judgement {
	t.Helper()
	folder := t.TempDir()
	e := definition.Evidence{History: filepath.Join(folder, "history"), State: filepath.Join(folder, state().File), InFlight: inFlight}
	w, err := history.Create(e.History, history.Header{Run: "told"})
	err = errors.Join(err, w.Reserve(history.Reservation{UpTo: 100}))
	for i := range y.ops {
		err = errors.Join(err, w.Record(&y.ops[i]))
	}
	if err = errors.Join(err, w.Close(), state().Save(t.Context(), e.State, y.read, func(int64) {})); err != nil {
		t.Fatal(err)
	}
	c := config()
	j, err := c.Judge(t.Context(), seed, e)
	expect.NoError(t, err)
	return j
}

// TestTransactionsAreAsThoseOfPgbench: what is drawn has the ranges of its random().
func TestTransactionsAreAsThoseOfPgbench(t *testing.T) {
	c := Defaults()
	c.Scale = 3
	transactions := &Transactions{c, seed}
	low, high := transactions.At(0), transactions.At(0)
	for id := range int64(200_000) {
		x := transactions.At(id)
		low.Account, high.Account = min(low.Account, x.Account), max(high.Account, x.Account)
		low.Teller, high.Teller = min(low.Teller, x.Teller), max(high.Teller, x.Teller)
		low.Branch, high.Branch = min(low.Branch, x.Branch), max(high.Branch, x.Branch)
		low.Delta, high.Delta = min(low.Delta, x.Delta), max(high.Delta, x.Delta)
	}
	if low.Account < 1 || low.Account > 100 || high.Account < 299_900 || high.Account > 300_000 ||
		low.Teller != 1 || high.Teller != 30 || low.Branch != 1 || high.Branch != 3 || low.Delta != -5000 || high.Delta != 5000 {
		t.Errorf("from %+v to %+v", low, high)
	}
}
