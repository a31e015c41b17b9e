package compare

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Gate is a limit on how far a figure may change, such as "throughput>-5%".
type Gate struct {
	text, metric, operator string
	// limit is a share: -0.05 for -5 %.
	limit float64
}

// GateResult is how a gate fared.
type GateResult struct {
	Gate string `json:"gate"`
	// Missed is true if the change is shown to be beyond the limit.
	Missed bool `json:"missed"`
	// Invalid is true if the gate rests on invalid measurements and says nothing.
	Invalid bool `json:"measurement_invalid,omitempty"`
	// P is the chance that groups whose change equals the limit look as bad.
	P      float64 `json:"p"`
	Detail string  `json:"detail"`
}

// GateError is a gate that cannot be understood or judged.
type GateError struct{ Text, Problem string }

func (e *GateError) Error() string { return fmt.Sprintf("gate %q: %s", e.Text, e.Problem) }

// ParseGate reads METRIC OPERATOR CHANGE: a metric as in the table, one of < <= > >=, and B's
// change against A in percent, such as -5% or +10%. Spaces are optional. It returns a *GateError.
func ParseGate(text string) (Gate, error) {
	refuse := func(format string, args ...any) (Gate, error) {
		return Gate{}, &GateError{text, fmt.Sprintf(format, args...) + "; write METRIC OPERATOR CHANGE, such as 'throughput>-5%' or 'p99<+10%'"}
	}
	at := strings.IndexAny(text, "<>")
	if at < 0 {
		return refuse("it has none of the operators < <= > >=")
	}
	g := Gate{text: strings.TrimSpace(text), metric: strings.TrimSpace(text[:at]), operator: text[at : at+1]}
	rest, hasEqual := strings.CutPrefix(text[at+1:], "=")
	if hasEqual {
		g.operator += "="
	}
	if g.metric == "" {
		return refuse("it names no metric")
	}
	digits, isPercent := strings.CutSuffix(strings.TrimSpace(rest), "%")
	if !isPercent {
		return refuse("the change has no %%")
	}
	change, err := strconv.ParseFloat(strings.TrimSpace(digits), 64)
	if err != nil || math.IsNaN(change) || math.IsInf(change, 0) || change < -100 {
		return refuse("%q is not a change in percent, -100%% or more", strings.TrimSpace(rest))
	}
	g.limit = change / 100
	return g, nil
}

// judge tests with a one-sided U test whether B is worse than A moved by the limit. The error of
// the first kind is divided by the number of gates (Bonferroni): all gates together raise at most
// one false alarm in twenty comparisons of equal groups.
func (g Gate) judge(c *Comparison, gates int) (GateResult, error) {
	at := slices.IndexFunc(c.Rows, func(r Row) bool { return r.Metric == g.metric })
	if at < 0 {
		var names []string
		for _, r := range c.Rows {
			names = append(names, r.Metric)
		}
		return GateResult{}, &GateError{g.text, fmt.Sprintf("%q is no figure of all these runs, which have %s", g.metric, strings.Join(names, ", "))}
	}
	row := c.Rows[at]
	level := alpha / float64(gates)
	switch {
	case row.least() < level:
	case leastOf(len(c.A.Runs), len(c.B.Runs)) < level:
		return GateResult{Gate: g.text, P: 1, Invalid: true, Detail: fmt.Sprintf("not answered: %d of %d measurements are invalid, and the others too few",
			c.A.Invalid()+c.B.Invalid(), len(c.A.Runs)+len(c.B.Runs))}, nil
	default:
		return GateResult{}, &GateError{g.text, fmt.Sprintf("%d against %d runs are too few to tell a change from chance; make five of each (--repeat 5)", row.A.Runs, row.B.Runs)}
	}
	moved := c.A.moved(row.metric, 1+g.limit)
	p := probability([2][]observation{moved, observed(row.metric, c.B)}) / 2
	middle := spreadOf(moved).Median
	beyond := row.B.Median < middle
	if strings.HasPrefix(g.operator, "<") {
		beyond = row.B.Median > middle
	}
	if !beyond {
		p = 1 - p
	}
	result := GateResult{Gate: g.text, P: p, Missed: beyond && p < level}
	switch {
	case result.Missed:
		result.Detail = fmt.Sprintf("missed: %s changed %s (p=%s)", g.metric, row.changedBy(), probabilityText(p))
	case beyond:
		result.Detail = fmt.Sprintf("kept: %s changed %s, and that it is beyond the limit may be chance (p=%s)", g.metric, row.changedBy(), probabilityText(p))
	default:
		result.Detail = fmt.Sprintf("kept: %s changed %s", g.metric, row.changedBy())
	}
	if c.A.unbelieved() || c.B.unbelieved() {
		result.Invalid, result.Missed = true, false
		result.Detail = fmt.Sprintf("not answered, since it rests on invalid measurements: %s changed %s", g.metric, row.changedBy())
	}
	return result, nil
}

// least is the smallest one-sided P of this many runs: one arrangement of all.
func (r Row) least() float64 { return leastOf(r.A.Runs, r.B.Runs) }

func leastOf(a, b int) float64 {
	p := 1.0
	for i := 1; i <= b; i++ {
		p *= float64(i) / float64(a+i)
	}
	return p
}

func changeText(change float64) string {
	if math.IsInf(change, 0) {
		return "from 0"
	}
	return fmt.Sprintf("%+.1f %%", change*100)
}

func probabilityText(p float64) string {
	if p < 0.001 {
		return "<0.001"
	}
	return strconv.FormatFloat(p, 'f', 3, 64)
}
