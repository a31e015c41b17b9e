package measure

import (
	"bytes"
	"testing"

	"assay/internal/expect"
)

// TestWritePercentiles: the text has its form also of nothing, and the unit is stated.
func TestWritePercentiles(t *testing.T) {
	some := newDistribution(fine)
	for i := range int64(1000) {
		some.record((i + 1) * 1e6)
	}
	for count, r := range map[string]ResponseTimes{"0": {}, "1000": {some}} {
		var b bytes.Buffer
		expect.NoError(t, r.WritePercentiles(&b))
		expect.Text(t, count, b.String(), "Value\tPercentile\tTotalCount\t1/(1-Percentile)\n", "Total count    =         "+pad(count), "#[Unit    = ms")
		if want := "     500.171     0.500000          500         2.00\n"; (count != "0") != bytes.Contains(b.Bytes(), []byte(want)) {
			t.Errorf("of %s operations it is %s", count, b.String())
		}
		if bytes.Contains(b.Bytes(), []byte("NaN")) {
			t.Errorf("of %s operations there is a figure that is no number: %s", count, b.String())
		}
	}
}

// pad is a count as wide as the text has it.
func pad(count string) string { return "    "[len(count):] + count }
