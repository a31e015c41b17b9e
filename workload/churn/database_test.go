package churn_test

import (
	"errors"
	"math"
	"slices"
	"testing"

	"assay/driver/mem"
	"assay/history"
	"assay/store"
	"assay/workload"
	"assay/workload/churn"
)

// TestRows inserts and deletes rows, and repairs.
func TestRows(t *testing.T) {
	s, err := churn.Opener(mem.Open)(t.Context(), workload.Target{Address: "mem://"})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Create(t.Context(), workload.Marker{Loaded: true}); err != nil {
		t.Fatal(err)
	}
	session, err := s.Session(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	rows := []churn.Row{{ID: 1, Payload: "a"}, {ID: 2, Payload: "it's"}, {ID: 1<<53 + 1, Payload: ""}, {ID: math.MaxInt64, Payload: "d"}}
	for i, r := range []churn.Reply{session.Insert(t.Context(), rows), session.Insert(t.Context(), nil),
		session.Delete(t.Context(), []int64{1, 77}), session.Delete(t.Context(), nil)} {
		if r.Outcome != history.Committed {
			t.Errorf("step %d: %+v", i, r)
		}
	}
	if r := session.Insert(t.Context(), rows[:2]); r.Outcome == history.Committed || r.Class == "" {
		t.Errorf("rows of which one is there: %+v", r)
	}
	if err := s.Repair(t.Context(), "no such repair"); err == nil || len(s.Repairs()) == 0 {
		t.Errorf("a repair that does not exist: %v, of %v", err, s.Repairs())
	}
	for _, name := range s.Repairs() {
		if err := s.Repair(t.Context(), name); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	var left []churn.Row
	err = s.Read(t.Context(), func(r churn.Row) error { left = append(left, r); return nil })
	slices.SortFunc(left, func(a, b churn.Row) int { return int(a.ID>>1 - b.ID>>1) })
	if err != nil || !slices.Equal(left, rows[1:]) {
		t.Errorf("%+v are left, %v; want %+v", left, err, rows[1:])
	}
	if size, err := s.Size(t.Context()); err != nil || size.Rows["entry"] != 3 {
		t.Errorf("%+v, %v", size, err)
	}
}

// plain has none of the optional parts.
type plain struct{ store.Database }

func (plain) Lacks() store.Lacks { return store.Lacks{store.Compactions: "nothing gives space back"} }

func TestWithoutCompactions(t *testing.T) {
	if _, err := churn.Over(plain{}); err == nil {
		t.Error("it was opened")
	}
	if s := churn.On(mem.Open, plain{}.Lacks()); s.Open != nil || !errors.As(s.Refused(), new(*workload.OptionError)) {
		t.Errorf("%+v", s)
	}
}
