package drivertest

import (
	"context"
	"slices"
	"testing"

	"assay/history"
	"assay/workload"
	"assay/workload/definition"
	"assay/workload/journal"
	"assay/workload/smallbank"
	"assay/workload/tpcb"
)

// journalSuite is what the suite of a workload with a journal must know of it, with
// sessions N and Stores S.
type journalSuite[N journal.Session, S journal.Store[N]] struct {
	workload definition.Workload
	// config is a small one.
	config definition.Config
	tables []journal.Table
	// balance is the column of the balance, by table.
	balance []int
	// do makes an attempt of operation number n, which an honest database commits, and
	// says what its row in the journal is and which balances it left.
	do func(ctx context.Context, session N, number int64) (workload.Reply, []int64, map[cell]int64)
	// counts are the numbers of rows by table after one operation, ascending.
	counts []int64
	own    []operation[*journalFixture[N, S]]
}

// cell is a row's balance.
type cell struct {
	table int
	key   int64
}

func (s *journalSuite[N, S]) run(t *testing.T, h Harness[S]) {
	on := func(t *testing.T) *journalFixture[N, S] {
		f := &journalFixture[N, S]{fixture: newFixture(t, h, contents{workload: s.workload.Name, found: anyRows, tables: s.counts}), suite: s}
		f.contents.loads = f.work(f.store).Rows()
		return f
	}
	operations(t, ready(on), checked(append(s.own,
		operation[*journalFixture[N, S]]{"Repeated", (*journalFixture[N, S]).testRepeated},
		operation[*journalFixture[N, S]]{"ContextOver", (*journalFixture[N, S]).testContextOver})))
	t.Run("Race", func(t *testing.T) {
		f := on(t)
		run := ShortRun{Workload: s.workload, Config: s.config, Seed: journalSeed, Clients: 4, Each: 40, Attempts: 3}
		run.Valid(t.Context(), t, f.store)
	})
}

// journalFixture is a fixture with what must be there.
type journalFixture[N journal.Session, S journal.Store[N]] struct {
	*fixture[S]
	suite *journalSuite[N, S]
	// rows are those of the journal, by their ids, and left the balances.
	rows map[int64][]int64
	left map[cell]int64
}

func (f *journalFixture[N, S]) work(store S) definition.Work {
	f.t.Helper()
	w, err := f.suite.config.Open(f.ctx, store, journalSeed, 1)
	if err != nil {
		f.t.Fatal(err)
	}
	return w
}

func (f *journalFixture[N, S]) create(store S, marker workload.Marker) error {
	f.rows, f.left = map[int64][]int64{}, map[cell]int64{}
	return store.Create(f.ctx, marker)
}

func (f *journalFixture[N, S]) load(store S) {
	f.t.Helper()
	f.must("Load", f.work(store).Load(f.ctx, func(int64, int64) {}))
}

func (f *journalFixture[N, S]) write(store S, number int) {
	f.t.Helper()
	f.commit(sessionOf(f.fixture, store.Session), int64(number))
	f.closeClients()
}

// commit does an operation and wants it committed.
func (f *journalFixture[N, S]) commit(session N, number int64) {
	f.t.Helper()
	r, row, left := f.suite.do(f.ctx, session, number)
	if r.Outcome != history.Committed || r.Err != nil || r.Class != "" {
		f.t.Fatalf("operation %d: %+v", number, r)
	}
	f.rows[row[0]] = row
	for at, balance := range left {
		f.left[at] = balance
	}
}

func (f *journalFixture[N, S]) read(store S) reading { return each(store.Read) }

// check wants exactly the rows of the journal that were written, and the balances that
// they left.
func (f *journalFixture[N, S]) check() {
	f.t.Helper()
	f.settle()
	last := len(f.suite.tables) - 1
	rows, left := 0, map[cell]int64{}
	err := f.store.Read(f.ctx, func(r journal.Row) error {
		if want, known := f.rows[r.Values[0]]; r.Table == last && (!known || !slices.Equal(r.Values, want)) {
			f.t.Errorf("the journal has the row %v, want %v", r.Values, want)
		}
		if r.Table == last {
			rows++
		} else {
			left[cell{r.Table, r.Values[0]}] = r.Values[f.suite.balance[r.Table]]
		}
		return nil
	})
	if err != nil || rows != len(f.rows) {
		f.t.Errorf("Read: %d rows in the journal, %v; want %d", rows, err, len(f.rows))
	}
	for at, want := range f.left {
		if left[at] != want {
			f.t.Errorf("%s %d holds %d, want %d", f.suite.tables[at.table].Name, at.key, left[at], want)
		}
	}
}

// testRepeated: what was done once is not done again under its id.
func (f *journalFixture[N, S]) testRepeated() {
	session := sessionOf(f.fixture, f.store.Session)
	f.commit(session, 0)
	r, _, _ := f.suite.do(f.ctx, session, 0)
	if r.Outcome != history.Failed || !r.Duplicate || r.Class != workload.ClassDuplicate {
		f.t.Errorf("done again: %+v, want a duplicate", r)
	}
	f.wantNoSecret(r.Err)
	f.commit(sessionOf(f.fixture, f.store.Session), 1)
}

func (f *journalFixture[N, S]) testContextOver() {
	over := ended(f.ctx)
	r, _, _ := f.suite.do(over, sessionOf(f.fixture, f.store.Session), 0)
	if r.Outcome != history.Failed || r.Class == "" {
		f.t.Errorf("in a context that was over: %+v, want failed", r)
	}
	f.commit(sessionOf(f.fixture, f.store.Session), 1)
}

// journalSeed is the seed of the suites' runs.
const journalSeed = 7

// RunTPCB tests everything that tpcb.Store promises.
func RunTPCB(t *testing.T, h TPCB) {
	config := tpcb.Defaults()
	config.Accounts = 30
	transactions, err := tpcb.NewTransactions(config, journalSeed)
	if err != nil {
		t.Fatal(err)
	}
	s := &journalSuite[tpcb.Session, tpcb.Store]{
		workload: tpcb.Definition(), config: &config, tables: tpcb.Tables(), balance: []int{1, 2, 2}, counts: []int64{1, 1, 10, 30},
	}
	s.do = func(ctx context.Context, session tpcb.Session, number int64) (workload.Reply, []int64, map[cell]int64) {
		x := transactions.At(workload.OperationID(1, uint64(number)))
		r := session.Do(ctx, x, number%2 == 1)
		return r.Reply, x.Values(), map[cell]int64{{tpcb.Accounts, x.Account}: r.Balance}
	}
	s.own = []operation[*journalFixture[tpcb.Session, tpcb.Store]]{{"Balances", func(f *journalFixture[tpcb.Session, tpcb.Store]) {
		session := sessionOf(f.fixture, f.store.Session)
		var due int64
		for n := range int64(6) {
			x := tpcb.Transaction{ID: 100 + n, Teller: 3, Branch: 1, Account: 5, Delta: 10 - 7*n}
			r := session.Do(f.ctx, x, n%2 == 0)
			if due += x.Delta; r.Outcome != history.Committed || r.Balance != due {
				f.t.Errorf("transaction %d: %+v, want the balance %d", n, r, due)
			}
			f.rows[x.ID] = x.Values()
		}
		for _, at := range []cell{{tpcb.Branches, 1}, {tpcb.Tellers, 3}, {tpcb.Accounts, 5}} {
			f.left[at] = due
		}
		f.left[cell{tpcb.Accounts, 6}] = 0
	}}}
	s.run(t, h)
}

// RunSmallBank tests everything that smallbank.Store promises.
func RunSmallBank(t *testing.T, h SmallBank) {
	config := smallbank.Defaults()
	config.Customers, config.Hotspot = 20, 5
	s := &journalSuite[smallbank.Session, smallbank.Store]{
		workload: smallbank.Definition(), config: &config, tables: smallbank.Tables(), balance: []int{0, 1, 1}, counts: []int64{1, 20, 20, 20},
	}
	s.do = func(ctx context.Context, session smallbank.Session, number int64) (workload.Reply, []int64, map[cell]int64) {
		o := smallbank.Operation{ID: workload.OperationID(1, uint64(number)), Kind: smallbank.KindDepositChecking, Customer: number + 1, Amount: 5}
		r := session.Do(ctx, o)
		entry := smallbank.EntryOf(&o, &r.Result)
		return r.Reply, entry.Values(), map[cell]int64{{smallbank.Checking, o.Customer}: r.Checking.Balance}
	}
	s.own = []operation[*journalFixture[smallbank.Session, smallbank.Store]]{{"Each", testSmallBankEach}}
	s.run(t, h)
}

// testSmallBankEach does each operation, with what it reads and leaves.
func testSmallBankEach(f *journalFixture[smallbank.Session, smallbank.Store]) {
	session := sessionOf(f.fixture, f.store.Session)
	state := func(balance, writer int64) smallbank.State {
		return smallbank.State{Balance: balance, Writer: writer}
	}
	var id int64
	do := func(kind uint8, other, amount int64) smallbank.Reply {
		id++
		return session.Do(f.ctx, smallbank.Operation{ID: id, Kind: kind, Customer: 2, Other: other, Amount: amount})
	}
	opening := do(smallbank.KindBalance, 0, 0)
	s, c := opening.SavingRead.Balance, opening.CheckingRead.Balance
	nobody := smallbank.Nobody
	if want := (smallbank.Result{SavingRead: state(s, nobody), CheckingRead: state(c, nobody)}); opening.Outcome != history.Committed || opening.Result != want {
		f.t.Fatalf("Balance: %+v, want %+v", opening, want)
	}
	o := do(smallbank.KindBalance, 3, 0).CheckingRead // of customer 2, whatever else is named
	if o.Balance != c {
		f.t.Errorf("another Balance read %+v", o)
	}
	third := session.Do(f.ctx, smallbank.Operation{ID: 900, Kind: smallbank.KindBalance, Customer: 3}).CheckingRead.Balance
	for _, step := range []struct {
		kind          uint8
		other, amount int64
		want          smallbank.Result
		row           []int64
	}{
		{smallbank.KindDepositChecking, 0, 7, smallbank.Result{Checking: state(c+7, nobody)}, []int64{3, 2, 0, 7, -1, -1, -1}},
		{smallbank.KindTransactSaving, 0, -s, smallbank.Result{Saving: state(0, nobody)}, []int64{4, 2, 0, -s, -1, -1, -1}},
		{smallbank.KindWriteCheck, 0, c + 7, smallbank.Result{SavingRead: state(0, 4), CheckingRead: state(c+7, 3), Checking: state(0, 3)},
			[]int64{5, 2, 0, c + 7, -1, 3, -1}},
		{smallbank.KindWriteCheck, 0, 9, smallbank.Result{SavingRead: state(0, 4), CheckingRead: state(0, 5), Checking: state(-10, 5)},
			[]int64{6, 2, 0, 10, -1, 5, -1}},
		{smallbank.KindTransactSaving, 0, 50, smallbank.Result{Saving: state(50, 4)}, []int64{7, 2, 0, 50, 4, -1, -1}},
		{smallbank.KindAmalgamate, 3, 0, smallbank.Result{SavingRead: state(50, 7), CheckingRead: state(-10, 6), Saving: state(0, 7), Checking: state(0, 6),
			Other: state(third+40, nobody)}, []int64{8, 2, 3, 40, 7, 6, -1}},
		{smallbank.KindBalance, 0, 0, smallbank.Result{SavingRead: state(0, 8), CheckingRead: state(0, 8)}, nil},
	} {
		r := do(step.kind, step.other, step.amount)
		if r.Outcome != history.Committed || r.Err != nil || r.Result != step.want {
			f.t.Errorf("operation %d: %+v, want %+v", id, r, step.want)
		}
		if step.row != nil {
			f.rows[id] = step.row
		}
	}
	if r := do(smallbank.KindTransactSaving, 0, -1); r.Outcome != history.Rejected || r.Class != smallbank.ClassNoFunds {
		f.t.Errorf("a withdrawal without funds: %+v, want it rejected", r)
	}
	f.left = map[cell]int64{{smallbank.Saving, 2}: 0, {smallbank.Checking, 2}: 0, {smallbank.Checking, 3}: third + 40}
}
