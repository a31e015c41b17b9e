package churn

import (
	"errors"
	"path/filepath"
	"slices"
	"testing"

	"assay/check"
	"assay/history"
	"assay/workload/definition"
)

const seed = 3

// story is a run of one cycle over four places in two tasks, all deleted and
// filled in again: rows 1 to 4 go, 5 to 8 come.
type story struct {
	ops  []history.Op
	rows []Row
}

func config() Config { return Config{Rows: 4, RowBytes: 9, DeleteShare: 1, Cycles: 1, Batch: 2} }

func told() *story {
	s := &story{}
	for seq, v := range [][]int64{{int64(KindInsert), 0, 0}, {int64(KindInsert), 0, 1}, {int64(KindDelete), 1, 0}, {int64(KindDelete), 1, 1},
		{int64(KindInsert), 1, 0}, {int64(KindInsert), 1, 1}} {
		s.ops = append(s.ops, history.Op{Seq: uint64(seq), Attempt: 1, Last: true, Kind: uint8(v[0]), Values: v[1:],
			Outcome: history.Committed, Final: history.Committed})
	}
	for id := int64(5); id <= 8; id++ {
		s.rows = append(s.rows, rows{config(), seed}.row(id))
	}
	return s
}

func (s *story) each(use func(Row) error) (err error) {
	for _, row := range s.rows {
		err = errors.Join(err, use(row))
	}
	return err
}

func (s *story) end(op int, outcome history.Outcome) {
	s.ops[op].Outcome, s.ops[op].Final = outcome, outcome
}

func (s *story) judge(t *testing.T, inFlight string) (definition.Judgement, error) {
	t.Helper()
	folder := t.TempDir()
	e := definition.Evidence{History: filepath.Join(folder, "history"), State: filepath.Join(folder, FileState), InFlight: inFlight}
	w, err := history.Create(e.History, history.Header{Run: "told"})
	err = errors.Join(err, w.Reserve(history.Reservation{UpTo: 100}))
	for i := range s.ops {
		err = errors.Join(err, w.Record(&s.ops[i]))
	}
	if err = errors.Join(err, w.Close(), save(e.State, func(int64) {}, s.each)); err != nil {
		t.Fatal(err)
	}
	c := config()
	return c.Judge(t.Context(), seed, e)
}

func TestJudge(t *testing.T) {
	old := rows{config(), seed}.row(1)
	tests := []struct {
		name   string
		change func(*story)
		kinds  []string
	}{
		{"all went well", func(*story) {}, nil},
		{"a row is lost", func(s *story) { s.rows = s.rows[1:] }, []string{"lost"}},
		{"of an unknown insert", func(s *story) { s.end(4, history.Unknown); s.rows = s.rows[1:] }, nil},
		{"of a failed insert", func(s *story) { s.end(4, history.Failed); s.rows = s.rows[2:] }, nil},
		{"a failed insert is there", func(s *story) { s.end(4, history.Failed) }, []string{"failed", "failed"}},
		{"one never begun is there", func(s *story) { s.ops = s.ops[:5] }, []string{"failed", "failed"}},
		{"a deleted row is there", func(s *story) { s.rows = append(s.rows, old) }, []string{"undeleted"}},
		{"after an unknown deletion", func(s *story) { s.end(2, history.Unknown); s.rows = append(s.rows, old) }, nil},
		{"of an insert that may have come late", func(s *story) { s.end(0, history.Unknown); s.rows = append(s.rows, old) }, nil},
		{"a failed deletion took its rows", func(s *story) { s.end(2, history.Failed) }, []string{"lost", "lost"}},
		{"a payload is wrong", func(s *story) { s.rows[0].Payload += "x" }, []string{"altered"}},
		{"a row is there twice", func(s *story) { s.rows = append(s.rows, s.rows[0]) }, []string{"doubled"}},
		{"a row of nobody's", func(s *story) { s.rows = append(s.rows, Row{ID: 9}) }, []string{"foreign"}},
	}
	for _, test := range tests {
		s := told()
		test.change(s)
		j, err := s.judge(t, "")
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		var kinds []string
		for _, e := range j.Results[0].Evidence {
			kinds = append(kinds, e.Kind)
		}
		want := check.Valid
		if test.kinds != nil {
			want = check.Violated
		}
		if !slices.Equal(kinds, test.kinds) || j.Results[0].Verdict != want {
			t.Errorf("%s: %v, found %v, want %v", test.name, j.Results[0].Verdict, kinds, test.kinds)
		}
	}
	if j, err := told().judge(t, "a client never came back"); err != nil || j.Results[0].Verdict != check.Unknown {
		t.Errorf("in flight: %+v, %v", j.Results, err)
	}
	s := told()
	s.ops[5].Values = []int64{1, 0} // what another operation has done
	var malformed *history.FormatError
	if _, err := s.judge(t, ""); !errors.As(err, &malformed) {
		t.Errorf("a task done twice: %v", err)
	}
}

// TestNothingToCompare: deletions and a repair put no row there that could be compared.
func TestNothingToCompare(t *testing.T) {
	s := told()
	for _, op := range []int{0, 1, 4, 5} {
		s.end(op, history.Unknown)
	}
	s.rows = nil
	s.ops = append(s.ops, history.Op{Seq: 6, Attempt: 1, Last: true, Kind: KindRepair, Outcome: history.Committed, Final: history.Committed})
	if j, err := s.judge(t, ""); err != nil || j.Results[0].Verdict != check.Unknown {
		t.Errorf("no insert was acknowledged: %+v, %v", j.Results, err)
	}
	s.end(4, history.Committed)
	s.rows = append(s.rows, rows{config(), seed}.row(5), rows{config(), seed}.row(6))
	if j, err := s.judge(t, ""); err != nil || j.Results[0].Verdict != check.Valid {
		t.Errorf("one insert was acknowledged: %+v, %v", j.Results, err)
	}
}

// TestEveryRowIsDeletedOnce: what the tasks delete is what was put there before.
func TestEveryRowIsDeletedOnce(t *testing.T) {
	c := Config{Rows: 103, RowBytes: 8, DeleteShare: 0.4, Cycles: 5, Batch: 10}
	r, there := rows{c, seed}, map[int64]bool{}
	put := func(cycle int64) {
		for task := range c.tasks() {
			for _, row := range r.inserted(cycle, task) {
				if _, _, ok := r.split(row.ID); !ok || there[row.ID] || len(row.Payload) != c.RowBytes {
					t.Fatalf("cycle %d inserts %+v", cycle, row)
				}
				there[row.ID] = true
			}
		}
	}
	put(0)
	for cycle := int64(1); cycle <= c.Cycles; cycle++ {
		for task := range c.tasks() {
			for _, id := range r.deleted(cycle, task) {
				if !there[id] {
					t.Fatalf("cycle %d deletes row %d, which is not there", cycle, id)
				}
				delete(there, id)
			}
		}
		if gone := 103 - len(there); gone < 20 || gone > 65 {
			t.Errorf("cycle %d deletes %d of 103 rows", cycle, gone)
		}
		put(cycle)
		if len(there) != 103 {
			t.Fatalf("after cycle %d there are %d rows", cycle, len(there))
		}
	}
}
