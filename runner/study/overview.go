package study

import (
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"assay/internal/spelling"
)

// Overview is a table over several experiments, with a row for each value of a common axis.
type Overview struct {
	Title   string
	Rows    string
	Values  []string
	Columns []OverviewColumn
}

// OverviewColumn shows one experiment.
type OverviewColumn struct {
	// Title heads the column; empty means the experiment's title.
	Title string
	// Show is a figure or a word of a table, not checked here; empty for the verdicts.
	Show string
	// Of is the experiment, Where restricts its configurations by values; empty for all.
	Of    string
	Where []string
	// Ratio is the row by which figures are divided; empty for the figures themselves.
	Ratio string
	At    Position
}

const (
	keyOverview = "overview"
	keyRows     = "rows"
	keyOf       = "of"
)

// fields are an overview's keys. Its columns are read when the rows are known.
func (o *Overview) fields(columns *node) []field {
	column := schemaOf((&OverviewColumn{}).fields(), keyOf)
	return []field{
		textInto(&o.Title, keyTitle, "what heads the table"),
		textInto(&o.Rows, keyRows, "the axis of all its experiments whose values are its rows"),
		later(columns, keyColumns, &jsonschema.Schema{Type: "array", Description: "what is shown, each of one experiment", Items: column}),
	}
}

func (c *OverviewColumn) fields() []field {
	return []field{
		textInto(&c.Title, keyTitle, "what heads the column, in place of the experiment's title"),
		textInto(&c.Show, "show", "verdict, anomalies, durability, power-cut loss, or a column of the experiment's table; verdict if not given"),
		textInto(&c.Of, keyOf, "the experiment"),
		textsInto(&c.Where, "where", "values that the experiment's configurations must have"),
		textInto(&c.Ratio, "ratio", "the row to whose figure all are ratios"),
	}
}

func (s *Study) readOverview(n node) error {
	var o Overview
	var columns node
	if err := n.read("an overview", "title, rows and columns", o.fields(&columns)); err != nil {
		return err
	}
	if o.Title == "" || o.Rows == "" || !columns.list || len(columns.items) == 0 {
		return problem(n.at, "an overview needs a title, rows, which is an axis of the matrix, and a list of columns")
	}
	for _, item := range columns.items {
		c, err := s.readColumn(&o, item)
		if err != nil {
			return err
		}
		o.Columns = append(o.Columns, c)
	}
	for _, c := range o.Columns {
		if c.Ratio != "" && !slices.Contains(o.Values, c.Ratio) {
			return problem(c.At, "there is no row %q for ratios; %s has %s%s", c.Ratio, o.Rows, strings.Join(o.Values, ", "), spelling.Hint(c.Ratio, "", o.Values))
		}
	}
	s.Overviews = append(s.Overviews, o)
	return nil
}

func (s *Study) readColumn(o *Overview, n node) (c OverviewColumn, err error) {
	c.At = n.at
	if err := n.read("a column of an overview", "title, show, of, where and ratio", c.fields()); err != nil {
		return c, err
	}
	names := s.names()
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
