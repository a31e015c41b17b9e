package measure

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Threshold is a limit that the user set, such as "p99 < 20ms".
type Threshold struct {
	text     string
	metric   metric
	worst    bool
	operator string
	// limit is in the metric's unit, or in percent.
	limit   float64
	percent bool
	window  faultWindow
}

// OfFaults reports whether the threshold is on a time before, during or after
// faults, so that a run without faults has nothing to measure it by.
func (t Threshold) OfFaults() bool { return t.window != wholeRun }

// ThresholdError is a threshold that cannot be understood.
type ThresholdError struct {
	// Text is what was given, Problem what is wrong with it.
	Text, Problem string
}

func (e *ThresholdError) Error() string {
	return fmt.Sprintf("threshold %q: %s; write METRIC OPERATOR VALUE, such as %q, %q or %q; metrics are %s, and most with \"worst.\" before them",
		e.Text, e.Problem, "p99 < 20ms", "throughput >= 500", "p99 < 1s during faults", strings.Join(metricNames(), ", "))
}

// ParseThreshold reads METRIC OPERATOR VALUE; spaces are optional. Operators
// are < <= > >=. The metrics, all of the measured part, are
//
//   - throughput: committed operations a second; VALUE is a number
//   - mean, p50, p95, p99, p99.9 (or p999), max: response time of the committed
//     operations; VALUE is a time such as 20ms or 1.5s
//   - service.mean to service.max: the same of their service time
//   - rejected, failed, unknown, errors (failed and unknown): operations that
//     ended so; VALUE is a number, or a share of all operations such as 1%
//   - outage: the longest time without a successful write; VALUE is a time
//
// Behind the value may stand "before faults", "during faults" or "after faults": the
// threshold is then on that time alone (FaultWindows), whatever the metric but
// outage.
//
// With "worst." before it, a metric other than a service time is taken of each
// interval of the series that lies wholly in the measured part, and the worst
// counts: the lowest throughput, else the highest value. The operations of an
// interval are those that ended in it. An interval without a committed
// operation has no response time and is passed over; worst.throughput sees it.
//
// It returns a *ThresholdError.
func ParseThreshold(text string) (Threshold, error) {
	refuse := func(format string, args ...any) (Threshold, error) {
		return Threshold{}, &ThresholdError{Text: text, Problem: fmt.Sprintf(format, args...)}
	}
	at := strings.IndexAny(text, "<>")
	if at < 0 {
		return refuse("it has none of the operators < <= > >=")
	}
	t := Threshold{text: strings.TrimSpace(text), operator: text[at : at+1]}
	value := text[at+1:]
	if strings.HasPrefix(value, "=") {
		t.operator, value = t.operator+"=", value[1:]
	}
	name := strings.TrimSpace(text[:at])
	plain, worst := strings.CutPrefix(name, "worst.")
	found := false
	for _, m := range metrics() {
		if m.name == plain || m.alias != "" && m.alias == plain {
			t.metric, t.worst, found = m, worst, true
		}
	}
	switch {
	case name == "":
		return refuse("it names no metric")
	case !found:
		return refuse("there is no metric %q", name)
	case worst && t.metric.point == nil:
		return refuse("%q is not kept interval by interval", plain)
	}
	value = t.cutWindow(strings.TrimSpace(value))
	switch {
	case t.OfFaults() && worst:
		return refuse("\"worst.\" is of the whole measured part, not of the time around faults")
	case t.OfFaults() && t.metric.name == nameOutage:
		return refuse("an outage is of the whole measured part")
	}
	if problem := t.parseValue(value); problem != "" {
		return refuse("%s", problem)
	}
	return t, nil
}

// cutWindow takes "before faults" and the like from behind the value.
func (t *Threshold) cutWindow(value string) string {
	words := strings.Fields(value)
	if n := len(words); n > 2 && words[n-1] == "faults" {
		if window, known := faultWindows()[words[n-2]]; known {
			t.window = window
			return strings.Join(words[:n-2], " ")
		}
	}
	return value
}

// parseValue sets the limit, or returns what is wrong with the value.
func (t *Threshold) parseValue(value string) (problem string) {
	if value == "" {
		return "it has no value"
	}
	if t.metric.unit == unitMillis {
		limit, err := time.ParseDuration(value)
		if err != nil || limit < 0 {
			return fmt.Sprintf("%q is not a time; %s wants one such as 20ms or 1.5s", value, t.metric.name)
		}
		t.limit = millis(int64(limit))
		return ""
	}
	digits := value
	if t.metric.unit == unitOperations {
		digits, t.percent = strings.CutSuffix(value, "%")
		digits = strings.TrimSpace(digits)
	}
	limit, err := strconv.ParseFloat(digits, 64)
	switch {
	case err != nil || math.IsNaN(limit) || math.IsInf(limit, 0) || limit < 0:
		return fmt.Sprintf("%q is not a number of 0 or more", value)
	case t.percent && limit > 100:
		return fmt.Sprintf("%q is more than 100%%", value)
	}
	t.limit = limit
	return ""
}

// ThresholdResult is how a threshold fared. It has the keys of result.json.
type ThresholdResult struct {
	// Text is the threshold as it was given.
	Text string `json:"threshold"`
	// Measured is the figure, in Unit: "/s", "ms", "operations" or "%".
	Measured float64 `json:"measured"`
	Unit     string  `json:"unit"`
	// Kept is true if the figure keeps the limit. Where there was nothing to
	// measure, Measured is 0, Kept is false and Detail says so.
	Kept bool `json:"kept"`
	// AtLeast is true if the run's end cut the figure, and Undecided if the whole of it may keep
	// the limit or not.
	AtLeast   bool   `json:"at_least,omitempty"`
	Undecided bool   `json:"undecided,omitempty"`
	Detail    string `json:"-"`
}

// Judge compares the threshold with the figures.
func (t Threshold) Judge(f Figures) ThresholdResult {
	out := ThresholdResult{Text: t.text, Unit: t.metric.unit}
	if t.percent {
		out.Unit = "%"
	}
	of := f
	if t.OfFaults() {
		of = f.ByFaults[t.window] // empty of a run without faults
	}
	measured, ok := t.measure(&of)
	if !ok {
		out.Detail = "nothing to measure it by: no such operations in the measured part"
		if t.worst {
			out.Detail = fmt.Sprintf("nothing to measure it by: no such operations in a whole interval of %g s of the measured part",
				f.Series.IntervalSeconds)
		}
		return out
	}
	out.Measured = measured
	out.Kept = t.within(measured)
	out.AtLeast = t.metric.name == nameOutage && of.Outage.Open
	if out.AtLeast && out.Kept != t.within(math.Inf(1)) { // a longer one might not be the same
		out.Kept, out.Undecided = false, true
	}
	return out
}

// within reports whether a figure keeps the limit.
func (t Threshold) within(figure float64) bool {
	switch t.operator {
	case "<":
		return figure < t.limit
	case "<=":
		return figure <= t.limit
	case ">":
		return figure > t.limit
	default:
		return figure >= t.limit
	}
}

func (t Threshold) measure(f *Figures) (value float64, ok bool) {
	if !t.worst {
		value, ok = t.metric.whole(f)
		return t.scaled(value, f.Measured.Total(), ok)
	}
	found := false
	for i, whole := range f.Series.Whole {
		if !whole {
			continue
		}
		s := &f.Series
		at, ok := t.metric.point(s, i)
		at, ok = t.scaled(at, s.outcomes(i).Total(), ok)
		if ok && (!found || t.metric.lowIsBad && at < value || !t.metric.lowIsBad && at > value) {
			value, found = at, true
		}
	}
	return value, found
}

// scaled turns a count into percent of total where the threshold asks so.
func (t Threshold) scaled(value float64, total int64, ok bool) (float64, bool) {
	if !t.percent {
		return value, ok
	}
	if total == 0 {
		return 0, false
	}
	return 100 * value / float64(total), ok
}
