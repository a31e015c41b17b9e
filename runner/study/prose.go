package study

import (
	"slices"
	"strconv"
	"strings"

	"assay/internal/spelling"
)

// Prose is what the author says of an experiment and wants shown of it. Texts are Markdown.
type Prose struct {
	// Title heads the experiment; empty means its name.
	Title string
	// Description stands before the figures, Discussion after them.
	Description, Discussion string
	// Columns, Sort and Charts are figures by their names, which are not looked at here.
	Columns []string
	Sort    string
	Charts  []string
	// Group are axes under whose values the rows of the table and bars stand.
	Group []string
	// Source is where the reported figures are from.
	Source   string
	Reported []Reported
}

// Reported is what another source says of one configuration, and of figures by name.
type Reported struct {
	Values  []Value
	Figures map[string]float64
	Remark  string
	At      Position
}

// Conclusion is a sentence, with what it claims of figures; either may be empty.
type Conclusion struct {
	Text string
	// Claim is about the figures of Experiment.
	Claim, Experiment string
	At                Position
}

// The keys of prose.
const (
	keyQuestion    = "question"
	keyConclusions = "conclusions"
	keyDiscussion  = "discussion"
	keyColumns     = "columns"
	keySort        = "sort"
	keyCharts      = "charts"
	keyGroup       = "group"
	keySource      = "source"
	keyReported    = "reported"
	keyRemark      = "remark"
	keyText        = "text"
	keyClaim       = "claim"
	keyExperiment  = "experiment"
)

// proseKeys are the keys of an experiment that are no flags.
func proseKeys() []string {
	return []string{keyTitle, keyDescription, keyDiscussion, keyColumns, keySort, keyCharts, keyGroup, keySource, keyReported}
}

// prose reads one of proseKeys.
func (d *draft) prose(p pair) (err error) {
	switch p.key {
	case keyTitle:
		d.Title, err = word(p)
	case keyDescription:
		d.Description, err = word(p)
	case keyDiscussion:
		d.Discussion, err = word(p)
	case keySort:
		d.Sort, err = word(p)
	case keySource:
		d.Source, err = word(p)
	case keyColumns:
		d.Columns, err = listed(p)
	case keyCharts:
		d.Charts, err = listed(p)
	case keyGroup:
		d.groupAt = p.value.at
		d.Group, err = listed(p)
	case keyReported:
		d.reported = p.value
	}
	return err
}

// listed is a list of words, or one.
func listed(p pair) ([]string, error) {
	s, err := settingOf(p)
	return s.Values, err
}

// groups looks whether the rows are grouped by what varies, once the axes are known.
func (d *draft) groups() error {
	var names []string
	for _, a := range d.axes {
		names = append(names, a.name)
	}
	for _, axis := range d.Group {
		if !slices.Contains(names, axis) {
			return problem(d.groupAt, "rows cannot be grouped by %q: the matrix has %s%s", axis, strings.Join(names, ", "), spelling.Hint(axis, "", names))
		}
	}
	return nil
}

// reportedFigures reads what another source says, once the axes are known: a key that is an
// axis names the configuration, another one a figure.
func (d *draft) reportedFigures() error {
	n := d.reported
	if n.at == (Position{}) {
		return nil
	}
	if !n.list {
		return problem(n.at, "%s must be a list, such as - {clients: 16, throughput: 4663}", keyReported)
	}
	for _, item := range n.items {
		if err := wantMapping(item, "what is reported", "values of the axes, and figures"); err != nil {
			return err
		}
		r := Reported{Figures: map[string]float64{}, At: item.at}
		for _, p := range item.pairs {
			text, err := word(p)
			if err != nil {
				return err
			}
			switch {
			case p.key == keyRemark:
				r.Remark = text
			case slices.ContainsFunc(d.axes, func(a axis) bool { return a.name == p.key }):
				r.Values = append(r.Values, Value{p.key, text})
			default:
				if r.Figures[p.key], err = strconv.ParseFloat(strings.ReplaceAll(text, "_", ""), 64); err != nil {
					return problem(p.value.at, "%s is no axis of the matrix, and %q no number: figures are numbers, a second, in ms, in bytes or in %%", p.key, text)
				}
			}
		}
		d.Reported = append(d.Reported, r)
	}
	return nil
}

// conclusions reads the conclusions of a study.
func (r *reader) conclusions(s *Study, n node) error {
	if n.at == (Position{}) {
		return nil
	}
	if !n.list {
		return problem(n.at, "%s must be a list of text, claim and experiment", keyConclusions)
	}
	var names []string
	for _, e := range s.Experiments {
		names = append(names, e.Name)
	}
	for _, item := range n.items {
		if err := wantMapping(item, "a conclusion", "text, claim and experiment"); err != nil {
			return err
		}
		c := Conclusion{At: item.at}
		for _, p := range item.pairs {
			var err error
			switch p.key {
			case keyText:
				c.Text, err = word(p)
			case keyClaim:
				c.Claim, err = word(p)
				c.At = p.value.at
			case keyExperiment:
				if c.Experiment, err = word(p); err == nil && !slices.Contains(names, c.Experiment) {
					err = problem(p.value.at, "there is no experiment %q; the study has %s%s", c.Experiment, strings.Join(names, ", "), spelling.Hint(c.Experiment, "", names))
				}
			default:
				err = unknown(p, "a conclusion", []string{keyText, keyClaim, keyExperiment})
			}
			if err != nil {
				return err
			}
		}
		if c.Claim != "" && c.Experiment == "" {
			if len(names) > 1 {
				return problem(c.At, "the claim names no experiment; the study has %s", strings.Join(names, ", "))
			}
			c.Experiment = names[0]
		}
		s.Conclusions = append(s.Conclusions, c)
	}
	return nil
}
