package smallbank

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"assay/check"
	"assay/history"
	"assay/internal/expect"
	"assay/store"
	"assay/workload"
	"assay/workload/definition"
	"assay/workload/journal"
)

const seed = 11

func config() Config {
	c := Defaults()
	c.Customers, c.Hotspot = 4, 3
	return c
}

// story is a run of one client, done one operation after the other.
type story struct {
	operations *Operations
	ops        []history.Op
	accounts   map[int64]State // by account
	previous   map[int64]int64
	renamed    string // what names have too much
	entries    []Entry
}

func told(t *testing.T, operations int) *story {
	t.Helper()
	s := &Operations{config(), seed}
	y := &story{operations: s, accounts: map[int64]State{}, previous: map[int64]int64{}}
	for customer := int64(1); customer <= 4; customer++ {
		for table := Saving; table <= Checking; table++ {
			y.accounts[account(table, customer)], y.previous[account(table, customer)] = State{s.Opening(table, customer), Nobody}, Nobody
		}
	}
	for seq := range operations {
		y.do(s.At(workload.OperationID(0, uint64(seq))))
	}
	return y
}

// do does an operation as an honest database would.
func (y *story) do(o Operation) {
	saving, checking, other := account(Saving, o.Customer), account(Checking, o.Customer), account(Checking, o.Other)
	outcome := history.Committed
	var r Result
	change := func(at, balance int64) State {
		was := y.accounts[at]
		y.accounts[at], y.previous[at] = State{balance, o.ID}, was.Writer
		return State{balance, was.Writer}
	}
	if o.Reads() {
		r.Read = [2]State{y.accounts[saving], y.accounts[checking]}
	}
	switch amount := o.Charged(&r); {
	case o.Kind == KindTransactSaving && y.accounts[saving].Balance+amount < 0:
		outcome = history.Rejected
	case o.Kind == KindTransactSaving:
		r.Left[0] = change(saving, y.accounts[saving].Balance+amount)
	case o.Kind == KindDepositChecking:
		r.Left[1] = change(checking, y.accounts[checking].Balance+amount)
	case o.Kind == KindWriteCheck:
		r.Left[1] = change(checking, y.accounts[checking].Balance-amount)
	case o.Kind == KindAmalgamate:
		r.Left[0], r.Left[1] = change(saving, 0), change(checking, 0)
		r.Left[2] = change(other, y.accounts[other].Balance+amount)
	}
	client, seq, _ := workload.SplitOperationID(o.ID)
	at := int64(len(y.ops)) * 10
	op := history.Op{Client: client, Seq: seq, Attempt: 1, Last: true, Kind: o.Kind, Outcome: outcome, Final: outcome, First: at, Start: at, End: at + 5}
	if outcome == history.Committed {
		op.Values = r.values()
		if o.Writes() {
			y.entries = append(y.entries, EntryOf(&o, &r))
		}
	}
	y.ops = append(y.ops, op)
}

// find is the place of the first operation of a kind that was committed, in the history
// and in the journal.
func (y *story) find(kind uint8) (op, row int) {
	op = slices.IndexFunc(y.ops, func(o history.Op) bool { return o.Kind == kind && o.Outcome == history.Committed })
	id := workload.OperationID(0, y.ops[op].Seq)
	return op, slices.IndexFunc(y.entries, func(e Entry) bool { return e.ID == id })
}

func (y *story) read(_ context.Context, row func(journal.Row) error) error {
	var err error
	for customer := int64(1); customer <= 4; customer++ {
		err = errors.Join(err, row(journal.Row{Table: Account, Values: []int64{customer, workload.Sum(CustomerName(customer) + y.renamed)}}))
		for table := Saving; table <= Checking; table++ {
			s := y.accounts[account(table, customer)]
			err = errors.Join(err, row(journal.Row{Table: table, Values: []int64{customer, s.Balance, s.Writer, y.previous[account(table, customer)]}}))
		}
	}
	for i := range y.entries {
		err = errors.Join(err, row(journal.Row{Table: Journal, Values: y.entries[i].Values()}))
	}
	return err
}

func (y *story) judge(t *testing.T, c Config, promise string) definition.Judgement {
	t.Helper()
	return y.judgeState(t, c, promise, true)
}

// judgeState has no state if it was not read back.
func (y *story) judgeState(t *testing.T, c Config, promise string, readBack bool) definition.Judgement {
	t.Helper()
	folder := t.TempDir()
	e := definition.Evidence{History: filepath.Join(folder, "history"), State: filepath.Join(folder, state().File), Promise: promise}
	w, err := history.Create(e.History, history.Header{Run: "told"})
	err = errors.Join(err, w.Reserve(history.Reservation{UpTo: 1000}))
	for i := range y.ops {
		err = errors.Join(err, w.Record(&y.ops[i]))
	}
	if readBack {
		err = errors.Join(err, state().Save(t.Context(), e.State, y.read, func(int64) {}))
	}
	expect.NoError(t, errors.Join(err, w.Close()))
	j, err := c.Judge(t.Context(), seed, e)
	expect.NoError(t, err)
	return j
}

// kinds are the kinds of evidence of all checks, each once, and which verdicts there were.
func kinds(results []check.Result) (found []string, verdicts [3]int) {
	for _, r := range results {
		verdicts[r.Verdict]++
		for _, e := range r.Evidence {
			if !slices.Contains(found, r.Name+" "+e.Kind) {
				found = append(found, r.Name+" "+e.Kind)
			}
		}
	}
	return found, verdicts
}

func TestJudge(t *testing.T) {
	unsure := func(y *story, kind uint8) int {
		op, _ := y.find(kind)
		y.ops[op].Outcome, y.ops[op].Final, y.ops[op].Values = history.Unknown, history.Unknown, nil
		return op
	}
	for _, test := range []struct {
		name   string
		change func(*story)
		want   []string // one of these must be found, and all that is found begins with one
	}{
		{"all went well", func(*story) {}, nil},
		{"an unknown operation that was done", func(y *story) { unsure(y, KindAmalgamate) }, nil},
		{"an unknown operation that was not", func(y *story) {
			o := y.operations.At(workload.OperationID(1, 0))
			y.ops = append(y.ops, history.Op{Client: 1, Attempt: 1, Last: true, Kind: o.Kind})
		}, nil},
		{"one without a record", func(y *story) { y.ops = y.ops[:len(y.ops)-1] }, nil},
		{"a row is lost", func(y *story) {
			_, row := y.find(KindDepositChecking)
			y.entries = slices.Delete(y.entries, row, row+1)
		},
			[]string{"operations lost", "accounts"}},
		{"a row is there twice", func(y *story) { y.entries = append(y.entries, y.entries[3]) }, []string{"operations doubled"}},
		{"a failed operation has a row", func(y *story) {
			op, _ := y.find(KindWriteCheck)
			y.ops[op].Outcome, y.ops[op].Final, y.ops[op].Values = history.Failed, history.Failed, nil
		}, []string{"operations failed", "isolation G1a"}},
		{"a row of nobody's", func(y *story) { y.entries = append(y.entries, Entry{ID: workload.OperationID(9, 5)}) }, []string{"operations foreign", "accounts"}},
		{"a penalty that was not due", func(y *story) {
			_, row := y.find(KindWriteCheck)
			o := y.operations.At(y.entries[row].ID)
			y.entries[row].Amount = 2*o.Amount + Penalty - y.entries[row].Amount
		}, []string{"operations altered", "accounts"}},
		{"a balance is off", func(y *story) { s := y.accounts[3]; s.Balance++; y.accounts[3] = s }, []string{"accounts balance"}},
		{"an account tells of another write before it", func(y *story) { y.previous[3]++ }, []string{"accounts previous"}},
		{"customers have other names", func(y *story) { y.renamed = "s" }, []string{"accounts altered"}},
		{"half of an Amalgamate", func(y *story) {
			_, row := y.find(KindAmalgamate)
			at := account(Checking, y.entries[row].Other)
			s := y.accounts[at]
			s.Balance -= y.entries[row].Amount
			y.accounts[at] = s
		}, []string{"accounts balance"}},
		{"a balance that nobody left", func(y *story) { op, _ := y.find(KindBalance); y.ops[op].Values[0]++ }, []string{"accounts read"}},
		{"an answer that is not so", func(y *story) { op, _ := y.find(KindDepositChecking); y.ops[op].Values[6]++ }, []string{"accounts acknowledged"}},
		{"an update is overwritten", func(y *story) {
			_, row := y.find(KindDepositChecking)
			first := y.entries[row]
			next := slices.IndexFunc(y.entries, func(e Entry) bool { return e.Previous[1] == first.ID })
			y.entries[next].Previous[1] = first.Previous[1]
			seq := slices.IndexFunc(y.ops, func(o history.Op) bool { return workload.OperationID(0, o.Seq) == y.entries[next].ID })
			y.ops[seq].Values[7] = first.Previous[1]
		}, []string{"accounts overwritten", "isolation", "accounts"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			y := told(t, 120)
			test.change(y)
			j := y.judge(t, config(), "serializable")
			found, verdicts := kinds(j.Results)
			if test.want == nil && verdicts != [3]int{check.Valid: 3} {
				t.Errorf("found %v: %+v", found, j.Results)
			}
			if test.want != nil && !slices.ContainsFunc(found, func(f string) bool { return strings.HasPrefix(f, test.want[0]) }) {
				t.Errorf("found %v, want %v", found, test.want)
			}
			for _, f := range found {
				if !slices.ContainsFunc(test.want, func(w string) bool { return strings.HasPrefix(f, w) }) {
					t.Errorf("found %s, too", f)
				}
			}
		})
	}
}

// TestUpdatesSeeTheNewestRow: under snapshot reads an update may find another row than the
// plain read before it, which snapshot isolation forbids.
func TestUpdatesSeeTheNewestRow(t *testing.T) {
	y := told(t, 0)
	before := y.accounts[account(Checking, 1)]
	total := before.Balance + y.accounts[account(Saving, 1)].Balance
	for client, kind := range []uint8{KindDepositChecking, KindWriteCheck} {
		seq := uint64(0)
		for o := y.operations.At(workload.OperationID(client, seq)); o.Customer != 1 || o.Kind != kind || o.Amount > total; seq++ {
			o = y.operations.At(workload.OperationID(client, seq+1))
		}
		y.do(y.operations.At(workload.OperationID(client, seq)))
	}
	y.ops[1].Values[2], y.ops[1].Values[3] = before.Balance, before.Writer
	for i := range y.ops { // at the same time
		y.ops[i].First, y.ops[i].Start, y.ops[i].End = 0, 0, 100
	}
	for promise, want := range map[string]check.Verdict{"snapshot-reads": check.Allowed, "snapshot-isolation": check.Violated} {
		if j := y.judge(t, config(), promise); j.Results[2].Verdict != want {
			t.Errorf("%s: %+v", promise, j.Results)
		}
	}
}

// TestWriteSkew is the anomaly of the paper: a Balance sees a TransactSaving and not the
// WriteCheck that came before it.
func TestWriteSkew(t *testing.T) {
	y := told(t, 0)
	pick := func(client int, suits func(Operation) bool) Operation {
		for seq := uint64(0); ; seq++ {
			if o := y.operations.At(workload.OperationID(client, seq)); o.Customer == 1 && suits(o) {
				return o
			}
		}
	}
	total := y.accounts[account(Saving, 1)].Balance + y.accounts[account(Checking, 1)].Balance
	before := y.accounts[account(Checking, 1)]
	check1 := pick(0, func(o Operation) bool { return o.Kind == KindWriteCheck && o.Amount > total/2 })
	y.do(check1)
	y.do(pick(1, func(o Operation) bool { return o.Kind == KindTransactSaving && o.Amount > 0 }))
	y.do(pick(2, func(o Operation) bool { return o.Kind == KindBalance }))
	seen := y.ops[2].Values
	seen[2], seen[3] = before.Balance, before.Writer
	for i := range y.ops { // at the same time
		y.ops[i].First, y.ops[i].Start, y.ops[i].End = 0, 0, 100
	}
	c := config()
	j := y.judge(t, c, "snapshot-isolation")
	if of := j.Results[2]; of.Verdict != check.Allowed || of.Evidence[0].Kind != "G2-item" || !strings.Contains(of.Evidence[0].Text, "write skew: the WriteCheck T") {
		t.Errorf("under snapshot isolation: %+v", j.Results)
	}
	c.Model = "serializable"
	j = y.judge(t, c, "snapshot-isolation")
	isolation := j.Results[2]
	if isolation.Verdict != check.Violated || isolation.Evidence[0].Kind != "G2-item" || !strings.Contains(isolation.Evidence[0].Text, "write skew: the WriteCheck T") {
		t.Errorf("under serializable: %+v", isolation)
	}
	if steps := isolation.Evidence[0].Cycle.Steps; !strings.Contains(steps[0].Text, " of customer 1: ") && !strings.Contains(steps[0].Text, " for customer 1: ") {
		t.Errorf("the cycle does not name the operations: %+v", steps)
	}
	if j.Asked != "serializable" || check.Combine(j.Promised) != check.Allowed {
		t.Errorf("asked %q, promised %+v", j.Asked, j.Promised)
	}
	y.ops[2].Values[2], y.ops[2].Values[3] = y.accounts[account(Checking, 1)].Balance, check1.ID // its valid twin
	if found, verdicts := kinds(y.judge(t, c, "snapshot-isolation").Results); verdicts != [3]int{check.Valid: 3} {
		t.Errorf("the valid twin: %v", found)
	}
}

// TestCutState: without the state nothing is said of what rests on it.
func TestCutState(t *testing.T) {
	j := told(t, 60).judgeState(t, config(), "serializable", false)
	if _, verdicts := kinds(j.Results); verdicts != [3]int{check.Unknown: 2, check.Valid: 1} {
		t.Errorf("%+v", j.Results)
	}
}

// TestCommittedOnlyByConfirmation: if a later attempt met the row of the first, the operation is
// committed, though no attempt was and no row was read back. Reads of its value are right.
func TestCommittedOnlyByConfirmation(t *testing.T) {
	for _, readBack := range []bool{false, true} {
		y := told(t, 120)
		op, row := y.find(KindDepositChecking)
		first, again := y.ops[op], y.ops[op]
		first.Last, first.Values, first.Outcome, first.Final = false, nil, history.Unknown, history.Unknown
		again.Attempt, again.Values, again.Outcome, again.Final = 2, nil, history.Failed, history.Committed
		y.ops = slices.Replace(y.ops, op, op+1, first, again)
		if readBack { // and one loss, which alone may be found
			y.entries = slices.Delete(y.entries, row, row+1)
		}
		j := y.judgeState(t, config(), "serializable", readBack)
		if isolation := j.Results[2]; isolation.Verdict != check.Valid {
			t.Errorf("read back %v: %+v", readBack, isolation)
		}
		if lost := j.Results[0]; (lost.Found == 1) != readBack {
			t.Errorf("read back %v: %+v", readBack, lost)
		}
	}
}

func TestOperations(t *testing.T) {
	c := Defaults()
	s := &Operations{c, seed}
	const n = 100_000
	counts, hot := map[uint8]int{}, 0
	for seq := range uint64(n) {
		o := s.At(workload.OperationID(3, seq))
		counts[o.Kind]++
		if o.Customer <= c.hotspot() {
			hot++
		}
		if o.Customer < 1 || o.Customer > c.Customers || o.Customer == o.Other || (o.Other != 0) != (o.Kind == KindAmalgamate) || o.Amount > maxAmount || o.Amount < -maxAmount {
			t.Fatalf("%+v", o)
		}
	}
	for kind, count := range counts {
		if count < n/5-1500 || count > n/5+1500 {
			t.Errorf("kind %d has %d of %d operations", kind, count, n)
		}
	}
	if hot < 89*n/100 || hot > 91*n/100 {
		t.Errorf("%d of %d in the hotspot", hot, n)
	}
}

func TestUnknownModel(t *testing.T) {
	c := Defaults()
	c.Model = "serialisable"
	var refused *store.OptionError
	if err := c.Validate(); !errors.As(err, &refused) || refused.Option != "--model" {
		t.Error(err)
	}
}
