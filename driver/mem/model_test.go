package mem

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"assay/driver/ordered"
	"assay/history"
	"assay/internal/expect"
	"assay/store"
)

type modelRow struct{ left, group int64 }

type model map[int64]modelRow

const (
	modelAll = iota
	modelGroup
	modelGroupByIndex
	modelKey
	modelPut
	modelUpdate
	modelDelete
	modelEmpty
)

func modelSchema() store.Schema {
	return store.Schema{Transactions: true, Tables: []store.Table{{Name: "row",
		Columns: append(store.Integers("id", "left", "group_of"), store.Column{Name: "text", Type: store.String}),
		Indexes: []store.Index{{Name: "row_group", Columns: []string{"group_of", "left"}}}}}}
}

func modelStatements() []store.Statement {
	group := compared("group_of", store.Equal, 1)
	read := func(order []string, where ...store.Condition) store.Statement {
		return store.Statement{Verb: store.Read, Table: "row", Columns: []string{"id", "left"}, Where: where, Order: order}
	}
	return []store.Statement{
		modelAll:          read([]string{"id"}),
		modelGroup:        read([]string{"id"}, group, compared("left", store.AtLeast, 2)),
		modelGroupByIndex: read([]string{"left", "id"}, group, compared("left", store.AtLeast, 2)),
		modelKey:          read(nil, store.Where("id")...),
		modelPut:          {Verb: store.Put, Table: "row", Columns: []string{"id", "left", "group_of", "text"}},
		modelUpdate:       {Verb: store.Update, Table: "row", Set: []store.Assignment{store.Add("left", store.Number(1))}, Where: []store.Condition{group}},
		modelDelete:       {Verb: store.Delete, Table: "row", Where: store.Where("id")},
		modelEmpty:        {Verb: store.Delete, Table: "row", Where: []store.Condition{group, compared("left", store.Below, 2)}},
	}
}

// read is a statement's correct result.
func (m model) read(statement int, id, group, least int64) (rows []string) {
	for _, key := range slices.Sorted(maps.Keys(m)) {
		e := m[key]
		if statement == modelAll || statement == modelKey && key == id || statement != modelKey && e.group == group && e.left >= least {
			rows = append(rows, fmt.Sprint(key, " ", e.left))
		}
	}
	if statement == modelGroupByIndex {
		left := func(row string) (id, left int64) { _, _ = fmt.Sscan(row, &id, &left); return id, left }
		slices.SortStableFunc(rows, func(a, b string) int {
			_, before := left(a)
			_, after := left(b)
			return cmp.Compare(before, after)
		})
	}
	return rows
}

func (m model) write(random *rand.Rand) (statement int, parameters []store.Value) {
	id, left, group := random.Int64N(40), random.Int64N(20), random.Int64N(4)
	switch statement = modelPut + random.IntN(4); statement {
	case modelPut:
		m[id] = modelRow{left, group}
		return statement, append(store.OfInts(id, left, group), store.OfText(fmt.Sprint(id, left)))
	case modelUpdate:
		for id, e := range m {
			if e.group == group {
				m[id] = modelRow{e.left + 1, group}
			}
		}
		return statement, store.OfInts(group)
	case modelDelete:
		delete(m, id)
		return statement, store.OfInts(id)
	default:
		maps.DeleteFunc(m, func(_ int64, e modelRow) bool { return e.group == group && e.left < left })
		return statement, store.OfInts(group, left)
	}
}

type modelTrial struct {
	*testing.T
	random *rand.Rand
	n      *session
	now    model
	kept   []*keptView
}

type keptView struct {
	ordered.Execution
	rows model
}

// check compares the results of all reading statements with a model.
func (x *modelTrial) check(what string, rows model, do func(statement int, row func(store.Row) error, parameters ...store.Value) error) {
	x.Helper()
	id, group, least := x.random.Int64N(40), x.random.Int64N(4), x.random.Int64N(20)
	parameters := [][]store.Value{modelAll: nil, modelGroup: store.OfInts(group, least), modelGroupByIndex: store.OfInts(group, least), modelKey: store.OfInts(id)}
	for statement, of := range parameters {
		var got []string
		if err := do(statement, collect(&got), of...); err != nil || !slices.Equal(got, rows.read(statement, id, group, least)) {
			x.Fatalf("%s, statement %d %v: %q, want %q, %v", what, statement, of, got, rows.read(statement, id, group, least), err)
		}
	}
}

// transact does a random transaction and sometimes gives up.
func (x *modelTrial) transact() {
	own := maps.Clone(x.now)
	r := x.n.Transaction(x.Context(), true, func(ctx context.Context, t store.Transaction) error {
		for range 1 + x.random.IntN(4) {
			statement, parameters := own.write(x.random)
			if _, err := t.Do(ctx, statement, nil, parameters...); err != nil {
				return err
			}
		}
		x.check("own", own, func(statement int, row func(store.Row) error, parameters ...store.Value) error {
			_, err := t.Do(ctx, statement, row, parameters...)
			return err
		})
		if x.random.IntN(4) == 0 {
			return store.ErrRollback
		}
		return nil
	})
	switch {
	case r.Outcome == history.Committed:
		x.now = own
	case r.Err == nil || r.Class != store.ClassOther:
		x.Errorf("%+v", r)
	}
}

// keep begins or ends a kept view.
func (x *modelTrial) keep() {
	if x.random.IntN(3) == 0 {
		v := &keptView{rows: x.now}
		err := x.n.View(x.Context(), func(r store.Reader) error { v.Execution = r.(*reader).Execution; return nil })
		expect.NoError(x, err)
		x.kept = append(x.kept, v)
	}
	if len(x.kept) > 0 && x.random.IntN(3) == 0 {
		i := x.random.IntN(len(x.kept))
		x.kept = slices.Delete(x.kept, i, i+1)
	}
}

// TestAgainstModel compares random statements with a map: present reads, reads in transactions that
// have written, and reads in open views.
func TestAgainstModel(t *testing.T) {
	for seed := range uint64(10) {
		db := openSchema(t, "mem://", modelSchema())
		x := &modelTrial{T: t, random: rand.New(rand.NewPCG(seed, 7)), n: sessionOf(t, db, modelStatements()...), now: model{}}
		for range 400 {
			x.transact()
			x.keep()
			for _, v := range x.kept {
				x.check("kept", v.rows, func(statement int, row func(store.Row) error, parameters ...store.Value) error {
					_, err := v.Do(x.n.plans[statement], parameters, row)
					return err
				})
			}
			x.check("now", x.now, func(statement int, row func(store.Row) error, parameters ...store.Value) error {
				return x.n.Run(t.Context(), store.Call{Statement: statement, Parameters: parameters, Row: row}).Err
			})
		}
		if db.d.tree.Len() != 2*len(x.now) || len(db.d.log) != 0 {
			t.Errorf("seed %d: %d entries are kept for %d rows", seed, db.d.tree.Len(), len(x.now))
		}
	}
}
