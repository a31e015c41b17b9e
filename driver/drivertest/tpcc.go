package drivertest

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"assay/check"
	"assay/history"
	"assay/load"
	"assay/workload"
	"assay/workload/tpcc"
)

// RunTPCC tests everything that tpcc.Store promises. Its subtests run one after the
// other on one schema.
func RunTPCC(t *testing.T, h TPCC) {
	on := func(t *testing.T) *tpccFixture {
		return &tpccFixture{fixture: newFixture(t, h, contents{workload: tpcc.Name, loads: 1, found: anyRows})}
	}
	operations(t, ready(on), checked([]operation[*tpccFixture]{
		{"Transactions", (*tpccFixture).testTransactions},
		{"Rollback", (*tpccFixture).testRollback},
		{"Duplicate", (*tpccFixture).testDuplicate},
		{"ContextOver", (*tpccFixture).testContextOver},
	}))
	t.Run("Clients", func(t *testing.T) { ValidTPCC(t, TPCCRun(4, 60, 20), on(t).store) })
}

const tpccSeed = 7

// tpccConfig is small: the rows are loaded often.
func tpccConfig() tpcc.Config {
	return tpcc.Config{Warehouses: 2, Items: 100, Customers: 10, Loaders: 2}
}

// TPCCRun is a short run of the workload on a small shop: so many clients do so many
// operations each, in at most so many attempts.
func TPCCRun(clients, each, attempts int) ShortRun {
	config := tpccConfig()
	return ShortRun{Workload: tpcc.Definition(), Config: &config, Seed: tpccSeed, Clients: clients, Each: each, Attempts: attempts}
}

// ValidTPCC does a run on a store, with the isolation tests if the store has them, and
// wants it to be valid. It returns the isolation tests that found something that the
// database does not promise to prevent.
func ValidTPCC(t testing.TB, run ShortRun, store tpcc.Store) (notIsolated []int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	judgement := run.Valid(ctx, t, store)
	if judgement.Counts.Committed == 0 {
		t.Errorf("nothing was committed: %+v", judgement.Counts)
	}
	if _, can := store.(tpcc.IsolationStore); !can {
		return nil
	}
	if !slices.ContainsFunc(judgement.Results, func(c check.Result) bool { return c.Name == tpcc.CheckIsolation }) {
		t.Errorf("no isolation test was played: %v", judgement.Notes)
	}
	for _, test := range judgement.TPCC.IsolationTests {
		t.Logf("isolation test %d: %s, %s\n\t%s", test.Test, test.Result, test.How, strings.Join(test.Steps, "\n\t"))
		if test.Result != "passed" {
			notIsolated = append(notIsolated, test.Test)
		}
	}
	left := errors.New("a row of the isolation tests is left")
	err := store.Read(t.Context(), tpcc.Visitor{
		Item:      func(r tpcc.Item) error { return onlyIf(left, r.ID >= tpcc.FirstTestItem) },
		Warehouse: func(r tpcc.Warehouse) error { return onlyIf(left, r.ID > tpcc.TestWarehouse) },
		District:  func(r tpcc.District) error { return onlyIf(left, r.Warehouse > tpcc.TestWarehouse) },
		Customer:  func(r tpcc.Customer) error { return onlyIf(left, r.Warehouse > tpcc.TestWarehouse) },
		Payment:   func(r tpcc.Payment) error { return onlyIf(left, r.Warehouse > tpcc.TestWarehouse) },
		Order:     func(r tpcc.Order) error { return onlyIf(left, r.Warehouse > tpcc.TestWarehouse) },
		NewOrder:  func(r tpcc.NewOrder) error { return onlyIf(left, r.Warehouse > tpcc.TestWarehouse) },
		Line:      func(r tpcc.OrderLine) error { return onlyIf(left, r.Warehouse > tpcc.TestWarehouse) },
		Stock:     func(r tpcc.Stock) error { return onlyIf(left, r.Warehouse > tpcc.TestWarehouse) },
		Delivery:  func(r tpcc.Delivery) error { return onlyIf(left, r.Warehouse > tpcc.TestWarehouse) },
	})
	if err != nil {
		t.Errorf("after the isolation tests: %v", err)
	}
	return notIsolated
}

// RunTPCCIsolation plays TPC-C's isolation tests on stores at the levels, and wants these
// tests to find something at each.
func RunTPCCIsolation(t *testing.T, open func(t *testing.T, isolation string) tpcc.Store, want map[string][]int) {
	for level, tests := range want {
		t.Run(level, func(t *testing.T) {
			store := open(t, level)
			found := ValidTPCC(t, TPCCRun(2, 10, 20), store)
			if !slices.Equal(found, tests) {
				t.Errorf("not isolated are the tests %d, want %d", found, tests)
			}
			if err := errors.Join(store.Drop(t.Context()), store.Close()); err != nil {
				t.Error(err)
			}
		})
	}
}

// onlyIf is the error if something is so.
func onlyIf(err error, is bool) error {
	if is {
		return err
	}
	return nil
}

// tpccFixture is a fixture that records what was done, for the judge.
type tpccFixture struct {
	*fixture[tpcc.Store]
	loaded bool
	ops    []history.Op
}

func (p *tpccFixture) create(store tpcc.Store, marker workload.Marker) error {
	p.loaded, p.ops = false, nil
	return store.Create(p.ctx, marker)
}

func (p *tpccFixture) work(store tpcc.Store) *tpcc.Work {
	work, err := tpcc.NewWork(store, tpccConfig(), tpccSeed)
	if err != nil {
		p.t.Fatal(err)
	}
	return work
}

func (p *tpccFixture) inputs() *tpcc.Inputs {
	return tpcc.NewInputs(tpcc.NewPopulation(tpccConfig(), tpccSeed))
}

func (p *tpccFixture) load(store tpcc.Store) {
	p.t.Helper()
	p.must("Load", p.work(store).Load(p.ctx, func(int64, int64) {}))
	p.loaded = true
}

// write does the first operations of a client.
func (p *tpccFixture) write(store tpcc.Store, number int) {
	p.do(p.ctx, store, number, 0, 1, 2, 3, 4)
}

// tpccAttempts is how often an operation is tried that fails: a server on a busy machine
// may give up a transaction that takes long.
const tpccAttempts = 20

// do does operations of a client, each until it does not fail, and records them.
func (p *tpccFixture) do(ctx context.Context, store tpcc.Store, number int, seqs ...uint64) (last load.Answer) {
	p.t.Helper()
	client, err := p.work(store).Client(p.ctx, number)
	p.must("Client", err)
	defer client.Close()
	for _, seq := range seqs {
		for attempt, ended := 1, false; !ended; attempt++ {
			last = client.Attempt(ctx, seq, attempt)
			ended = last.Outcome != history.Failed || attempt == tpccAttempts || ctx.Err() != nil
			op := history.Op{Client: number, Seq: seq, Attempt: attempt, Last: ended, Kind: last.Kind, Outcome: last.Outcome,
				Values: slices.Clone(last.Values), Error: last.Class, Start: int64(len(p.ops)), End: int64(len(p.ops)) + 1}
			if ended {
				op.Final = last.Outcome
			}
			p.ops = append(p.ops, op)
		}
	}
	return last
}

// untilDecided repeats what fails and is no duplicate.
func untilDecided(do func() workload.Reply) (r workload.Reply) {
	for range tpccAttempts {
		if r = do(); r.Outcome != history.Failed || r.Duplicate {
			break
		}
	}
	return r
}

func (p *tpccFixture) read(store tpcc.Store) reading {
	return func(ctx context.Context, each func() error) error { return store.Read(ctx, tpccRows(each)) }
}

// tpccRows calls back with every row.
func tpccRows(each func() error) tpcc.Visitor {
	return tpcc.Visitor{
		Item: func(tpcc.Item) error { return each() }, Warehouse: func(tpcc.Warehouse) error { return each() },
		District: func(tpcc.District) error { return each() }, Customer: func(tpcc.Customer) error { return each() },
		Payment: func(tpcc.Payment) error { return each() }, Order: func(tpcc.Order) error { return each() },
		NewOrder: func(tpcc.NewOrder) error { return each() }, Line: func(tpcc.OrderLine) error { return each() },
		Stock: func(tpcc.Stock) error { return each() }, Delivery: func(tpcc.Delivery) error { return each() },
	}
}

// check has what was done judged by what is there.
func (p *tpccFixture) check() {
	p.t.Helper()
	if !p.loaded {
		p.settle()
		p.wantNoError("Read of empty tables", p.store.Read(p.ctx, tpccRows(func() error { return errors.New("there is a row") })))
		return
	}
	recorded := filepath.Join(p.t.TempDir(), "history")
	w, err := history.Create(recorded, history.Header{Run: "checked", Workload: tpcc.Name})
	if err != nil {
		p.t.Fatal(err)
	}
	for i := range p.ops {
		op := &p.ops[i]
		err = errors.Join(err, w.Reserve(history.Reservation{Client: op.Client, UpTo: op.Seq + 1}), w.Record(op))
	}
	if err := errors.Join(err, w.Close()); err != nil {
		p.t.Fatal(err)
	}
	mustBeValid(p.t, TPCCRun(1, 1, 1).JudgeDone(p.ctx, p.t, p.store, recorded).Results)
}

// first is the first operation of a client that suits.
func (p *tpccFixture) first(client int, suits func(kind uint8, id int64) bool) uint64 {
	inputs := p.inputs()
	for seq := uint64(0); ; seq++ {
		if suits(inputs.Kind(client, seq), tpcc.OperationID(client, seq)) {
			return seq
		}
	}
}

// testTransactions does a whole deck of operations, which must all be committed in the end
// or, where an item does not exist, rejected.
func (p *tpccFixture) testTransactions() {
	var seqs []uint64
	for seq := range uint64(100) {
		seqs = append(seqs, seq)
	}
	p.do(p.ctx, p.store, 0, seqs...)
	inputs := p.inputs()
	for _, op := range p.ops {
		want := history.Committed
		if id := tpcc.OperationID(op.Client, op.Seq); op.Kind == tpcc.KindNewOrder {
			if in := inputs.NewOrder(id); inputs.RolledBack(&in) {
				want = history.Rejected
			}
		}
		if op.Last && op.Outcome != want {
			p.t.Errorf("operation %d of client %d, of kind %d, is %v (%s), want %v", op.Seq, op.Client, op.Kind, op.Outcome, op.Error, want)
		}
	}
}

// testRollback: an order for an item that does not exist leaves nothing, and the session
// goes on.
func (p *tpccFixture) testRollback() {
	inputs := p.inputs()
	seq := p.first(3, func(kind uint8, id int64) bool {
		in := inputs.NewOrder(id)
		return kind == tpcc.KindNewOrder && inputs.RolledBack(&in)
	})
	session := sessionOf(p.fixture, p.store.Session)
	in := inputs.NewOrder(tpcc.OperationID(3, seq))
	in.Moment = 1
	r := untilDecided(func() workload.Reply { return session.NewOrder(p.ctx, &in).Reply })
	if r.Outcome != history.Rejected || r.Class != tpcc.ClassUnusedItem || r.Broken {
		p.t.Errorf("an order for an item that does not exist: %+v", r)
	}
	check := func() workload.Reply {
		return session.StockLevel(p.ctx, &tpcc.StockLevelInput{Warehouse: 1, District: 1, Threshold: 15}).Reply
	}
	if s := untilDecided(check); s.Outcome != history.Committed {
		p.t.Errorf("the session after it: %+v", s)
	}
}

// testDuplicate: what was done is not done again.
func (p *tpccFixture) testDuplicate() {
	inputs := p.inputs()
	session := sessionOf(p.fixture, p.store.Session)
	for _, kind := range []uint8{tpcc.KindNewOrder, tpcc.KindPayment, tpcc.KindDelivery} {
		seq := p.first(0, func(of uint8, id int64) bool {
			in := inputs.NewOrder(id)
			return of == kind && !(kind == tpcc.KindNewOrder && inputs.RolledBack(&in))
		})
		if a := p.do(p.ctx, p.store, 0, seq); a.Outcome != history.Committed {
			p.t.Fatalf("kind %d: %+v", kind, a)
		}
		again := untilDecided(func() workload.Reply {
			switch id := tpcc.OperationID(0, seq); kind {
			case tpcc.KindNewOrder:
				in := inputs.NewOrder(id)
				return session.NewOrder(p.ctx, &in).Reply
			case tpcc.KindPayment:
				in := inputs.Payment(id)
				return session.Payment(p.ctx, &in).Reply
			default:
				in := inputs.Delivery(id)
				return session.Delivery(p.ctx, &in).Reply
			}
		})
		if again.Outcome != history.Failed || !again.Duplicate || again.Class != workload.ClassDuplicate {
			p.t.Errorf("kind %d again: %+v", kind, again)
		}
	}
}

func (p *tpccFixture) testContextOver() {
	over := ended(p.ctx)
	if a := p.do(over, p.store, 1, 0); a.Outcome == history.Committed || a.Class == "" {
		p.t.Errorf("an operation in a context that was over: %+v", a)
	}
}
