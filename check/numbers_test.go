package check

import (
	"math"
	"testing"
)

func TestCounts(t *testing.T) {
	for got, want := range map[string]string{
		Count(0):                      "0",
		Count(999):                    "999",
		Count(1000):                   "1,000",
		Count(int64(-1234567)):        "-1,234,567",
		Count(int64(math.MinInt64)):   "-9,223,372,036,854,775,808",
		Count(uint64(math.MaxUint64)): "18,446,744,073,709,551,615",
		Counted(0, "row", "rows"):     "0 rows",
		Counted(1, "row", "rows"):     "1 row",
		Counted(5405, "row", "rows"):  "5,405 rows",
		CountOrNone(0):                "none",
		CountOrNone(uint64(23837)):    "23,837",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
