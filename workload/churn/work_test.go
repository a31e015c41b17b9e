package churn

import (
	"errors"
	"math"
	"slices"
	"testing"

	"assay/driver/mem"
	"assay/history"
	"assay/internal/expect"
	"assay/store"
	"assay/workload/definition"
)

// TestWork inserts and deletes the rows of tasks, and repairs.
func TestWork(t *testing.T) {
	db, err := mem.Open(t.Context(), store.Target{Address: "mem://"}, Schema())
	expect.NoError(t, err)
	c := config()
	opened, err := c.Open(t.Context(), db, seed, 1)
	if err == nil {
		err = opened.Create(t.Context(), store.Marker{})
	}
	expect.NoError(t, err)
	w := opened.(*work)
	session, err := db.Session(t.Context(), statements())
	expect.NoError(t, err)
	defer session.Close()
	none := rows{Config{Rows: 4, RowBytes: 9, Cycles: 1, Batch: 2}, seed} // deletes nothing
	for i, r := range []store.Reply{w.rows.do(t.Context(), session, KindInsert, 0, 0), w.rows.do(t.Context(), session, KindInsert, 0, 1),
		w.rows.do(t.Context(), session, KindDelete, 1, 0), w.rows.do(t.Context(), session, KindDelete, 1, 0),
		none.do(t.Context(), session, KindInsert, 1, 0), none.do(t.Context(), session, KindDelete, 1, 1)} {
		if r.Outcome != history.Committed {
			t.Errorf("step %d: %+v", i, r)
		}
	}
	if r := w.rows.do(t.Context(), session, KindInsert, 0, 1); r.Outcome == history.Committed || r.Class == "" {
		t.Errorf("rows that are there: %+v", r)
	}
	odd := []Row{{ID: 1<<53 + 1, Payload: ""}, {ID: math.MaxInt64, Payload: "it's"}}
	if r := session.Insert(t.Context(), store.RowsOf(table, Columns(), odd)); r.Outcome != history.Committed {
		t.Errorf("%+v", r)
	}
	if rounds := w.Rounds(); len(rounds) != 3 || len(w.repairs) == 0 {
		t.Errorf("rounds %+v, repairs %v", rounds, w.repairs)
	}
	for _, name := range append(w.repairs, "no such repair") {
		want := history.Committed
		if name == "no such repair" {
			want = history.Unknown
		}
		if a := (&repairer{w.compacting, name}).Attempt(t.Context(), 0, 1); a.Outcome != want {
			t.Errorf("%s: %+v", name, a)
		}
	}
	var left []Row
	err = store.ReadAll(t.Context(), db.View, func(r store.Reader) error {
		return store.Each(t.Context(), r, table, Columns(), func(r Row) error { left = append(left, r); return nil }, "id")
	})
	if want := append([]Row{w.rows.row(3), w.rows.row(4)}, odd...); err != nil || !slices.Equal(left, want) {
		t.Errorf("%+v are left, %v; want %+v", left, err, want)
	}
	if size, err := w.Size(t.Context()); err != nil || size.Rows["entry"] != 4 {
		t.Errorf("%+v, %v", size, err)
	}
}

// plain has none of the optional parts.
type plain struct{ store.Database }

func (plain) Lacks() store.Lacks { return store.Lacks{store.Compactions: "nothing gives space back"} }

func TestWithoutCompactions(t *testing.T) {
	c := config()
	if _, err := c.Open(t.Context(), plain{}, seed, 1); err == nil {
		t.Error("it was opened")
	}
	if s := definition.SupportOf(Definition(), mem.Open, plain{}.Lacks()); s.Open != nil || !errors.As(s.Refused(), new(*store.OptionError)) {
		t.Errorf("%+v", s)
	}
}
