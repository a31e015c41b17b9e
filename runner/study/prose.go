package study

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"assay/internal/spelling"
)

// Prose is the author's text about an experiment, in Markdown, and what to show of it.
type Prose struct {
	// Title heads the experiment; empty means its name.
	Title string
	// Description precedes the figures, Discussion follows them.
	Description, Discussion string
	// Columns, Sort and Charts name figures, which are not checked here.
	Columns []string
	Sort    string
	Charts  []string
	// Group are axes that group the rows of the table and the bars.
	Group    []string
	Source   string
	Reported []Reported
}

// Reported is what another source says of a configuration, with figures by name.
type Reported struct {
	Values  []Value
	Figures map[string]float64
	Remark  string
	At      Position
}

// Question is a part of the study's question, answered by comparisons of configurations, or by
// whether experiments found anything wrong.
type Question struct {
	Ask string
	// With is the answer's name for the first side of a comparison; it may be empty.
	With string
	// Compare are about the figures of Experiment.
	Compare    []Compared
	Experiment string
	// Found are the experiments asked whether anything wrong was found.
	Found []string
	At    Position
	// size is the only size of the question; empty for all.
	size string
}

// Compared is one comparison, which is not checked here.
type Compared struct {
	Text string
	At   Position
}

const (
	keyQuestion  = "question"
	keyQuestions = "questions"
	keyColumns   = "columns"
	keyReported  = "reported"
	keyAsk       = "ask"
	keyCompare   = "compare"
	keyFound     = "found"
)

func (d *draft) prose() []field {
	group := textsInto(&d.Group, "group", "axes of the matrix under whose values the rows of the table and bars stand")
	return []field{
		textInto(&d.Title, keyTitle, "what heads the experiment, in place of its name"),
		textInto(&d.Description, keyDescription, "what the experiment is for, before its figures; Markdown"),
		textInto(&d.Discussion, "discussion", "what its figures say, after them; Markdown"),
		textsInto(&d.Columns, keyColumns, "the columns of its table: metrics, and nodes, vcpu, ram, disk, clients and the like"),
		textInto(&d.Sort, "sort", "the column by which the table is sorted"),
		textsInto(&d.Charts, "charts", "what is drawn: a metric, METRIC and METRIC, METRIC by AXIS, throughput over time, response time by percentile, METRIC over rounds, each task of ROUND"),
		{group.key, group.schema, func(p pair) error { d.groupAt = p.value.at; return group.read(p) }},
		textInto(&d.Source, "source", "where the reported figures are from"),
		later(&d.reported, keyReported, reportedSchema()),
	}
}

func listed(p pair) ([]string, error) {
	s, err := settingOf(p)
	return s.Values, err
}

// groups checks that the rows are grouped by axes, when these are known.
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

// readReported needs the axes: a key that is an axis names the configuration, another key a figure.
func (d *draft) readReported(item node) error {
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
		case p.key == "remark":
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
	return nil
}

func (q *Question) fields(s *Study) []field {
	return []field{
		textInto(&q.Ask, keyAsk, "the question"),
		textInto(&q.With, "with", "what the answer calls the first side, such as: twice the processors"),
		{keyCompare, texts("SIDE against SIDE in FIGURE"), func(p pair) (err error) {
			all := []node{p.value}
			if p.value.list {
				all = p.value.items
			}
			for _, one := range all {
				text, problem := word(pair{p.key, one.at, one})
				q.Compare, err = append(q.Compare, Compared{text, one.at}), errors.Join(err, problem)
			}
			return err
		}},
		{"experiment", text("whose figures are compared"), func(p pair) (err error) {
			if q.Experiment, err = word(p); err == nil {
				err = s.known(q.Experiment, p.value.at)
			}
			return err
		}},
		{keyFound, texts("experiments that are asked whether anything wrong was found in their runs"), func(p pair) (err error) {
			q.Found, err = listed(p)
			for _, name := range q.Found {
				err = errors.Join(err, s.known(name, p.value.at))
			}
			return err
		}},
		textInto(&q.size, "size", "the only size in which it is asked"),
	}
}

// readQuestion reads a part of the question, which may belong to other sizes only.
func (s *Study) readQuestion(n node, size string) error {
	q := Question{At: n.at}
	if err := n.read("a question", "ask, compare and experiment, or ask and found", q.fields(s)); err != nil {
		return err
	}
	switch {
	case q.Ask == "":
		return problem(n.at, "the question asks nothing: it needs %s", keyAsk)
	case len(q.Compare)+len(q.Found) == 0:
		return problem(n.at, "the question %q has no pair that would answer it: add %s, such as 'postgres:2 against mongodb:3 in throughput', or %s, a list of experiments", q.Ask, keyCompare, keyFound)
	case len(q.Compare) > 0 && q.Experiment == "" && len(s.Experiments) > 1:
		return problem(q.Compare[0].At, "the question names no experiment; the study has %s", strings.Join(s.names(), ", "))
	case len(q.Compare) > 0 && q.Experiment == "":
		q.Experiment = s.Experiments[0].Name
	}
	if q.size == "" || q.size == size {
		s.Questions = append(s.Questions, q)
	}
	return nil
}

func (s *Study) known(name string, at Position) error {
	if names := s.names(); !slices.Contains(names, name) {
		return problem(at, "there is no experiment %q; the study has %s%s", name, strings.Join(names, ", "), spelling.Hint(name, "", names))
	}
	return nil
}

func (s *Study) names() (all []string) {
	for _, e := range s.Experiments {
		all = append(all, e.Name)
	}
	return all
}
