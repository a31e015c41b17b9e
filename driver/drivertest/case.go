package drivertest

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"assay/history"
	"assay/store"
)

// statementCase is a sequence of statements with their expected answers. It is left out on a
// database that lacks a capability of needs.
type statementCase struct {
	name  string
	needs []store.Capability
	steps []step
}

type step struct {
	statement store.Statement
	with      []store.Value
	// gives are the expected rows, in any order if the statement has none.
	gives    [][]any
	changed  int64
	violated store.Violation
}

// anyNumber stands for a count in which databases differ.
const anyNumber = -1

// ask expects rows, does a count of changed rows, and refused a violated constraint.
func ask(s store.Statement, with []store.Value, rows ...[]any) step {
	return step{statement: s, with: with, gives: rows}
}

func does(s store.Statement, with []store.Value, rows int64) step {
	return step{statement: s, with: with, changed: rows}
}

func refused(s store.Statement, with []store.Value, by store.Violation) step {
	return step{statement: s, with: with, violated: by}
}

func with(parameters ...any) (values []store.Value) {
	for _, p := range parameters {
		switch p := p.(type) {
		case int:
			values = append(values, store.OfInt(int64(p)))
		case int64:
			values = append(values, store.OfInt(p))
		case string:
			values = append(values, store.OfText(p))
		case bool:
			values = append(values, store.OfBool(p))
		case []byte:
			values = append(values, store.OfBytes(p))
		case []int64:
			values = append(values, store.OfList(p))
		case keys:
			values = append(values, store.OfKeys(p))
		case float64:
			values = append(values, store.Value{Kind: store.Real, Real: p})
		case nil:
			values = append(values, store.Value{Kind: store.Nothing})
		default:
			panic(fmt.Sprintf("no parameter can be a %T", p)) // a mistake in the suite
		}
	}
	return values
}

type keys []int64

func row(values ...any) []any {
	for i, v := range values {
		if n, is := v.(int); is {
			values[i] = int64(n)
		}
	}
	return values
}

func is(column string, how store.Comparison, parameter int) store.Condition {
	return store.Condition{Column: column, Is: how, Value: store.Parameter(parameter)}
}

func fields(words string) []string { return strings.Fields(words) }

func columnsOf(table string) []string {
	s := conformanceSchema(nil)
	return s.Table(table).Names()
}

func (s step) refuses() bool { return s.violated != store.NoViolation }

// standard are a table's rows at the beginning of each case.
func standard(table string) [][]any {
	return map[string][][]any{
		"goods":   {row(1, 1, 10, "a", false), row(1, 2, 20, "b", true), row(1, 3, 20, "c", false), row(2, 1, 5, "d", false), row(2, 2, 30, "a", true)},
		"account": {row(1, 100, 0), row(2, 50, 0), row(3, 0, 0)},
		"crate":   {row(1, 1, 7), row(1, 2, 8), row(2, 1, 9)},
	}[table]
}

type caseRunner struct {
	*fixture
	// wipe deletes rows by key, with one statement for each table of wiped. A table with
	// indexes is left alone if the database has no transactions.
	wipe  store.Session
	wiped []*store.Table
}

// testStatements runs each case statement by statement, as a transaction, and as a batch.
func testStatements(t *testing.T, on func(t *testing.T) *fixture) {
	r := &caseRunner{fixture: on(t)}
	r.mustCreate(r.store, "run-1")
	r.must("FinishLoad", r.store.FinishLoad(r.ctx))
	var wipe []store.Statement
	for i := range r.schema.Tables {
		table := &r.schema.Tables[i]
		if r.schema.Transactions || len(table.Indexes) == 0 {
			r.wiped = append(r.wiped, table)
			wipe = append(wipe, store.Statement{Verb: store.Delete, Table: table.Name, Where: byKey(table)})
		}
	}
	r.wipe = r.session(r.store, wipe...)
	for _, c := range slices.Concat(readCases(), indexCases(), insertCases(), updateCases(), setCases(), typeCases()) {
		t.Run(c.name, func(t *testing.T) {
			if !r.has(t, c.needs...) {
				return
			}
			outer := r.t
			r.t = t
			defer func() { r.t = outer }()
			r.inMode(t, c, "alone", r.alone)
			if r.schema.Transactions && !slices.ContainsFunc(c.steps, step.refuses) {
				r.inMode(t, c, "in a transaction", r.together)
				r.inMode(t, c, "known together in a transaction", r.known)
				r.inMode(t, c, "in a batch", r.batch)
			}
		})
	}
}

func (r *caseRunner) inMode(t *testing.T, c statementCase, mode string, run func(t *testing.T, s store.Session, steps []step)) {
	t.Helper()
	defer r.clean(t)
	var statements []store.Statement
	filled := map[string]bool{}
	session := func() store.Session {
		for _, s := range c.steps {
			statements = append(statements, s.statement)
		}
		return r.session(r.store, statements...)
	}()
	defer session.Close()
	for i := range statements {
		name := statements[i].Table
		if rows := standard(name); len(rows) > 0 && !filled[name] {
			filled[name] = true
			r.insert(t, session, name, rows)
		}
	}
	t.Run(mode, func(t *testing.T) { run(t, session, c.steps) })
}

func (r *caseRunner) insert(t *testing.T, s store.Session, table string, rows [][]any) {
	t.Helper()
	reply := s.Insert(r.ctx, store.Rows{Table: table, Columns: r.schema.Table(table).Names(), Count: len(rows),
		Row: func(i int, into []store.Value) []store.Value { return append(into, with(rows[i]...)...) }})
	if reply.Outcome != history.Committed {
		t.Fatalf("insert into %s: %+v", table, reply)
	}
}

func (r *caseRunner) clean(t *testing.T) {
	t.Helper()
	there := make([][][]store.Value, len(r.wiped))
	err := store.ReadAll(r.ctx, r.store.View, func(reader store.Reader) error {
		for i, table := range r.wiped {
			s := store.Statement{Table: table.Name, Columns: table.Key()}
			if err := store.Whole(r.ctx, reader, s, func(found store.Row) error {
				key, err := r.decode(&s, found)
				there[i] = append(there[i], with(key...))
				return err
			}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatalf("View: %v", err)
	}
	for i, rows := range slices.Backward(there) { // what lies within others comes after them
		for _, key := range rows {
			if reply := r.wipe.Run(r.ctx, store.Call{Statement: i, Parameters: key}); reply.Outcome != history.Committed {
				t.Fatalf("delete from %s: %+v", r.wiped[i].Name, reply)
			}
		}
	}
}

func (r *caseRunner) decode(s *store.Statement, from store.Row) ([]any, error) {
	var into []any
	if s.Verb == store.Count || s.Verb == store.Native {
		for range max(1, len(s.Columns)+1) {
			into = append(into, new(int64))
		}
	} else {
		for _, name := range s.Columns {
			into = append(into, map[store.Type]any{store.Integer: new(int64), store.Boolean: new(bool), store.String: new(string),
				store.ASCII: new(string), store.UUID: new([]byte), store.Ints: new([]int64)}[r.schema.Table(s.Table).Column(name).Type])
		}
	}
	err := from.Scan(into...)
	values := make([]any, len(into))
	for i, v := range into {
		values[i] = reflect.ValueOf(v).Elem().Interface()
	}
	return values, err
}

type answer struct {
	into func(store.Row) error
	rows [][]any
}

func (r *caseRunner) answer(s *store.Statement) *answer {
	a := &answer{}
	if s.GivesRows() {
		a.into = func(found store.Row) error {
			values, err := r.decode(s, found)
			a.rows = append(a.rows, values)
			return err
		}
	}
	return a
}

func (a *answer) want(t *testing.T, number int, s *step) {
	t.Helper()
	texts := func(rows [][]any) (all []string) {
		for _, r := range rows {
			all = append(all, fmt.Sprintf("%#v", r))
		}
		if len(s.statement.Order) == 0 {
			slices.Sort(all)
		}
		return all
	}
	if got, want := texts(a.rows), texts(s.gives); !slices.Equal(got, want) {
		t.Errorf("step %d gave\n\t%s\nwant\n\t%s", number+1, strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
	}
}

func (r *caseRunner) alone(t *testing.T, s store.Session, steps []step) {
	for i := range steps {
		step := &steps[i]
		a := r.answer(&step.statement)
		reply := s.Run(r.ctx, store.Call{Statement: i, Parameters: step.with, Row: a.into})
		switch {
		case step.refuses():
			if reply.Outcome != history.Failed || reply.Violated != step.violated || reply.Class == "" || reply.Broken {
				t.Errorf("step %d: %+v, want it refused (%d)", i+1, reply, step.violated)
			}
			if r := reply.Inserted(); r.Duplicate != (step.violated == store.Unique) || r.Duplicate && r.Class != store.ClassDuplicate {
				t.Errorf("step %d: %+v as the reply to an insert", i+1, r)
			}
			if want := r.suite.Confirms && step.violated == store.Unique; reply.Confirmed != want {
				t.Errorf("step %d: %+v; that the row will stay is confirmed: want %v", i+1, reply, want)
			}
			continue
		case reply.Outcome != history.Committed || reply.Err != nil || reply.Class != "" || reply.Broken || reply.Violated != store.NoViolation:
			t.Fatalf("step %d: %+v, want committed", i+1, reply)
		case a.into == nil && step.changed != anyNumber && r.lacks[store.UniqueKeys] == "" && reply.Affected != step.changed:
			t.Errorf("step %d changed %d rows, want %d", i+1, reply.Affected, step.changed)
		}
		a.want(t, i, step)
	}
}

func (r *caseRunner) together(t *testing.T, s store.Session, steps []step) {
	var answers []*answer
	var changed []int64
	reply := retryReply(r.ctx, func() store.Reply {
		answers, changed = nil, nil
		return s.Transaction(r.ctx, true, func(ctx context.Context, tx store.Transaction) error {
			for i := range steps {
				a := r.answer(&steps[i].statement)
				n, err := tx.Do(ctx, i, a.into, steps[i].with...)
				if err != nil {
					return fmt.Errorf("step %d: %w", i+1, err)
				}
				answers, changed = append(answers, a), append(changed, n)
			}
			return nil
		})
	})
	if reply.Outcome != history.Committed {
		t.Fatalf("%+v, want committed", reply)
	}
	for i := range steps {
		answers[i].want(t, i, &steps[i])
		if answers[i].into == nil && steps[i].changed != anyNumber && changed[i] != steps[i].changed {
			t.Errorf("step %d changed %d rows, want %d", i+1, changed[i], steps[i].changed)
		}
	}
}

// calls makes equal statements calls of one statement.
func (r *caseRunner) calls(steps []step) (calls []store.Call, answers []*answer) {
	for i := range steps {
		a := r.answer(&steps[i].statement)
		same := slices.IndexFunc(steps, func(s step) bool { return reflect.DeepEqual(s.statement, steps[i].statement) })
		calls = append(calls, store.Call{Statement: same, Parameters: steps[i].with, Row: a.into, Want: len(steps[i].gives)})
		answers = append(answers, a)
	}
	return calls, answers
}

func (r *caseRunner) known(t *testing.T, s store.Session, steps []step) {
	var answers []*answer
	reply := retryReply(r.ctx, func() store.Reply {
		var calls []store.Call
		calls, answers = r.calls(steps)
		return s.Transaction(r.ctx, true, func(ctx context.Context, tx store.Transaction) error { return store.DoAll(ctx, tx, calls) })
	})
	wantAll(t, reply, answers, steps)
}

func (r *caseRunner) batch(t *testing.T, s store.Session, steps []step) {
	calls, answers := r.calls(steps)
	reply := s.Batch(r.ctx, &store.Batch{Calls: calls})
	wantAll(t, reply, answers, steps)
}

func wantAll(t *testing.T, reply store.Reply, answers []*answer, steps []step) {
	t.Helper()
	if reply.Outcome != history.Committed || reply.Err != nil {
		t.Fatalf("%+v, want committed", reply)
	}
	for i := range steps {
		answers[i].want(t, i, &steps[i])
	}
}

// retryReply repeats an attempt while its reply is a conflict.
func retryReply(ctx context.Context, attempt func() store.Reply) (r store.Reply) {
	retry(ctx, func() store.Reply {
		r = attempt()
		again := r
		again.Duplicate = !r.Conflict() // nothing to repeat
		return again
	})
	return r
}
