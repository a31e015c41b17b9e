package drivertest

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"testing"
	"time"

	"assay/history"
	"assay/store"
	"assay/workload"
	"assay/workload/script"
)

// RunScript tests everything that script.Store promises. Its subtests run one after the
// other on one schema.
func RunScript(t *testing.T, h Script) {
	on := func(t *testing.T) *scriptFixture {
		f := &scriptFixture{fixture: newFixture(t, h, contents{workload: script.Name, found: 3, tables: []int64{3}})}
		f.statements = statementsIn(f.store.Language())
		return f
	}
	runLifecycle(t, h, on)
	operations(t, ready(on), checked([]operation[*scriptFixture]{
		{"Values", (*scriptFixture).testValues},
		{"Single", (*scriptFixture).testSingle},
		{"Outcomes", (*scriptFixture).testOutcomes},
		{"Everything", (*scriptFixture).testEverythingIsDropped},
		{"ContextOver", (*scriptFixture).testContextOver},
		{"WorkLearnsOfTheEnd", (*scriptFixture).testWorkLearnsOfTheEnd},
	}))
}

// scriptFixture is a fixture with the ids that must be in the table entry.
type scriptFixture struct {
	*fixture[script.Store]
	statements scriptStatements
	want       []int64
}

// create makes a schema with one table.
func (p *scriptFixture) create(store script.Store, marker workload.Marker) error {
	p.want = nil
	if err := store.Create(p.ctx, marker); err != nil {
		return err
	}
	s := p.session(store)
	defer s.Close()
	p.execute(s, p.statements.create)
	return store.RecordMade(p.ctx)
}

func (p *scriptFixture) session(store script.Store) script.Session {
	p.t.Helper()
	return sessionOf(p.fixture, store.Session)
}

// execute runs a statement by itself.
func (p *scriptFixture) execute(s script.Session, of script.Statement) {
	p.t.Helper()
	if r := s.Single(p.ctx, of); r.Outcome != history.Committed || r.Err != nil {
		p.t.Fatalf("%s: %+v", of, r)
	}
}

// commit runs a transaction and wants it committed.
func (p *scriptFixture) commit(s script.Session, work func(ctx context.Context, tx script.Transaction) error) {
	p.t.Helper()
	if r := s.Transaction(p.ctx, true, work); r.Outcome != history.Committed || r.Err != nil {
		p.t.Fatalf("transaction: %+v", r)
	}
}

func (p *scriptFixture) write(store script.Store, number int) {
	p.t.Helper()
	first := 10*int64(number) + 1
	err := store.Load(p.ctx, script.Rows{Table: "entry", Columns: p.statements.columns,
		Values: [][]any{p.statements.row(first, "a\tb\\\n'"), p.statements.row(first+1, nil)}})
	if err = errors.Join(err, store.FinishLoad(p.ctx)); err != nil {
		p.t.Fatalf("Load: %v", err)
	}
	s := p.session(store)
	defer p.closeClients()
	p.commit(s, func(ctx context.Context, tx script.Transaction) error {
		n, err := tx.Execute(ctx, p.statements.insert(first+2, "c"))
		if err == nil && n != 1 {
			p.t.Errorf("an INSERT of one row changed %d", n)
		}
		return err
	})
	p.want = append(p.want, first, first+1, first+2)
}

func (p *scriptFixture) read(store script.Store) reading {
	return func(ctx context.Context, row func() error) error {
		var stopped error
		err := store.Read(ctx, func(q script.Querier) error {
			return q.Query(ctx, p.statements.ids, func([]any) error {
				stopped = row()
				return stopped
			})
		})
		if stopped != nil {
			return stopped
		}
		return err
	}
}

// check wants exactly the rows that are wanted, read back and observed.
func (p *scriptFixture) check() {
	p.t.Helper()
	p.settle()
	for name, view := range map[string]func(context.Context, func(script.Querier) error) error{"Read": p.store.Read, "Observe": p.store.Observe} {
		var got []int64
		err := view(p.ctx, func(q script.Querier) (err error) {
			got, err = p.statements.idsIn(p.ctx, q)
			return err
		})
		slices.Sort(p.want)
		if err != nil || !slices.Equal(got, p.want) {
			p.t.Errorf("%s: %v, %v; want %v", name, got, err, p.want)
		}
	}
}

// testValues: what is written is read as it was, in a transaction and in a view, and
// NULL, sums and counts have the types that a script expects.
func (p *scriptFixture) testValues() {
	s := p.session(p.store)
	if p.store.Language() == script.Documents {
		p.testDocuments(s)
		return
	}
	p.execute(s, script.Statement{Text: "CREATE TABLE kinds (n bigint, i int, f double precision, t varchar(100))"})
	wants := [][]any{{int64(1) << 62, int64(-7), 1.5, "it's \\ \"$1\" ü"}, {nil, nil, nil, nil}, {int64(0), int64(1), -2.0, ""}}
	for _, row := range wants {
		p.commit(s, func(ctx context.Context, tx script.Transaction) error {
			_, err := tx.Execute(ctx, script.Statement{Text: "INSERT INTO kinds (n, i, f, t) VALUES ($1, $2, $3, $4)", Parameters: row})
			return err
		})
	}
	p.must("Load", p.store.Load(p.ctx, script.Rows{Table: "kinds", Columns: []string{"n", "i", "f", "t"}, Values: wants}))
	p.must("FinishLoad", p.store.FinishLoad(p.ctx))
	wants = append(slices.Clone(wants), wants...)
	look := func(ctx context.Context, q script.Querier) error {
		var got [][]any
		err := q.Query(ctx, script.Statement{Text: "SELECT n, i, f, t FROM kinds", Reads: true}, func(row []any) error { got = append(got, row); return nil })
		if err != nil || !reflect.DeepEqual(got, wants) {
			p.t.Errorf("%v, %v; want %v", got, err, wants)
		}
		var sums []any
		sum := script.Statement{Text: "SELECT sum(i), count(*), avg(f), min(t), max(t) IS NULL FROM kinds WHERE i > $1", Parameters: []any{int64(-100)}, Reads: true}
		err = q.Query(ctx, sum, func(row []any) error { sums = row; return nil })
		if err != nil || len(sums) != 5 || sums[0] != int64(-12) || sums[1] != int64(4) || sums[2] != -0.25 || sums[3] != "" ||
			sums[4] != int64(0) && sums[4] != false {
			p.t.Errorf("sums: %#v, %v", sums, err)
		}
		return err
	}
	p.commit(s, func(ctx context.Context, tx script.Transaction) error { return look(ctx, tx) })
	p.wantNoError("Read", p.store.Read(p.ctx, func(q script.Querier) error { return look(p.ctx, q) }))
}

// testDocuments: a document that is written is read as it was, by find and by aggregate.
func (p *scriptFixture) testDocuments(s script.Session) {
	of := func(name string, value any) store.Field { return store.Field{Name: name, Value: value} }
	want := store.Document{of("_id", int64(1)), of("content", "it's \\ \"$1\" \u00fc"), of("n", int64(1)<<62), of("f", 1.5), of("b", true), of("none", nil),
		of("list", []any{int64(1), "a", nil, store.Document{of("x", -2.0)}}), of("empty", store.Document{}), of("nothing", []any{})}
	p.commit(s, func(ctx context.Context, tx script.Transaction) error {
		_, err := tx.Execute(ctx, script.Statement{Command: &script.DocumentCommand{Verb: script.Insert, Collection: "entry", Documents: []store.Document{want}}})
		return err
	})
	p.want = append(p.want, 1)
	look := func(ctx context.Context, q script.Querier) error {
		for _, c := range []*script.DocumentCommand{
			{Verb: script.Find, Filter: store.Document{of("list.3.x", -2.0)}, Limit: 5},
			{Verb: script.Aggregate, Pipeline: []any{store.Document{of("$match", store.Document{of("b", true)})}}},
		} {
			c.Collection = "entry"
			var got []any
			err := q.Query(ctx, script.Statement{Command: c, Reads: true}, func(row []any) error { got = append(got, row...); return nil })
			if err != nil || !reflect.DeepEqual(got, []any{want}) {
				p.t.Errorf("%v: %v, %v; want %v", c, got, err, want)
			}
		}
		return nil
	}
	p.commit(s, func(ctx context.Context, tx script.Transaction) error { return look(ctx, tx) })
	p.wantNoError("Read", p.store.Read(p.ctx, func(q script.Querier) error { return look(p.ctx, q) }))
	p.commit(s, func(context.Context, script.Transaction) error { return nil }) // of nothing
}

// testSingle: a statement by itself is committed or had no effect, and the session goes on.
func (p *scriptFixture) testSingle() {
	s, of := p.session(p.store), p.statements
	single := func(outcome history.Outcome, class string, of script.Statement) {
		p.t.Helper()
		r := s.Single(p.ctx, of)
		if r.Outcome != outcome || r.Class != class || r.Broken || (r.Err != nil) != (outcome != history.Committed) {
			p.t.Errorf("%s: %+v", of, r)
		}
	}
	for id := range int64(3) {
		single(history.Committed, "", of.insert(id, "x"))
	}
	single(history.Failed, script.ClassConstraint, of.insert(1, "y"))
	single(history.Committed, "", of.update(2, nil))
	single(history.Committed, "", of.content(2))
	single(history.Committed, "", of.remove(0))
	single(history.Failed, workload.ClassOther, of.wrongRead)
	single(history.Committed, "", of.insert(3, "x"))
	p.want = append(p.want, 1, 2, 3)
	s.Close()
	p.check()
}

// testOutcomes: what is left has no effect, and the session is good for the next; a
// constraint is told from other errors; an error of a statement is the transaction's.
func (p *scriptFixture) testOutcomes() {
	s := p.session(p.store)
	insert := func(ctx context.Context, tx script.Transaction, id int64) error {
		_, err := tx.Execute(ctx, p.statements.insert(id, nil))
		return err
	}
	left := s.Transaction(p.ctx, true, func(ctx context.Context, tx script.Transaction) error {
		return errors.Join(insert(ctx, tx, 1), store.ErrRollback)
	})
	if left.Outcome != history.Failed || left.Broken || !errors.Is(left.Err, store.ErrRollback) && left.Err != nil {
		p.t.Errorf("left: %+v; want failed, and a session that is good", left)
	}
	p.commit(s, func(ctx context.Context, tx script.Transaction) error { return insert(ctx, tx, 2) })
	p.want = append(p.want, 2)
	again := s.Transaction(p.ctx, true, func(ctx context.Context, tx script.Transaction) error {
		return errors.Join(insert(ctx, tx, 3), insert(ctx, tx, 2))
	})
	if again.Outcome != history.Failed || again.Class != script.ClassConstraint {
		p.t.Errorf("a key that is there: %+v; want failed, %s", again, script.ClassConstraint)
	}
	wrong := p.session(p.store).Transaction(p.ctx, true, func(ctx context.Context, tx script.Transaction) error {
		_, err := tx.Execute(ctx, p.statements.wrongWrite)
		return err
	})
	if wrong.Outcome != history.Failed || wrong.Err == nil {
		p.t.Errorf("a statement that cannot be: %+v; want failed", wrong)
	}
	p.wantNoSecret(wrong.Err)
	var got []int64
	if r := p.session(p.store).Transaction(p.ctx, false, func(ctx context.Context, tx script.Transaction) (err error) {
		got, err = p.statements.idsIn(ctx, tx)
		return err
	}); r.Outcome != history.Committed || len(got) != 1 {
		p.t.Errorf("a transaction that only reads: %+v, %v; want one row", r, got)
	}
	changed := s
	if again.Broken {
		changed = p.session(p.store)
	}
	p.commit(changed, func(ctx context.Context, tx script.Transaction) error {
		n, err := tx.Execute(ctx, p.statements.updateBelow(100, "x"))
		if none, err2 := tx.Execute(ctx, p.statements.remove(77)); n != 1 || none != 0 {
			p.t.Errorf("changed %d and %d rows, %v; want 1 and 0", n, none, err2)
		}
		return err
	})
}

// testEverythingIsDropped: the next run has a schema without what the script made.
func (p *scriptFixture) testEverythingIsDropped() {
	s := p.session(p.store)
	p.execute(s, p.statements.createChild)
	p.execute(s, p.statements.createView)
	p.must("RecordMade", p.store.RecordMade(p.ctx))
	p.closeClients()
	p.must("Create", p.create(p.store, p.marker("run-2")))
	size, err := p.store.Size(p.ctx)
	if err != nil || len(size.Rows) != 1 {
		p.t.Errorf("Size: %+v, %v; want the table entry alone", size, err)
	}
	p.execute(p.session(p.store), p.statements.createView)
	p.must("RecordMade", p.store.RecordMade(p.ctx))
}

func (p *scriptFixture) testContextOver() {
	over := ended(p.ctx)
	r := p.session(p.store).Transaction(over, true, func(ctx context.Context, tx script.Transaction) error {
		_, err := tx.Execute(ctx, p.statements.insert(1, nil))
		return err
	})
	if r.Outcome == history.Committed || r.Outcome == history.Rejected || r.Class == "" {
		p.t.Errorf("a transaction in a context that was over: %+v", r)
	}
}

// testWorkLearnsOfTheEnd: what a transaction does by itself, such as a loop of a script,
// ends with its attempt.
func (p *scriptFixture) testWorkLearnsOfTheEnd() {
	attempt, end := context.WithCancel(p.ctx)
	defer end()
	learned := make(chan error, 1)
	r := p.session(p.store).Transaction(attempt, true, func(ctx context.Context, tx script.Transaction) error {
		_, err := tx.Execute(ctx, p.statements.insert(1, nil))
		end()
		select {
		case <-ctx.Done():
		case <-time.After(time.Minute):
			err = errors.New("the work was not told")
		}
		learned <- err
		return ctx.Err()
	})
	if r.Outcome == history.Committed || r.Class == "" {
		p.t.Errorf("a transaction whose attempt ended meanwhile: %+v", r)
	}
	p.wantNoError("the work", <-learned)
}
