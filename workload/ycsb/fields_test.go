package ycsb

import (
	"path/filepath"
	"testing"

	"assay/check"
	"assay/history"
	"assay/internal/expect"
	"assay/store"
	"assay/workload/definition"
)

// textRun is a run by properties, of three records with two fields each.
type textRun struct {
	properties map[string]string
	existing   bool
	ops        []history.Op
	// state has the versions of the fields by the number of the record.
	state map[int64][]int64
}

func (x textRun) judge(t *testing.T) string {
	t.Helper()
	c := Defaults()
	c.Properties = map[string]string{"recordcount": "3", "fieldcount": "2", "insertproportion": "0.1", "scanproportion": "0.1", "maxscanlength": "10"}
	for name, value := range x.properties {
		c.Properties[name] = value
	}
	if x.existing {
		c.UseExisting()
	}
	of, err := c.core()
	expect.NoError(t, err)
	folder := t.TempDir()
	e := definition.Evidence{History: filepath.Join(folder, "history"), State: filepath.Join(folder, "state"), Promise: store.Linearizable}
	w, err := history.Create(e.History, history.Header{Run: "test"})
	expect.NoError(t, err)
	for i := range x.ops {
		expect.NoError(t, w.Record(&x.ops[i]))
	}
	expect.NoError(t, w.Close(), textRows().Save(e.State, func(int64) {}, func(w *definition.RowWriter) error {
		for number, versions := range x.state {
			for unit, v := range versions {
				if err := w.Put(0, of.keys.keyOf(number), int64(unit), v); err != nil {
					return err
				}
			}
		}
		return nil
	}))
	results, _, err := Judge(c, 1, e)
	expect.NoError(t, err)
	var text string
	for _, r := range results {
		for _, found := range r.Evidence {
			text += r.Name + " " + found.Kind + ";"
		}
		if r.Verdict == check.Violated && len(r.Evidence) == 0 {
			text += r.Name + " without evidence;"
		}
	}
	return text
}

// whole is the state after loading, with changes.
func whole(changes map[int64][]int64) map[int64][]int64 {
	state := map[int64][]int64{}
	for n := range int64(3) {
		state[n] = []int64{was(n), was(n)}
	}
	for n, v := range changes {
		if state[n] = v; v == nil {
			delete(state, n)
		}
	}
	return state
}

// TestFieldsAreJudgedByThemselves: each wrong history beside one that differs in one thing.
func TestFieldsAreJudgedByThemselves(t *testing.T) {
	one := int64(1)
	write := op(0, 0, KindUpdate, 10, 20, one, 0) // of field 0 of record 1
	after := whole(map[int64][]int64{1: {by(0, 0), was(1)}})
	for name, c := range map[string]struct {
		ops   []history.Op
		state map[int64][]int64
		found string
	}{
		"both fields":             {[]history.Op{write, op(1, 0, KindRead, 30, 40, one, -1, by(0, 0), was(1))}, after, ""},
		"one field is old":        {[]history.Op{write, op(1, 0, KindRead, 30, 40, one, -1, was(1), was(1))}, after, "linearizable overwritten;"},
		"another field":           {[]history.Op{write, op(1, 0, KindRead, 30, 40, one, 1, was(1))}, after, ""},
		"another field has it":    {[]history.Op{write, op(1, 0, KindRead, 30, 40, one, 1, by(0, 0))}, after, "reads foreign;"},
		"an update is lost":       {[]history.Op{write}, whole(nil), "records overwritten;"},
		"a record is gone":        {nil, whole(map[int64][]int64{2: nil}), "records lost;"},
		"a read finds none":       {[]history.Op{op(1, 0, KindRead, 30, 40, one, -1, int64(absent))}, whole(nil), "linearizable missing;"},
		"a garbled field":         {[]history.Op{op(1, 0, KindRead, 30, 40, one, -1, was(1), int64(garbled))}, whole(nil), "reads garbage;"},
		"a failed write is there": {[]history.Op{ended(write, history.Failed)}, after, "records failed;"},
		"an insert":               {[]history.Op{op(0, 0, KindInsert, 10, 20, 3)}, whole(map[int64][]int64{3: {by(0, 0), by(0, 0)}}), ""},
		"an insert is lost":       {[]history.Op{op(0, 0, KindInsert, 10, 20, 3)}, whole(nil), "records lost;"},
		"half an insert":          {[]history.Op{op(0, 0, KindInsert, 10, 20, 3)}, whole(map[int64][]int64{3: {by(0, 0), int64(garbled)}}), "records garbage;"},
		"a read-modify-write": {[]history.Op{op(0, 0, KindReadModifyWrite, 10, 30, one, -1, 0, was(1), was(1), 5, 12), op(1, 0, KindRead, 40, 50, one, 0, by(0, 0))},
			whole(map[int64][]int64{1: {by(0, 0), was(1)}}), ""},
		"a scan":              {[]history.Op{write, op(1, 0, KindScan, 30, 40, scanned(fnvOrder()[0], 10, fnvOrder(), map[int64]int64{1: by(0, 0)})...)}, after, ""},
		"a scan leaves out":   {[]history.Op{write, op(1, 0, KindScan, 30, 40, scanned(fnvOrder()[0], 10, fnvOrder()[:2], map[int64]int64{1: by(0, 0)})...)}, after, "scans left out;"},
		"a scan out of order": {[]history.Op{op(1, 0, KindScan, 30, 40, scanned(fnvOrder()[0], 10, []int64{fnvOrder()[0], fnvOrder()[2], fnvOrder()[1]}, nil)...)}, whole(nil), "scans order;"},
	} {
		if got := (textRun{ops: c.ops, state: c.state}).judge(t); got != c.found {
			t.Errorf("%s: %q, not %q", name, got, c.found)
		}
	}
}

// fnvOrder are the three records in the order of their keys.
func fnvOrder() []int64 {
	k := keys{texts: true, hashed: true, padding: 1}
	order := []int64{0, 1, 2}
	for i := range order {
		for j := range order[i:] {
			if k.compare(k.keyOf(order[i]), k.keyOf(order[i+j])) > 0 {
				order[i], order[i+j] = order[i+j], order[i]
			}
		}
	}
	return order
}

// scanned are the values of a scan that returned these records, with these versions of the
// first field.
func scanned(from, limit int64, numbers []int64, versions map[int64]int64) []int64 {
	k := keys{texts: true, hashed: true, padding: 1}
	values := []int64{from, limit, everyField}
	for _, n := range numbers {
		first := was(n)
		if v, changed := versions[n]; changed {
			first = v
		}
		values = append(values, k.keyOf(n), first, was(n))
	}
	return values
}

// TestExistingRecordsAreJudgedFromTheFirstWriteOn: before, a record may have anything, and may
// not be there; records of others are not looked at.
func TestExistingRecordsAreJudgedFromTheFirstWriteOn(t *testing.T) {
	one, theirs := int64(1), int64(others)
	write := op(0, 0, KindUpdate, 10, 20, one, 0)
	state := func(changes map[int64][]int64) map[int64][]int64 {
		all := map[int64][]int64{0: {theirs, theirs}, 1: {by(0, 0), theirs}, 2: {theirs, theirs}, 12345: {theirs, theirs}}
		for n, v := range changes {
			if all[n] = v; v == nil {
				delete(all, n)
			}
		}
		return all
	}
	for name, c := range map[string]struct {
		ops   []history.Op
		state map[int64][]int64
		found string
	}{
		"anything before":              {[]history.Op{op(1, 0, KindRead, 1, 5, one, -1, theirs, theirs), write, op(1, 1, KindRead, 30, 40, one, -1, by(0, 0), theirs)}, state(nil), ""},
		"nothing before":               {[]history.Op{op(1, 0, KindRead, 1, 5, 2, -1, int64(absent)), write}, state(map[int64][]int64{2: nil, 0: nil}), ""},
		"theirs after":                 {[]history.Op{write, op(1, 0, KindRead, 30, 40, one, 0, theirs)}, state(nil), "linearizable overwritten;"},
		"gone after":                   {[]history.Op{write, op(1, 0, KindRead, 30, 40, one, -1, int64(absent))}, state(nil), "linearizable overwritten;"},
		"theirs in the end":            {[]history.Op{write}, state(map[int64][]int64{1: {theirs, theirs}}), "records overwritten;"},
		"gone in the end":              {[]history.Op{write}, state(map[int64][]int64{1: nil}), "records lost;"},
		"an insert":                    {[]history.Op{write, op(1, 0, KindInsert, 10, 20, 3)}, state(map[int64][]int64{3: {by(1, 0), by(1, 0)}}), ""},
		"an insert is lost":            {[]history.Op{write, op(1, 0, KindInsert, 10, 20, 3)}, state(nil), "records lost;"},
		"an insert on another's":       {[]history.Op{write, ended(op(1, 0, KindInsert, 10, 20, 3), history.Failed)}, state(map[int64][]int64{3: {theirs, theirs}}), ""},
		"the same seed has run before": {[]history.Op{op(1, 0, KindRead, 1, 5, one, 0, by(0, 0)), op(1, 1, KindRead, 1, 5, one, 1, by(5, 7)), write}, state(nil), ""},
	} {
		if got := (textRun{existing: true, ops: c.ops, state: c.state}).judge(t); got != c.found {
			t.Errorf("%s: %q, not %q", name, got, c.found)
		}
	}
}

// TestFixedContents: where fields do not say who wrote them, what they hold and which records
// are there is judged, and no update.
func TestFixedContents(t *testing.T) {
	state := func(changes map[int64][]int64) map[int64][]int64 {
		all := map[int64][]int64{0: {int64(fixed)}, 1: {int64(fixed)}, 2: {int64(fixed)}}
		for n, v := range changes {
			if all[n] = v; v == nil {
				delete(all, n)
			}
		}
		return all
	}
	insert := op(0, 0, KindInsert, 10, 20, 3)
	for name, c := range map[string]struct {
		ops   []history.Op
		state map[int64][]int64
		found string
	}{
		"all as it is to be":  {[]history.Op{insert, op(1, 0, KindUpdate, 10, 20, 1), op(1, 1, KindRead, 30, 40, 1, int64(fixed)), op(1, 2, KindRead, 50, 60, 3, int64(fixed))}, state(map[int64][]int64{3: {int64(fixed)}}), ""},
		"a read is wrong":     {[]history.Op{op(1, 0, KindRead, 30, 40, 1, int64(garbled))}, state(nil), "reads garbage;"},
		"an insert is lost":   {[]history.Op{insert}, state(nil), "records lost;"},
		"an insert is missed": {[]history.Op{insert, op(1, 0, KindRead, 30, 40, 3, int64(absent))}, state(map[int64][]int64{3: {int64(fixed)}}), "linearizable order;"},
		"a record is gone":    {nil, state(map[int64][]int64{0: nil}), "records lost;"},
		"a record is wrong":   {nil, state(map[int64][]int64{0: {int64(garbled)}}), "records garbage;"},
		"a failed insert":     {[]history.Op{ended(insert, history.Failed)}, state(map[int64][]int64{3: {int64(fixed)}}), "records failed;"},
	} {
		if got := (textRun{properties: map[string]string{"dataintegrity": "true"}, ops: c.ops, state: c.state}).judge(t); got != c.found {
			t.Errorf("%s: %q, not %q", name, got, c.found)
		}
	}
}
