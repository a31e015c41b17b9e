package bugs

import (
	"slices"

	"assay/store"
	"assay/store/bug"
)

// misanswer does what the bug does to the rows of an answer, of which there are some.
func (x *attempt) misanswer(s *store.Statement, t *store.Table, rows []image) []image {
	act, d := &x.bug.Act, x.d
	one := d.chance.IntN(len(rows))
	switch act.Does {
	case bug.Misanswers:
		return x.misread(s, t, rows, one)
	case bug.Hides:
		x.struck = true
		return nil
	case bug.Cuts:
		x.struck = true
		return rows[:one]
	case bug.RepeatsRow:
		x.struck = true
		return append(rows, rows[0])
	}
	if len(rows) < 2 {
		return rows
	}
	x.struck = true
	switch i := min(one, len(rows)-2); act.Does {
	case bug.Drops:
		return slices.Delete(rows, i, i+1)
	case bug.DoublesRow:
		rows[i+1] = rows[i]
	default:
		rows[i], rows[i+1] = rows[i+1], rows[i]
	}
	return rows
}

// misread changes a column of a row of an answer, if the answer has one of those that the bug
// is about.
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
