package sqldb

import (
	"database/sql/driver"
	"strconv"
	"testing"

	"assay/store"
)

// TestBoundRows: an INSERT of several rows has a place for each value, and the values
// beside it in the same order.
func TestBoundRows(t *testing.T) {
	c := StandardConn{Parameter: func(b []byte, v store.Value, arguments []driver.NamedValue) ([]byte, []driver.NamedValue) {
		arguments = append(arguments, driver.NamedValue{Ordinal: len(arguments) + 1, Value: v.Number})
		return strconv.AppendInt(append(b, ':'), int64(len(arguments)), 10), arguments
	}}
	text, arguments := c.bindRows(nil, "d.t", store.Rows{Columns: []string{"a", "b"}, Count: 2, Row: func(i int, into []store.Value) []store.Value {
		return append(into, store.OfInt(int64(i)), store.OfInt(7))
	}}, nil)
	if got := string(text); got != "INSERT INTO d.t (a, b) VALUES (:1,:2),(:3,:4)" {
		t.Error(got)
	}
	for i, want := range []int64{0, 7, 1, 7} {
		if arguments[i].Value != want {
			t.Errorf("argument %d is %v, want %d", i, arguments[i].Value, want)
		}
	}
	if text, _ := c.Bind(nil, "a = $2 AND b = $1 OR $3 $", []store.Value{store.OfInt(1), store.OfInt(2)}, nil); string(text) != "a = :1 AND b = :2 OR $3 $" {
		t.Error(string(text))
	}
}

// TestStandardFormat scans each kind of value that libraries give.
func TestStandardFormat(t *testing.T) {
	format := StandardFormat(func(text string, into []int64) ([]int64, error) { return append(into, int64(len(text))), nil })
	for _, values := range [][]driver.Value{
		{int64(7), true, "x", "list"}, {uint64(7), int64(1), []byte("x"), []byte("list")}, {[]byte("7"), []byte("1"), "x", "list"},
	} {
		var n int64
		var is bool
		var text string
		var list []int64
		if err := ScanRow(format, values, []any{&n, &is, &text, &list}); err != nil || n != 7 || !is || text != "x" || len(list) != 1 || list[0] != 4 {
			t.Errorf("%v: %d, %v, %q, %v, %v", values, n, is, text, list, err)
		}
	}
	var n int64
	for _, value := range []driver.Value{nil, uint64(1 << 63), "7", []byte("x")} {
		if err := ScanRow(format, []driver.Value{value}, []any{&n}); err == nil {
			t.Errorf("%v is taken for the integer %d", value, n)
		}
	}
}
