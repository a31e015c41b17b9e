package sqldb

import (
	"database/sql/driver"
	"testing"
)

// TestTyped: no digit of a decimal is lost where the database has decimals; the others make floats
// of them by themselves.
func TestTyped(t *testing.T) {
	for text, want := range map[string]struct{ exact, float driver.Value }{
		"7": {int64(7), int64(7)}, "-7": {int64(-7), int64(-7)}, "007": {"007", "007"}, "x": {"x", "x"}, "1.5x": {"1.5x", "1.5x"}, "": {"", ""},
		"1.5": {1.5, 1.5}, "-0.25": {-0.25, -0.25}, "1e3": {1000.0, 1000.0}, "0.1": {0.1, 0.1},
		"0.10": {"0.10", 0.1}, "12345678901234567.89": {"12345678901234567.89", 12345678901234567.89}, "12345678901234567890": {"12345678901234567890", 12345678901234567890.0},
		"0.1234567890123456": {"0.1234567890123456", 0.1234567890123456},
	} {
		if got := typed(text, true); got != want.exact {
			t.Errorf("%q with decimals: %T %v, want %v", text, got, got, want.exact)
		}
		if got := typed(text, false); got != want.float {
			t.Errorf("%q: %T %v, want %v", text, got, got, want.float)
		}
	}
}
