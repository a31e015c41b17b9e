package sqldb

import (
	"database/sql/driver"
	"testing"
)

// TestStandardFormat scans each kind of value from libraries.
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
