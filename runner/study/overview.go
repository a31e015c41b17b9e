package study

import (
	"cmp"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"assay/internal/spelling"
	"assay/report/compare"
)

const (
	keyOverview = "overview"
	keyRows     = "rows"
	keyOf       = "of"
)

// overviewFields are an overview's keys. Its columns are read when the rows are known.
func overviewFields(o *compare.Overview, columns *node) []field {
	column := schemaOf(columnFields(&compare.OverviewColumn{}), keyOf)
	return []field{
		textInto(&o.Title, keyTitle, "what heads the table"),
		textInto(&o.Rows, keyRows, "the axis of all its experiments whose values are its rows"),
		later(columns, keyColumns, &jsonschema.Schema{Type: "array", Description: "what is shown, each of one experiment", Items: column}),
	}
}

func columnFields(c *compare.OverviewColumn) []field {
	return []field{
		textInto(&c.Title, keyTitle, "what heads the column, in place of the experiment's title"),
		textInto(&c.Show, "show", "verdict, anomalies, durability, power-cut loss, or a column of the experiment's table; verdict if not given"),
		textInto(&c.Of, keyOf, "the experiment"),
		shownInto(&c.Where, "where", "values that the experiment's configurations must have"),
		textInto(&c.Ratio, "ratio", "the row to whose figure all are ratios"),
	}
}

func (s *Study) readOverview(n node) error {
	var o compare.Overview
	var columns node
	if err := n.read("an overview", "title, rows and columns", overviewFields(&o, &columns)); err != nil {
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
	for i, c := range o.Columns {
		if c.Ratio != "" && !slices.Contains(o.Values, c.Ratio) {
			return problem(columns.items[i].at, "there is no row %q for ratios; %s has %s%s", c.Ratio, o.Rows, strings.Join(o.Values, ", "), spelling.Hint(c.Ratio, "", o.Values))
		}
	}
	s.Overviews = append(s.Overviews, o)
	return nil
}

func (s *Study) readColumn(o *compare.Overview, n node) (c compare.OverviewColumn, err error) {
	if err := n.read("a column of an overview", "title, show, of, where and ratio", columnFields(&c)); err != nil {
		return c, err
	}
	names := s.names()
	at := slices.Index(names, c.Of)
	if at < 0 {
		return c, problem(n.at, "the column is of no experiment %q; the study has %s%s", c.Of, strings.Join(names, ", "), spelling.Hint(c.Of, "", names))
	}
	e := s.Experiments[at]
	c.Title, c.Ratio = cmp.Or(c.Title, e.Title), shown(o.Rows, c.Ratio)
	axes := e.axes
	rows := slices.IndexFunc(axes, func(a axis) bool { return a.name == o.Rows })
	if rows < 0 {
		return c, problem(n.at, "experiment %s has no axis %q, whose values are the rows", c.Of, o.Rows)
	}
	for _, v := range axes[rows].values() {
		if !slices.Contains(o.Values, v) {
			o.Values = append(o.Values, v)
		}
	}
	of := e.Groups()
	for _, l := range e.LeftOut {
		of = append(of, compare.Group{Values: l.Values})
	}
	if err := c.Check(of); err != nil {
		return c, problem(n.at, "%s", err.Error())
	}
	return c, nil
}
