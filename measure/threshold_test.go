package measure

import (
	"errors"
	"math"
	"strings"
	"testing"

	"assay/history"
	"assay/internal/expect"
)

// sample has three whole intervals, of which the second committed nothing and
// the third was bad.
func sample() Figures {
	f := Figures{
		Outage:      Gap{From: 1, To: 5e9, Known: true},
		Measured:    history.Counts{Committed: 900, Rejected: 60, Failed: 30, Unknown: 10},
		Throughput:  Throughput{PerSecond: 450, Seconds: 2},
		Latency:     Latency{Count: 900, Mean: 5, P50: 4, P95: 9, P99: 20, P999: 80, Max: 120},
		ServiceTime: Latency{Count: 900, Mean: 2, P50: 1, P95: 3, P99: 6, P999: 7, Max: 8},
		Series: Series{
			IntervalSeconds: 0.5,
			Whole:           []bool{false, true, true, true, false},
			Committed:       []int64{0, 600, 0, 200, 9999},
			Rejected:        []int64{999, 10, 0, 50, 0},
			Failed:          []int64{999, 0, 0, 30, 0},
			Unknown:         []int64{999, 0, 6, 4, 0},
			Mean:            []float64{999, 3, -1, 11, 1},
			P50:             []float64{999, 3, -1, 10, 1},
			P95:             []float64{999, 6, -1, 30, 1},
			P99:             []float64{999, 8, -1, 50, 1},
			P999:            []float64{999, 9, -1, 90, 1},
			Max:             []float64{999, 10, -1, 120, 1},
		},
	}
	part := f
	f.ByFaults = map[faultWindow]Figures{}
	for _, window := range faultWindows() {
		f.ByFaults[window] = part
	}
	return f
}

func TestThresholds(t *testing.T) {
	for text, want := range map[string]struct {
		measured float64
		unit     string
		kept     bool
	}{
		"throughput >= 450":     {450, "/s", true},
		"throughput > 450":      {450, "/s", false},
		"throughput<=450":       {450, "/s", true},
		"throughput <450":       {450, "/s", false},
		"  mean< 5.1ms ":        {5, "ms", true},
		"p50 < 4ms":             {4, "ms", false},
		"p95 <= 0.009s":         {9, "ms", true},
		"p99 < 20001us":         {20, "ms", true},
		"p99 < 20001µs":         {20, "ms", true},
		"p99.9 < 79ms":          {80, "ms", false},
		"p999<81ms":             {80, "ms", true},
		"max < 1m":              {120, "ms", true},
		"service.mean < 2ms":    {2, "ms", false},
		"service.p50 < 2ms":     {1, "ms", true},
		"service.p95 < 2ms":     {3, "ms", false},
		"service.p99 < 7ms":     {6, "ms", true},
		"service.p99.9 <= 7ms":  {7, "ms", true},
		"service.p999 <= 7ms":   {7, "ms", true},
		"service.max < 8ms":     {8, "ms", false},
		"failed <= 30":          {30, "operations", true},
		"failed < 3%":           {3, "%", false},
		"failed <= 3 %":         {3, "%", true},
		"rejected < 6.1%":       {6, "%", true},
		"unknown <= 0":          {10, "operations", false},
		"errors < 5%":           {4, "%", true},
		"errors<40":             {40, "operations", false},
		"worst.throughput >= 1": {0, "/s", false},
		"worst.throughput < 1":  {0, "/s", true},
		"worst.mean < 12ms":     {11, "ms", true},
		"worst.p50 < 12ms":      {10, "ms", true},
		"worst.p95 < 12ms":      {30, "ms", false},
		"worst.p99 < 20ms":      {50, "ms", false},
		"worst.p99.9 < 1s":      {90, "ms", true},
		"worst.p999 < 1s":       {90, "ms", true},
		"worst.max < 1s":        {120, "ms", true},
		"worst.max >= 1s":       {120, "ms", false},
		"worst.failed <= 30":    {30, "operations", true},
		"worst.rejected < 50":   {50, "operations", false},
		"worst.unknown < 10%":   {100, "%", false},
		"worst.errors < 35":     {34, "operations", true},
		"worst.failed < 11%":    {100 * 30.0 / 284, "%", true},
	} {
		threshold, err := ParseThreshold(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		got := threshold.Judge(sample())
		if math.Abs(got.Measured-want.measured) > 1e-9 || got.Unit != want.unit || got.Kept != want.kept ||
			got.Text != strings.TrimSpace(text) || got.Missing != "" {
			t.Errorf("%s: got %+v, want %+v", text, got, want)
		}
	}
}

func TestNothingMeasuredKeepsNoThreshold(t *testing.T) {
	for _, text := range []string{"p99 < 1s", "mean > 0s", "service.max < 1s", "failed <= 0", "failed < 1%", "throughput >= 0",
		"worst.p99 < 1s", "worst.throughput >= 0", "worst.failed < 1%", "worst.failed <= 0"} {
		threshold, err := ParseThreshold(text)
		expect.NoError(t, err)
		if got := threshold.Judge(Figures{}); got.Kept || !got.Undecided || got.Measured != 0 || !strings.HasPrefix(got.Missing, "nothing to measure") {
			t.Errorf("%s: %+v", text, got)
		}
	}
	empty := sample()
	empty.Series.Committed, empty.Series.Rejected = make([]int64, 5), make([]int64, 5)
	empty.Series.Failed, empty.Series.Unknown = make([]int64, 5), make([]int64, 5)
	empty.Series.P99 = []float64{-1, -1, -1, -1, -1}
	for _, text := range []string{"worst.failed < 1%", "worst.p99 < 1s"} {
		threshold, err := ParseThreshold(text)
		expect.NoError(t, err)
		if got := threshold.Judge(empty); got.Kept || got.Measured != 0 || got.Missing == "" {
			t.Errorf("%s of idle intervals: %+v", text, got)
		}
	}
}

func TestThresholdsThatCannotBeUnderstood(t *testing.T) {
	for text, problem := range map[string]string{
		"":                      "operator",
		"p99":                   "operator",
		"p99 = 5ms":             "operator",
		"p99 == 5ms":            "operator",
		"< 5ms":                 "names no metric",
		"p98 < 5ms":             `no metric "p98"`,
		"P99 < 5ms":             `no metric "P99"`,
		"worst < 5ms":           `no metric "worst"`,
		"worst. < 5ms":          `no metric "worst."`,
		"worst.worst.p99 < 5ms": "no metric",
		"worst.service.p99<5ms": `"service.p99" is not kept interval by interval`,
		"service.failed < 5":    "no metric",
		"p99 <":                 "no value",
		"p99 < 5":               "is not a time; p99 wants one such as 20ms",
		"p99 < -5ms":            "is not a time",
		"p99 < 5%":              "is not a time",
		"p99 < < 5ms":           "is not a time",
		"p99 =< 5ms":            "no metric",
		"throughput > 5%":       "not a number",
		"throughput > 5ms":      "not a number",
		"throughput > -1":       "not a number",
		"throughput > NaN":      "not a number",
		"throughput > Inf":      "not a number",
		"throughput > 1e999":    "not a number",
		"failed < %":            "not a number",
		"failed < 101%":         "more than 100%",
		"failed < 1%%":          "not a number",

		"p99 < during faults":           "is not a time",
		"p99 < 5ms while faults":        "is not a time",
		"p99 < 5ms faults":              "is not a time",
		"worst.p99 < 5ms during faults": "not of the time around faults",
		"outage < 5s after faults":      "of the whole measured part",
		"worst.outage < 5s":             "not kept interval by interval",
		"outage < 5":                    "is not a time",
	} {
		_, err := ParseThreshold(text)
		var typed *ThresholdError
		if !errors.As(err, &typed) || typed.Text != text || !strings.Contains(typed.Problem, problem) {
			t.Errorf("%q: got %v, want %q", text, err, problem)
			continue
		}
		for _, name := range metricNames() {
			if !strings.Contains(err.Error(), name) {
				t.Errorf("%q: the error does not list %s", text, name)
			}
		}
	}
}

func TestEveryMetricHasItsOwnName(t *testing.T) {
	seen := map[string]bool{"": true}
	for _, m := range metrics() {
		if seen[m.name] || m.alias != "" && seen[m.alias] {
			t.Errorf("%s is listed twice", m.name)
		}
		seen[m.name], seen[m.alias] = true, true
		if (m.point == nil) != (strings.HasPrefix(m.name, "service.") || m.name == nameOutage) {
			t.Errorf("%s: by interval or not", m.name)
		}
	}
	if len(seen) != 1+2+7+7+4+1 {
		t.Errorf("%d names", len(seen))
	}
}

// FuzzThreshold: whatever is understood can be judged, and its opposite fares
// the opposite way.
func FuzzThreshold(f *testing.F) {
	for _, text := range []string{"p99 < 20ms", "worst.throughput>=5", "failed <= 1 %", "service.p99.9 > 1.5s", "errors < 0", "worst.p50<", ">=", "p99<1s during faults", "outage < 10s", "failed<1% after faults"} {
		f.Add(text)
	}
	opposite := map[string]string{"<": ">=", "<=": ">", ">": "<=", ">=": "<"}
	f.Fuzz(func(t *testing.T, text string) {
		threshold, err := ParseThreshold(text)
		if err != nil {
			var typed *ThresholdError
			if !errors.As(err, &typed) || typed.Problem == "" {
				t.Errorf("%q: %v", text, err)
			}
			return
		}
		got := threshold.Judge(sample())
		if got.Text != strings.TrimSpace(text) || got.Missing != "" || got.Unit == "" || math.IsNaN(got.Measured) {
			t.Errorf("%q: %+v", text, got)
		}
		name, value, _ := strings.Cut(text, threshold.operator)
		other, err := ParseThreshold(name + opposite[threshold.operator] + value)
		if err != nil {
			t.Fatalf("%q and its opposite: %v", text, err)
		}
		if other.Judge(sample()).Kept == got.Kept {
			t.Errorf("%q and its opposite fare alike", text)
		}
		if threshold.Judge(Figures{}).Kept {
			t.Errorf("%q is kept by nothing", text)
		}
	})
}
