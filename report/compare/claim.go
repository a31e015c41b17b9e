package compare

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"assay/report"
)

// Claim is a sentence about the configurations of a series that its runs bear out or do
// not: one side's figure is larger, or smaller, than the other's.
type Claim struct {
	text   string
	a, b   []string
	less   bool
	by     float64 // a share: 0.2 for 20 %
	metric string
}

// ClaimResult is how a claim fared.
type ClaimResult struct {
	Claim string
	// State is Held, NotHeld or NotShown.
	State string
	// Detail has the figures of each pair of configurations.
	Detail []string
}

// The states of a claim. NotShown is neither: the difference may be chance, or the
// measurements cannot be believed.
const (
	Held     = "held"
	NotHeld  = "not held"
	NotShown = "not shown"
)

// ClaimError is a claim that cannot be understood, or not be judged of these runs.
type ClaimError struct{ Text, Problem string }

func (e *ClaimError) Error() string { return fmt.Sprintf("claim %q: %s", e.Text, e.Problem) }

// ParseClaim reads SIDE > SIDE [by N %] in METRIC, with < for less. A side is values of what
// varies, joined by &: "postgres:2", "cluster=postgres:2 & clients=16", or "postgres" for
// all clusters of it. It returns a *ClaimError.
func ParseClaim(text string) (Claim, error) {
	refuse := func(format string, args ...any) (Claim, error) {
		return Claim{}, &ClaimError{text, fmt.Sprintf(format, args...) + "; write SIDE > SIDE by 20 % in METRIC, such as 'postgres:2 > mongodb:3 by 20 % in throughput'"}
	}
	sides, metric, found := cutLast(text, " in ")
	if !found || strings.TrimSpace(metric) == "" {
		return refuse("it names no metric")
	}
	c := Claim{text: strings.TrimSpace(text), metric: figureName(metric)}
	if before, share, found := cutLast(sides, " by "); found {
		digits, isPercent := strings.CutSuffix(strings.TrimSpace(share), "%")
		n, err := strconv.ParseFloat(strings.TrimSpace(digits), 64)
		if !isPercent || err != nil || !(n >= 0) || math.IsInf(n, 0) {
			return refuse("%q is no share in percent", strings.TrimSpace(share))
		}
		c.by, sides = n/100, before
	}
	at := strings.IndexAny(sides, "<>")
	if at < 0 || strings.ContainsAny(sides[at+1:], "<>") {
		return refuse("it needs one < or >")
	}
	c.less = sides[at] == '<'
	if c.less && c.by >= 1 {
		return refuse("nothing is less by 100 %% or more")
	}
	c.a, c.b = wordsOf(sides[:at]), wordsOf(sides[at+1:])
	if len(c.a) == 0 || len(c.b) == 0 {
		return refuse("a side is empty")
	}
	return c, nil
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

// Judge says whether the claim holds of each pair of configurations that differ in nothing
// but what it names, by the test of a comparison: values of one side are moved by the share,
// and the U test says whether the other side's still lie beyond them (p < 0.05). A claim is
// not held if a pair shows the contrary, with p divided by the number of pairs (Bonferroni).
// It returns a *ClaimError if there is no such pair, or no such figure.
func (c Claim) Judge(groups []Group) (ClaimResult, error) {
	pairs, err := c.pairs(groups)
	if err != nil {
		return ClaimResult{}, err
	}
	result := ClaimResult{Claim: c.text, State: Held}
	for _, p := range pairs {
		state, detail, err := c.judgePair(p[0], p[1], len(pairs))
		if err != nil {
			return ClaimResult{}, err
		}
		if state == NotHeld || state == NotShown && result.State == Held {
			result.State = state
		}
		result.Detail = append(result.Detail, detail)
	}
	return result, nil
}

func (c Claim) pairs(groups []Group) ([][2]Group, error) {
	axes := map[string]bool{}
	a, err := c.side(groups, c.a, axes)
	if err != nil {
		return nil, err
	}
	b, err := c.side(groups, c.b, axes)
	if err != nil {
		return nil, err
	}
	var pairs [][2]Group
	for _, x := range a {
		for _, y := range b {
			if alikeBut(x, y, axes) {
				pairs = append(pairs, [2]Group{x, y})
			}
		}
	}
	if len(pairs) == 0 {
		return nil, &ClaimError{c.text, "no configuration of the one side differs from one of the other in nothing but what the claim names"}
	}
	return pairs, nil
}

// side are the groups with all values of a side, which have runs, and enters the axes of
// these values.
func (c Claim) side(groups []Group, values []string, axes map[string]bool) (all []Group, err error) {
	matched := false
	for _, g := range groups {
		own := g.axesWith(values)
		if own == nil {
			continue
		}
		matched = true
		for _, axis := range own {
			axes[axis] = true
		}
		if len(g.Runs) > 0 {
			all = append(all, g)
		}
	}
	switch {
	case !matched:
		return nil, &ClaimError{c.text, fmt.Sprintf("no configuration has %s; values are %s", strings.Join(values, " and "), strings.Join(valuesOfAll(groups), ", "))}
	case len(all) == 0:
		return nil, &ClaimError{c.text, "no configuration with " + strings.Join(values, " and ") + " has a run"}
	}
	return all, nil
}

// axesWith are the axes in which the group has these values, written "postgres:2",
// "cluster=postgres:2", "postgres" for all clusters of it, or "kill primary" for all faults
// that begin so; nil if it does not have all.
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
		return axes[v.Name] || value(b.Values, v.Name) == v.Value
	}
	return !slices.ContainsFunc(a.Values, func(v report.Setting) bool { return !same(v) })
}

// judgePair judges one pair of several.
func (c Claim) judgePair(a, b Group, pairs int) (state, detail string, err error) {
	all := slices.DeleteFunc(layoutMetrics(a.Runs[0].Result), func(m metric) bool { return !everyRunHas([]Group{a, b}, m) })
	m, found := find(all, c.metric)
	if !found {
		var names []string
		for _, m := range all {
			names = append(names, m.name)
		}
		return "", "", &ClaimError{c.text, fmt.Sprintf("%q is no figure of all these runs, which have %s", c.metric, strings.Join(names, ", "))}
	}
	row := newRow(m, a, b)
	factor := 1 + c.by
	if c.less {
		factor = 1 - c.by
	}
	moved := b.moved(m, factor)
	p := probability(observed(m, a), moved)
	middle := spreadOf(moved).Median
	agrees := row.A.Median > middle
	if c.less {
		agrees = row.A.Median < middle
	}
	state = NotShown
	switch {
	case a.doubted(m) || b.doubted(m):
	case agrees && p < alpha:
		state = Held
	case !agrees && p < alpha/float64(pairs):
		state = NotHeld
	}
	detail = fmt.Sprintf("%s: %s; %s: %s (%s, p=%s)", a.Name, a.written(m, row.A), b.Name, b.written(m, row.B),
		ratioText(row.A, row.B), probabilityText(p))
	if state == NotShown {
		detail += reserve(row, a, b)
	}
	return state, detail, nil
}

// reserve says why a pair shows nothing.
func reserve(row Row, a, b Group) string {
	switch {
	case a.doubted(row.metric) || b.doubted(row.metric):
		return ", of invalid measurements"
	case 2*row.least() >= alpha:
		return fmt.Sprintf(", of %d and %d runs, which are too few to tell a difference from chance: make five of each (--repeat 5)", row.A.Runs, row.B.Runs)
	}
	return ", which may be chance"
}

func ratioText(a, b Spread) string {
	if b.Median == 0 {
		return "no ratio"
	}
	return "ratio " + boundOf(b, a, strconv.FormatFloat(a.Median/b.Median, 'f', 2, 64))
}
