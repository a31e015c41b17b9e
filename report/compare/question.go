package compare

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"assay/internal/spelling"
	"assay/report"
)

// Pairing compares a figure between the configurations of two sides.
type Pairing struct {
	text, called string
	a, b         []string
	metric       string
}

// Answer is the runs' answer to a question.
type Answer struct {
	Sentence string
	// Known is false if the runs say nothing.
	Known bool
	Rows  [][]string
}

// AnswerHead heads the rows of answers.
func AnswerHead() []string {
	return []string{"compared", "with", "figure", "one", "other", "ratio", "95 % interval", "p"}
}

// PairingError is a comparison that cannot be understood, or not be made with these runs.
type PairingError struct{ Text, Problem string }

func (e *PairingError) Error() string { return fmt.Sprintf("compare %q: %s", e.Text, e.Problem) }

// ParsePairing reads SIDE against SIDE in FIGURE. A side is values joined by &: "postgres:2",
// "cluster=postgres:2 & clients=16", or "postgres" for all clusters of it. called is the
// sentence's name for the first side; empty for its values. It returns a *PairingError.
func ParsePairing(text, called string) (Pairing, error) {
	p := Pairing{text: strings.TrimSpace(text), called: called}
	sides, figure, found := cutLast(p.text, " in ")
	one, other, both := strings.Cut(sides, " against ")
	p.metric, p.a, p.b = figureName(figure), wordsOf(one), wordsOf(other)
	if !found || !both || p.metric == "" || len(p.a) == 0 || len(p.b) == 0 {
		return p, &PairingError{p.text, "write SIDE against SIDE in FIGURE, such as 'postgres:2 against mongodb:3 in throughput'"}
	}
	return p, nil
}

func cutLast(text, separator string) (before, after string, found bool) {
	at := strings.LastIndex(text, separator)
	if at < 0 {
		return text, "", false
	}
	return text[:at], text[at+len(separator):], true
}

func wordsOf(side string) (all []string) {
	for _, word := range strings.Split(side, "&") {
		if word = strings.TrimSpace(word); word != "" {
			all = append(all, word)
		}
	}
	return all
}

// Work describes the configurations' runs before they are made.
type Work struct {
	// Rounds names possible rounds; an empty name stands for any.
	Rounds []string
	// Own are figures that only some workloads have.
	Own            []string
	Faults, Ramped bool
	Priced         bool
}

// Check returns a *PairingError for configurations or a figure that no run will have.
func (p Pairing) Check(groups []Group, w Work) error {
	if _, err := p.pairs(planned(groups)); err != nil {
		return err
	}
	if why := w.lacks(p.metric); why != "" {
		return &PairingError{p.text, why}
	}
	return nil
}

// lacks says why no run has a figure; empty if runs may have it.
func (w Work) lacks(name string) string {
	round, figure, ofRound := cutLast(name, ": ")
	if ofRound && len(w.Rounds) > 0 {
		if !slices.Contains(w.Rounds, round) && !slices.Contains(w.Rounds, "") {
			return fmt.Sprintf("no run has a round %q; there are %s%s", round, strings.Join(w.Rounds, ", "), spelling.Hint(round, "", w.Rounds))
		}
		if known := roundFigureNames(); !slices.Contains(known, figure) {
			return fmt.Sprintf("a round has no figure %q; it has %s%s", figure, strings.Join(known, ", "), spelling.Hint(figure, "", known))
		}
		return ""
	}
	if all := layoutMetrics(&report.Result{}); !slices.ContainsFunc(all, func(m metric) bool { return m.name == name }) {
		return unknownFigure(name, all)
	}
	own := slices.Contains(w.Own, name)
	switch {
	case slices.Contains([]string{"lost", "done twice", "stale reads"}, name) && !own:
		return fmt.Sprintf("no run has %q, which only workload availability counts", name)
	case slices.Contains([]string{outageName, readOutageName}, name) && !w.Faults && !own,
		slices.Contains([]string{newPrimaryName, longestCallName}, name) && !w.Faults:
		return fmt.Sprintf("no run has %q, since none has a fault", name)
	case strings.HasPrefix(name, costName) && !w.Priced:
		return fmt.Sprintf("no run has %q, since none has a price", name)
	case name == degradationName && !w.Ramped:
		return fmt.Sprintf("no run has %q, since none has a ramp", name)
	}
	return ""
}

func unknownFigure(name string, all []metric) string {
	return fmt.Sprintf("%q is no figure of these runs, which have %s", name, known(name, nil, all))
}

// Answer says which side's figure is higher, by how much and how surely. It returns a
// *PairingError if no pair has the figure.
func (p Pairing) Answer(groups []Group) (Answer, error) {
	pairs, err := p.pairs(groups)
	if err != nil {
		return Answer{}, err
	}
	m, err := p.figure(pairs)
	if err != nil {
		return Answer{}, err
	}
	var out Answer
	var believed, doubted []pair
	for _, one := range pairs {
		out.Rows = append(out.Rows, answerRow(effectOf(m, []pair{one})))
		if one.a.doubted(m) || one.b.doubted(m) {
			doubted = append(doubted, one)
		} else {
			believed = append(believed, one)
		}
	}
	out.Known = len(believed) > 0
	out.Sentence = p.sentence(m, believed, doubted)
	return out, nil
}

func (p Pairing) sentence(m metric, believed, doubted []pair) string {
	clauses := p.clauses(m, believed)
	if len(doubted) > 0 {
		clauses = append(clauses, fmt.Sprintf("is not known, since no measurement of a side is valid (%s)", report.Joined("; ", p.conditions(doubted), whyNot(doubted))))
	}
	with := cmp.Or(p.called, strings.Join(alone(p.a, p.b), " & "))
	subject := m.subject()
	if shared := slices.DeleteFunc(slices.Clone(p.a), func(word string) bool { return !slices.Contains(p.b, word) }); len(shared) > 0 {
		subject += " of " + strings.Join(shared, " & ")
	}
	return fmt.Sprintf("With %s, %s %s.", with, subject, strings.Join(clauses, "; it "))
}

func whyNot(pairs []pair) string {
	var runs []Run
	for _, one := range pairs {
		for _, g := range []Group{one.a, one.b} {
			if g.unbelieved() {
				runs = append(runs, g.Runs...)
			}
		}
	}
	return Group{Runs: runs}.reasons()
}

func (p Pairing) figure(pairs []pair) (metric, error) {
	var groups []Group
	for _, one := range pairs {
		groups = append(groups, one.a, one.b)
	}
	all := slices.DeleteFunc(layoutMetrics(groups[0].Runs[0].Result), func(m metric) bool { return !everyRunHas(groups, m) })
	m, found := find(all, p.metric)
	if !found {
		return m, &PairingError{p.text, unknownFigure(p.metric, all)}
	}
	return m, nil
}

// clauses are one if all pairs agree, otherwise for pairs that show more, less, or nothing.
func (p Pairing) clauses(m metric, pairs []pair) (all []string) {
	if len(pairs) == 0 {
		return nil
	}
	whole := effectOf(m, pairs)
	parts := map[int][]pair{}
	for _, one := range pairs {
		sign := effectOf(m, []pair{one}).shown()
		parts[sign] = append(parts[sign], one)
	}
	if len(parts[1])*len(parts[-1]) == 0 && (whole.shown() != 0 || len(parts[0]) == len(pairs)) {
		return []string{p.clause(whole)}
	}
	for _, sign := range []int{1, -1, 0} {
		if len(parts[sign]) > 0 {
			all = append(all, p.clause(effectOf(m, parts[sign])))
		}
	}
	return all
}

// clause follows "with ... throughput".
func (p Pairing) clause(e effect) string {
	than, at := p.than(e), p.conditions(e.pairs)
	runs := runsOf(e)
	switch {
	case e.shown() != 0:
		return fmt.Sprintf("is %s %s (%s)", e.change(), than, report.Joined("; ", e.interval(), e.chance(), runs, at))
	case !e.enough:
		return fmt.Sprintf("is %s %s in these runs (%s), which are too few to tell a difference from chance: make five of each (--repeat 5)", e.change(), than, report.Joined("; ", e.interval(), runs, at))
	}
	return fmt.Sprintf("has no difference from %s that these runs could show (%s)", p.other(), report.Joined("; ", e.most(), e.chance(), runs, at))
}

func (p Pairing) than(e effect) string {
	if text := e.change(); strings.HasSuffix(text, "as high") || strings.HasSuffix(text, "the same") {
		return "as with " + p.other()
	}
	return "than with " + p.other()
}

func (p Pairing) other() string { return strings.Join(alone(p.b, p.a), " & ") }

func alone(side, other []string) []string {
	return slices.DeleteFunc(slices.Clone(side), func(word string) bool { return slices.Contains(other, word) })
}

func runsOf(e effect) string {
	least, most := len(observed(e.metric, e.pairs[0].a)), 0
	for _, one := range e.pairs {
		for _, g := range []Group{one.a, one.b} {
			n := len(observed(e.metric, g))
			least, most = min(least, n), max(most, n)
		}
	}
	switch {
	case least == most && most == 1:
		return "one run each"
	case least == most:
		return fmt.Sprintf("%d runs each", most)
	}
	return fmt.Sprintf("%d to %d runs each", least, most)
}

func (p Pairing) conditions(pairs []pair) string {
	var axes []string
	values := map[string][]string{}
	for _, one := range pairs {
		for _, v := range one.a.Values {
			if report.ValueOf(one.b.Values, v.Name) != v.Value || slices.Contains(one.a.axesWith(alone(p.a, p.b)), v.Name) {
				continue
			}
			if values[v.Name] == nil {
				axes = append(axes, v.Name)
			}
			if !slices.Contains(values[v.Name], v.Value) {
				values[v.Name] = append(values[v.Name], v.Value)
			}
		}
	}
	var parts []string
	for _, axis := range axes {
		if len(values[axis]) > 1 || !slices.Contains(pairs[0].a.axesWith(p.a), axis) { // what both sides name is said already
			parts = append(parts, axis+" "+strings.Join(values[axis], ", "))
		}
	}
	return strings.Join(parts, "; ")
}

func answerRow(e effect) []string {
	a, b := e.pairs[0].a, e.pairs[0].b
	x, y := a.spread(e.metric), b.spread(e.metric)
	ratio := e.change()
	if !e.differences && y.Median > 0 {
		ratio = boundOf(y, x, strconv.FormatFloat(x.Median/y.Median, 'f', 2, 64))
	}
	interval, p := e.interval(), probabilityText(e.p)
	if !e.enough {
		interval, p = "too few runs", "-"
	}
	if a.doubted(e.metric) || b.doubted(e.metric) {
		interval, p = "no valid measurement", "-"
	}
	return []string{a.Name, b.Name, e.metric.name, a.written(e.metric, x), b.written(e.metric, y), ratio, interval, p}
}

// pairs are groups with runs that differ only in what the sides name.
func (p Pairing) pairs(groups []Group) (pairs []pair, err error) {
	axes := map[string]bool{}
	a, err := p.side(groups, p.a, p.b, axes)
	if err != nil {
		return nil, err
	}
	b, err := p.side(groups, p.b, p.a, axes)
	if err != nil {
		return nil, err
	}
	for _, x := range a {
		for _, y := range b {
			if !slices.Equal(x.Values, y.Values) && alikeBut(x, y, axes) {
				pairs = append(pairs, pair{x, y})
			}
		}
	}
	if len(pairs) == 0 {
		return nil, &PairingError{p.text, "no configuration of the one side differs from one of the other in nothing but what is compared"}
	}
	return pairs, nil
}

// side are the groups with runs and a side's values. It adds axes that the other side lacks.
func (p Pairing) side(groups []Group, values, other []string, axes map[string]bool) (all []Group, err error) {
	matched := false
	for _, g := range groups {
		if g.axesWith(values) == nil {
			continue
		}
		matched = true
		for _, axis := range g.axesWith(alone(values, other)) {
			axes[axis] = true
		}
		if len(g.Runs) > 0 {
			all = append(all, g)
		}
	}
	switch {
	case !matched:
		return nil, &PairingError{p.text, fmt.Sprintf("no configuration has %s; values are %s", strings.Join(values, " and "), strings.Join(valuesOfAll(groups), ", "))}
	case len(all) == 0:
		return nil, &PairingError{p.text, "no configuration with " + strings.Join(values, " and ") + " has a run"}
	}
	return all, nil
}

// axesWith are the axes in which the group has these values; nil unless it has all. A value is
// such as "postgres:2", "cluster=postgres:2", "postgres" for all clusters of it, or "kill
// primary" for all faults that begin so.
func (g Group) axesWith(values []string) (axes []string) {
	for _, word := range values {
		at := slices.IndexFunc(g.Values, func(v report.Setting) bool {
			return word == v.Value || word == v.Name+"="+v.Value || strings.HasPrefix(v.Value, word+":") || strings.HasPrefix(v.Value, word+" ")
		})
		if at < 0 {
			return nil
		}
		axes = append(axes, g.Values[at].Name)
	}
	return axes
}

func valuesOfAll(groups []Group) (all []string) {
	for _, g := range groups {
		for _, v := range g.Values {
			if text := v.Name + "=" + v.Value; !slices.Contains(all, text) {
				all = append(all, text)
			}
		}
	}
	return all
}

func alikeBut(a, b Group, axes map[string]bool) bool {
	same := func(v report.Setting) bool {
		return axes[v.Name] || report.ValueOf(b.Values, v.Name) == v.Value
	}
	return !slices.ContainsFunc(a.Values, func(v report.Setting) bool { return !same(v) })
}
