package compare

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"assay/internal/quantity"
	"assay/report"
)

// Overview is a table over several experiments: a row for each value of a shared axis, and
// columns that each show one experiment.
type Overview struct {
	Title string
	// Rows is the axis; each of Values has a row.
	Rows    string
	Values  []string
	Columns []OverviewColumn
}

// OverviewColumn shows one thing of one experiment.
type OverviewColumn struct {
	Title string
	// Show is a metric, a fact or one of the words below; empty is ShowVerdict.
	Show string
	// Of names the experiment. Where are values that its configurations must have, as in a claim.
	Of    string
	Where []string
	// Ratio is the row that the figures are divided by; empty for the figures themselves.
	Ratio string
}

const (
	ShowVerdict = "verdict"
	// ShowAnomalies are the kinds of findings, with the promised consistency model.
	ShowAnomalies = "anomalies"
	// ShowDurability is the worth of an acknowledgement, ShowLoss the loss at power cuts.
	ShowDurability = "durability"
	ShowLoss       = "power-cut loss"
)

// Experiment is a series as far as an overview needs it.
type Experiment struct {
	Groups  []Group
	LeftOut []LeftOut
	// Found links to the findings of a group, by its name.
	Found map[string]string
}

// LeftOut is a configuration that is not run, and why.
type LeftOut struct {
	Values []report.Setting
	Why    string
}

// shown writes a group's cell; base has the figures to divide by, or is nil.
type shown func(g Group, base *Group) string

// show returns a *LayoutError for an unknown word.
func (c OverviewColumn) show(like *report.Result) (shown, error) {
	words := map[string]shown{
		ShowVerdict:    func(g Group, _ *Group) string { return g.verdicts() },
		ShowAnomalies:  func(g Group, _ *Group) string { return g.anomalies() },
		ShowDurability: func(g Group, _ *Group) string { return g.durability() },
		ShowLoss:       func(g Group, _ *Group) string { return g.loss() },
	}
	name := figureName(cmp.Or(c.Show, ShowVerdict))
	fact := facts()[name]
	m, isMetric := figureOf(like, name)
	switch {
	case c.Ratio != "" && !isMetric:
		return nil, &LayoutError{fmt.Sprintf("%q is no figure, of which there could be ratios", name)}
	case c.Ratio != "":
		return func(g Group, base *Group) string { return g.ratio(m, base) }, nil
	case words[name] != nil:
		return words[name], nil
	case fact != nil:
		return func(g Group, _ *Group) string { return fact(g.Runs[0].Result) }, nil
	case isMetric:
		return func(g Group, _ *Group) string { return g.figureOver(m) }, nil
	}
	return nil, &LayoutError{fmt.Sprintf("an overview cannot show %q; there are %s", name, known(name, slices.Concat(slices.Collect(maps.Keys(words)), slices.Collect(maps.Keys(facts()))), layoutMetrics(like)))}
}

// Check returns a *LayoutError for what no run can have. of includes left-out configurations.
func (c OverviewColumn) Check(of []Group) error {
	if !slices.ContainsFunc(of, c.takes) {
		return &LayoutError{fmt.Sprintf("no configuration of %s has %s; values are %s", c.Of, strings.Join(c.Where, " and "), strings.Join(valuesOfAll(of), ", "))}
	}
	_, err := c.show(&report.Result{})
	return err
}

func (c OverviewColumn) takes(g Group) bool { return len(c.Where) == 0 || g.axesWith(c.Where) != nil }

// Table leaves cells without a run empty. It returns a *LayoutError.
func (o Overview) Table(of map[string]Experiment) (report.Table, error) {
	t := report.Table{Title: o.Title, Head: []string{o.Rows}, Links: map[[2]int]string{}}
	for i, c := range o.Columns {
		t.Head, t.Words = append(t.Head, c.Title), append(t.Words, i+1)
	}
	for _, v := range o.Values {
		row := []string{v}
		for i, c := range o.Columns {
			cell, link, err := o.cell(c, v, of[c.Of])
			if err != nil {
				return t, err
			}
			if link != "" {
				t.Links[[2]int{len(t.Rows), i + 1}] = link
			}
			row = append(row, cell)
		}
		t.Rows = append(t.Rows, row)
	}
	return t, nil
}

type cellPart struct {
	names []string
	text  string
}

// cell lists the experiment's configurations that have the row's value, each after its other
// values, equal ones together. link leads to the first one's findings.
func (o Overview) cell(c OverviewColumn, row string, of Experiment) (cell, link string, err error) {
	var parts []cellPart
	say := func(g Group, text string) {
		_, name := g.parted(append(g.axesWith(c.Where), o.Rows))
		at := slices.IndexFunc(parts, func(p cellPart) bool { return p.text == text })
		if at < 0 {
			parts = append(parts, cellPart{nil, text})
			at = len(parts) - 1
		}
		parts[at].names = append(parts[at].names, name)
	}
	for _, g := range of.Groups {
		if report.ValueOf(g.Values, o.Rows) != row || !c.takes(g) {
			continue
		}
		text, err := o.written(c, g, of)
		if err != nil {
			return "", "", err
		}
		say(g, text)
		if c.Show == "" || slices.Contains([]string{ShowVerdict, ShowAnomalies, ShowLoss}, c.Show) {
			link = cmp.Or(link, of.Found[g.Name])
		}
	}
	for _, l := range of.LeftOut {
		if g := (Group{Values: l.Values}); report.ValueOf(l.Values, o.Rows) == row && c.takes(g) {
			say(g, l.Why)
		}
	}
	if len(parts) == 1 {
		return parts[0].text, link, nil
	}
	var texts []string
	for _, p := range parts {
		texts = append(texts, strings.Join(p.names, ", ")+": "+p.text)
	}
	return cmp.Or(strings.Join(texts, "; "), quantity.None), link, nil
}

func (o Overview) written(c OverviewColumn, g Group, of Experiment) (string, error) {
	if len(g.Runs) == 0 {
		return g.notMade(), nil
	}
	show, err := c.show(g.Runs[0].Result)
	if err != nil {
		return "", err
	}
	var base *Group
	if c.Ratio != "" {
		for i, other := range of.Groups {
			if len(other.Runs) > 0 && report.ValueOf(other.Values, o.Rows) == c.Ratio && alikeBut(g, other, map[string]bool{o.Rows: true}) {
				base = &of.Groups[i]
			}
		}
	}
	return show(g, base), nil
}
