package tpcc

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"assay/check"
	"assay/internal/expect"
	"assay/workload/definition"
)

// TestNotesOfPayments: the data of a customer with bad credit have the notes of its
// payments, in whatever order, and behind them what was loaded, as far as it is kept.
func TestNotesOfPayments(t *testing.T) {
	const one, two = "1 2 3 4 5 6;", "7 8 9 10 11 12;"
	loaded := strings.Repeat("data ", 80)
	whole := customerKept(one + two + loaded)
	for name, c := range map[string]struct {
		data string
		same bool
	}{
		"the other order": {two + one + loaded, true}, "one is missing": {two + loaded, false},
		"one twice": {one + one + loaded, false}, "one is altered": {one + "7 8 9 10 11 13;" + loaded, false},
		"the rest is altered": {one + two + "x" + loaded[1:], false},
	} {
		if got := customerKept(c.data); got.differs(whole) == c.same {
			t.Errorf("%s: differs %t", name, !c.same)
		}
	}
	if got := customerKept(loaded); got.noted != 0 || got.notes != 0 {
		t.Errorf("without notes: %+v", got)
	}
	more := customerSums{noted: maxData + 1, notes: 1, otherData: true}
	if few := (customerSums{noted: maxData, notes: 1}); more.otherNotes() || !few.otherNotes() {
		t.Error("notes that are not kept any more are judged, or those that are kept are not")
	}
}

func customerKept(data string) kept { return rowTexts(&Customer{Data: data}) }

// TestNotJudgedAreColumns: what is said not to be judged is a column, and stands in the
// documents.
func TestNotJudgedAreColumns(t *testing.T) {
	page, err := os.ReadFile("../../docs/guides/tpcc.md")
	expect.NoError(t, err)
	for _, u := range NotJudged() {
		if words := strings.Join(strings.Fields(string(page)), " "); !strings.Contains(words, "`"+u.Column+"`") || !strings.Contains(words, u.What) {
			t.Errorf("docs/guides/tpcc.md does not say that of %s is not judged what is %s", u.Column, u.What)
		}
		if u.Table != "customer" || !slices.Contains(columnsOf(tableCustomer), u.Column) || u.What == "" {
			t.Errorf("%+v", u)
		}
	}
}

// TestAStateOfAnEarlierVersion has no texts, and the dates of a clock.
func TestAStateOfAnEarlierVersion(t *testing.T) {
	s := opening(t)
	since := int64(1_700_000_000_000)
	for i := range s.rows[tableCustomer] {
		s.customer(i).Since = since
	}
	for i := range s.rows[tableHistory] {
		s.payment(i).Date = since
	}
	for i := range s.rows[tableOrders] {
		s.order(i).Entered = since
	}
	for i := range s.rows[tableOrderLine] {
		if s.line(i).Delivered != 0 {
			s.line(i).Delivered = since
		}
	}
	path := filepath.Join(t.TempDir(), FileState)
	saveFormer(t, s, path)
	j := newJudge(smallConfig(), testSeed, definition.Evidence{State: path})
	if err := j.readState(); err != nil || j.missing != "" {
		t.Fatal(err, j.missing)
	}
	j.conditions()
	for _, r := range []check.Result{j.consistency, j.orders, j.payments, j.deliveries, j.stocks} {
		if r.Found > 0 {
			t.Errorf("%s: %+v", r.Name, r.Evidence)
		}
	}
	s.order(3).Entered++
	saveFormer(t, s, path)
	j = newJudge(smallConfig(), testSeed, definition.Evidence{State: path})
	if err := j.readState(); err != nil || j.orders.Found != 1 {
		t.Errorf("another date: %v, %+v", err, j.orders)
	}
}

// saveFormer writes a state as earlier versions have written it.
func saveFormer(t *testing.T, s *openingStore, path string) {
	t.Helper()
	err := stateRows().Former.Save(path, func(int64) {}, func(w *definition.RowWriter) error {
		return s.read(func(r row) error {
			var values []int64
			for _, field := range r.fields() {
				if number, is := field.(*int64); is {
					values = append(values, *number)
				}
			}
			return w.Put(r.table(), values...)
		})
	})
	expect.NoError(t, err)
}
