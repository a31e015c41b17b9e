package application

import (
	"slices"
	"strings"

	"assay/application/wire"
)

// following are the statements that have removed rows once a transaction of a place was committed, by both;
// and, marked so, those whose values were among the values of the last one there.
func following(all []*wire.Transaction) map[string]bool {
	found, last, takes := map[string]bool{}, map[string]*wire.Transaction{}, map[string]taking{}
	for _, t := range all {
		for _, s := range t.Statements {
			if takesRows(s, takes) {
				for place, before := range last {
					found[place+s.Shape] = true
					found[place+s.Shape+amongThem] = found[place+s.Shape+amongThem] || meets(s, before)
				}
			}
		}
		if t.Changed() {
			last[t.Place] = t
		}
	}
	return found
}

const amongThem = "\x00"

// taking is what a shape says: that rows are removed, and whether all of a table.
type taking struct{ rows, whole bool }

// takesRows reports whether a statement has removed rows. known are the shapes that were looked at.
func takesRows(s *wire.Statement, known map[string]taking) bool {
	takes, is := known[s.Shape]
	if !is {
		tables, whole := removes(s.Shape)
		takes = taking{rows: len(tables) > 0 && !strings.HasPrefix(strings.ToUpper(s.Shape), "CREATE"), whole: whole}
		known[s.Shape] = takes
	}
	return takes.rows && s.Error == "" && (takes.whole || s.Rows > 0)
}

// meets reports whether what a statement removes may be told by values that a transaction has written.
func meets(removes *wire.Statement, t *wire.Transaction) bool {
	return slices.ContainsFunc(t.Statements, func(s *wire.Statement) bool { _, may := among(removes, s); return s.Writes && may })
}

// cascaded is a statement that has removed rows after one of these transactions was committed, and did not so
// untouched, where the rows of such a transaction were found afterwards: rows of another table may have
// gone with those that it removed. It is empty if there is none.
func (b *baseline) cascaded(r *run, lost []*wire.Transaction) string {
	if len(lost) == 0 {
		return ""
	}
	untouched, takes := following(b.run.all), map[string]taking{}
	for _, x := range r.all {
		for _, s := range x.Statements {
			if x.Outcome != wire.Committed || !takesRows(s, takes) {
				continue
			}
			for _, t := range lost {
				if key := t.Place + s.Shape; t.Ended < x.Ended && (!untouched[key] || !untouched[key+amongThem] && meets(s, t)) {
					return s.Shape
				}
			}
		}
	}
	return ""
}
