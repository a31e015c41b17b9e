package study

import (
	"slices"
	"strings"

	"assay/internal/spelling"
)

// Overview is a table over several experiments: a row for each value of an axis that they
// share.
type Overview struct {
	Title string
	// Rows is the axis, Values are its values in the order of the file.
	Rows    string
	Values  []string
	Columns []OverviewColumn
}

// OverviewColumn is what is shown of one experiment.
type OverviewColumn struct {
	// Title heads the column; empty means the experiment's.
	Title string
	// Show is a figure or one of a table's words, which are not looked at here; empty for the
	// verdicts.
	Show string
	// Of is the experiment, Where the values that its configurations must have; none for all.
	Of    string
	Where []string
	// Ratio is the row to whose figure each figure is a ratio; empty for the figures
	// themselves.
	Ratio string
	At    Position
}

// The keys of overviews.
const (
	keyOverview = "overview"
	keyRows     = "rows"
	keyShow     = "show"
	keyOf       = "of"
	keyWhere    = "where"
	keyRatio    = "ratio"
)

// readOverviews reads the overviews, once the experiments are known.
func (s *Study) readOverviews(n node) error {
	if n.at == (Position{}) {
		return nil
	}
	if !n.list {
		return problem(n.at, "%s must be a list of title, rows and columns", keyOverview)
	}
	for _, item := range n.items {
		o, err := s.readOverview(item)
		if err != nil {
			return err
		}
		s.Overviews = append(s.Overviews, o)
	}
	return nil
}

func (s *Study) readOverview(n node) (o Overview, err error) {
	if err := wantMapping(n, "an overview", "title, rows and columns"); err != nil {
		return o, err
	}
	var columns node
	for _, p := range n.pairs {
		switch p.key {
		case keyTitle:
			o.Title, err = word(p)
		case keyRows:
			o.Rows, err = word(p)
		case keyColumns:
			columns = p.value
		default:
			err = unknown(p, "an overview", []string{keyTitle, keyRows, keyColumns})
		}
		if err != nil {
			return o, err
		}
	}
	if o.Title == "" || o.Rows == "" || !columns.list || len(columns.items) == 0 {
		return o, problem(n.at, "an overview needs a title, rows, which is an axis of the matrix, and a list of columns")
	}
	for _, item := range columns.items {
		c, err := s.readColumn(&o, item)
		if err != nil {
			return o, err
		}
		o.Columns = append(o.Columns, c)
	}
	for _, c := range o.Columns {
		if c.Ratio != "" && !slices.Contains(o.Values, c.Ratio) {
			return o, problem(c.At, "there is no row %q for ratios; %s has %s%s", c.Ratio, o.Rows, strings.Join(o.Values, ", "), spelling.Hint(c.Ratio, "", o.Values))
		}
	}
	return o, nil
}

// readColumn reads a column, and adds to the rows those of its experiment.
func (s *Study) readColumn(o *Overview, n node) (c OverviewColumn, err error) {
	if err := wantMapping(n, "a column", "title, show, of, where and ratio"); err != nil {
		return c, err
	}
	c.At = n.at
	for _, p := range n.pairs {
		switch p.key {
		case keyTitle:
			c.Title, err = word(p)
		case keyShow:
			c.Show, err = word(p)
		case keyOf:
			c.Of, err = word(p)
		case keyWhere:
			c.Where, err = listed(p)
		case keyRatio:
			c.Ratio, err = word(p)
		default:
			err = unknown(p, "a column of an overview", []string{keyTitle, keyShow, keyOf, keyWhere, keyRatio})
		}
		if err != nil {
			return c, err
		}
	}
	var names []string
	for _, e := range s.Experiments {
		names = append(names, e.Name)
	}
	at := slices.Index(names, c.Of)
	if at < 0 {
		return c, problem(n.at, "the column is of no experiment %q; the study has %s%s", c.Of, strings.Join(names, ", "), spelling.Hint(c.Of, "", names))
	}
	axes := s.Experiments[at].axes
	rows := slices.IndexFunc(axes, func(a axis) bool { return a.name == o.Rows })
	if rows < 0 {
		return c, problem(n.at, "experiment %s has no axis %q, whose values are the rows", c.Of, o.Rows)
	}
	for _, v := range axes[rows].values() {
		if !slices.Contains(o.Values, v) {
			o.Values = append(o.Values, v)
		}
	}
	return c, nil
}
