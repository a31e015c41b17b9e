package measure

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Threshold is a user's limit, such as "p99 < 20ms".
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

// OfFaults reports whether the threshold is about a time before, during or after faults. A run
// without faults cannot measure it.
func (t Threshold) OfFaults() bool { return t.window != wholeRun }

// ThresholdError is a threshold that cannot be understood.
type ThresholdError struct {
	Text, Problem string
}

func (e *ThresholdError) Error() string {
	return fmt.Sprintf("threshold %q: %s; write METRIC OPERATOR VALUE, such as %q, %q or %q; metrics are %s, and most with \"worst.\" before them",
		e.Text, e.Problem, "p99 < 20ms", "throughput >= 500", "p99 < 1s during faults", strings.Join(metricNames(), ", "))
}

// ParseThreshold reads METRIC OPERATOR VALUE, with optional spaces. Operators are < <= > >=. The
// metrics, all of the measured part, are
//
//   - throughput: committed operations a second; VALUE is a number
//   - mean, p50, p95, p99, p99.9 (or p999), max: response time of committed operations; VALUE is a
//     time such as 20ms or 1.5s
//   - service.mean to service.max: the same of their service time
//   - rejected, failed, unknown, errors (failed and unknown): operations with this end; VALUE is a
//     number, or a share of all operations such as 1%
//     Arrivals of an open loop that never started count in the response times and in errors. What
//     they would have come to is not known, so the figure has a lower bound and perhaps no answer.
//   - outage: the longest time without a successful write; VALUE is a time
//
// "before faults", "during faults" or "after faults" behind the value restricts any metric but
// outage to that time (FaultWindows).
//
// "worst." before a metric other than a service time takes the worst interval of the series within
// the measured part: the lowest throughput, otherwise the highest value. Operations count where
// they ended. Intervals without a committed operation have no response time; only worst.throughput
// sees them.
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
	Text string `json:"threshold"`
	// Measured is the figure, in Unit: "/s", "ms", "operations" or "%".
	Measured float64 `json:"measured"`
	Unit     string  `json:"unit"`
	// Kept means that the figure keeps the limit.
	Kept bool `json:"kept"`
	// AtLeast means that the run's end cut the figure.
	AtLeast bool `json:"at_least,omitempty"`
	// Undecided means that the figures do not tell whether the limit is kept: the whole of a cut
	// figure may keep it or not, or there is no figure. Kept is then false.
	Undecided bool `json:"undecided,omitempty"`
	// Missing says why there is no figure, and Measured is 0. It is empty if there is one.
	Missing string `json:"missing,omitempty"`
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
	if t.metric.arrivals != nil && !t.worst && of.Arrivals.Unserved > 0 {
		t.withArrivals(&of, &out)
		return out
	}
	if !ok {
		out.Undecided = true
		out.Missing = "nothing to measure it by: no such operations in the measured part"
		if t.OfFaults() {
			out.Missing = "nothing to measure it by: no such operations at that time"
		}
		if t.worst {
			out.Missing = fmt.Sprintf("nothing to measure it by: no such operations in a whole interval of %g s of the measured part",
				f.Series.IntervalSeconds)
		}
		return out
	}
	out.Measured = measured
	out.Kept = t.within(measured)
	out.AtLeast = t.metric.name == nameOutage && of.Outage.Open
	if out.AtLeast && out.Kept != t.within(math.Inf(1)) { // the whole outage may be longer and decide otherwise
		out.Kept, out.Undecided = false, true
	}
	return out
}

// withArrivals judges by all arrivals. If some never started, the figure is only known to lie
// between two bounds.
func (t Threshold) withArrivals(f *Figures, out *ThresholdResult) {
	least, most := t.metric.arrivals(f)
	if f.Arrivals.few() {
		most = least
	}
	least, _ = t.scaled(least, f.Arrivals.Total, true)
	most, _ = t.scaled(most, f.Arrivals.Total, true)
	out.Measured, out.AtLeast, out.Kept = least, least < most, t.within(least)
	if t.within(most) != out.Kept {
		out.Kept, out.Undecided = false, true
	}
}

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

// scaled turns a count into percent of total if the threshold is in percent.
func (t Threshold) scaled(value float64, total int64, ok bool) (float64, bool) {
	if !t.percent {
		return value, ok
	}
	if total == 0 {
		return 0, false
	}
	return 100 * value / float64(total), ok
}
