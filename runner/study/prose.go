package study

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"assay/internal/spelling"
	"assay/internal/yamlfile"
	"assay/report"
	"assay/report/compare"
	"assay/store"
)

// Prose is the author's text about an experiment, in Markdown, and what to show of it.
type Prose struct {
	// Title heads the experiment: its name, if the author gives none.
	Title string
	// Description precedes the figures, Discussion follows them.
	Description, Discussion string
	compare.Layout
	Charts []compare.Plot
	Source string
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
	At    yamlfile.Position
	// size is the only size of the question; empty for all.
	size string
}

// Compared is one comparison. Whether its runs can answer it is not checked here.
type Compared struct {
	compare.Pairing
	Text string
	At   yamlfile.Position
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
		shownInto(&d.charts, "charts", "what is drawn: a metric, METRIC and METRIC, METRIC by AXIS, throughput over time, response time by percentile, METRIC over rounds, each task of ROUND"),
		{group.key, group.schema, func(p pair) error { d.groupAt = p.value.at; return group.read(p) }},
		textInto(&d.Source, "source", "where the reported figures are from"),
		later(&d.reported, keyReported, reportedSchema()),
	}
}

func listed(p pair) ([]string, error) {
	s, err := settingOf(p)
	return s.Values, err
}

// layout reads the charts, and finds columns and charts that no run can have.
func (d *draft) layout() error {
	for _, text := range d.charts {
		p, err := compare.ParsePlot(text)
		if err != nil {
			return err
		}
		d.Charts = append(d.Charts, p)
	}
	return d.Layout.Check(d.Groups(), d.Charts)
}

// Groups are the configurations, without runs.
func (e *Experiment) Groups() (all []compare.Group) {
	for _, c := range e.Configurations {
		all = append(all, compare.Group{Values: c.Values})
	}
	return all
}

// shown is the value of an axis as reports show it, without a password.
func shown(axis, text string) string {
	if axis == flagDatabase && text != "" {
		return store.Redact(text)
	}
	return text
}

// shownIn is a text whose words are values as reports show them, without passwords.
func shownIn(text string) string {
	words := strings.Split(text, " ")
	for i, word := range words {
		if strings.Contains(word, "://") {
			address := strings.TrimPrefix(word, flagDatabase+"=")
			words[i] = strings.TrimSuffix(word, address) + store.Redact(address)
		}
	}
	return strings.Join(words, " ")
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
	r := compare.Reported{Figures: map[string]float64{}}
	for _, p := range item.pairs {
		text, err := word(p)
		if err != nil {
			return err
		}
		switch {
		case p.key == "remark":
			r.Remark = text
		case slices.ContainsFunc(d.axes, func(a axis) bool { return a.name == p.key }):
			r.Values = append(r.Values, report.Setting{Name: p.key, Value: shown(p.key, text)})
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
				q.Compare, err = append(q.Compare, Compared{Text: shownIn(text), At: one.at}), errors.Join(err, problem)
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
	for i, c := range q.Compare {
		var err error
		if q.Compare[i].Pairing, err = compare.ParsePairing(c.Text, q.With); err != nil {
			return problem(c.At, "%s", err.Error())
		}
	}
	if q.size == "" || q.size == size {
		s.Questions = append(s.Questions, q)
	}
	return nil
}

func (s *Study) known(name string, at yamlfile.Position) error {
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
