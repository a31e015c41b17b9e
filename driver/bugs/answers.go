package bugs

import (
	"slices"

	"assay/store"
	"assay/store/bug"
)

func (x *attempt) misanswer(s *store.Statement, t *store.Table, rows []image) []image {
	act, d := &x.bug.Act, x.d
	one := d.chance.IntN(len(rows))
	switch {
	case act.Does == bug.Misanswers:
		return x.misread(s, t, rows, one)
	case act.Does == bug.Cuts:
		x.struck = true
		return rows[:one]
	case len(rows) < 2:
		return rows
	}
	x.struck = true
	return slices.Delete(rows, one, one+1)
}

// misread changes one of the bug's columns in a row, if the answer has any of them.
func (x *attempt) misread(s *store.Statement, t *store.Table, rows []image, one int) []image {
	columns := slices.DeleteFunc(slices.Clone(s.Columns), func(name string) bool {
		if len(x.bug.Act.Columns) > 0 {
			return !slices.Contains(x.bug.Act.Columns, name)
		}
		return slices.Contains(t.Key(), name)
	})
	if len(columns) == 0 {
		return rows
	}
	i := slices.Index(s.Columns, columns[x.d.chance.IntN(len(columns))])
	rows[one], x.struck = rows[one].with(i, x.otherThan(rows[one][i])), true
	return rows
}
