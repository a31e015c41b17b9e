package application

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"assay/application/wire"
)

// twice are two transactions of which the second did again, after the event, what the first had
// done. It is certain if their values are the same and were committed more often than untouched
// (see again), and the application was in doubt of them (see doubts); or if there are more of them than
// in two untouched runs, and one was not told; and if what was done again shows (see repeats.adds).
func (b *baseline) twice(r *run, committed, exact map[string]int) (two []*wire.Transaction, certain bool) {
	all, met := r.all, r.met
	if met == 0 {
		return nil, false
	}
	done, doubts := repeats{all: all, temporary: temporary(all)}, r.doubts()
	first, places := map[string]*wire.Transaction{}, map[string]bool{}
	shared := func(place string) bool { // the untouched transactions are gone over once a place
		is, known := places[place]
		if !known {
			is = b.shared(place)
			places[place] = is
		}
		return is
	}
	for _, t := range all {
		if !t.Changed() {
			continue
		}
		key := t.Place + t.Values()
		if earlier := first[key]; earlier != nil && t.Began >= earlier.Ended && t.Ended > met && b.again(t, committed, exact, shared) {
			// What was done in between is gone over each time: only for what can decide.
			if doubted := doubts.of(t, shared(t.Place)); doubted || two == nil {
				adds, sure := done.adds(earlier, t)
				if sure && doubted && !t.Partial() {
					return []*wire.Transaction{earlier, t}, true
				}
				if adds && two == nil {
					two = []*wire.Transaction{earlier, t}
				}
			}
		}
		first[key] = t
	}
	last := map[string]*wire.Transaction{}
	for _, t := range all {
		if !t.Changed() {
			continue
		}
		if lost := last[t.Place]; lost != nil && t.Began >= lost.Ended && committed[t.Place] > b.committed[t.Place] {
			adds, sure := done.adds(lost, t)
			if sure && b.steady {
				return []*wire.Transaction{lost, t}, true
			}
			if adds && two == nil {
				two = []*wire.Transaction{lost, t}
			}
		}
		if !t.Told && t.Ended >= met {
			last[t.Place] = t
		}
	}
	return two, false
}

// again reports whether a transaction's values were committed more often than untouched. Where
// untouched transactions of its place share values, drawn by chance or all the same, that counts
// only if there are more of them than in two untouched runs.
func (b *baseline) again(t *wire.Transaction, committed, exact map[string]int, shared func(place string) bool) bool {
	key := t.Place + t.Values()
	return exact[key] > b.exact[key] && (!shared(t.Place) || b.steady && committed[t.Place] > b.committed[t.Place])
}

// shared reports whether untouched transactions of a place share values.
func (b *baseline) shared(place string) bool {
	for key, n := range b.exact {
		if n > 1 && strings.HasPrefix(key, place) {
			return true
		}
	}
	return false
}

// repeats tells whether doing a transaction again changes something again.
type repeats struct {
	all []*wire.Transaction
	// temporary are the tables that a session made for itself: no other sees their rows.
	temporary map[string]bool
}

// removed is what was taken away so far.
type removed struct {
	// rows counts them by table, and whole are the tables that were emptied or made anew.
	rows  map[string]int64
	whole map[string]bool
	// filled are the tables that got new rows for those that were removed.
	filled map[string]bool
	// reset are the columns that were given a value that does not depend on their own.
	reset map[string]bool
	// may are the tables of which rows were removed, or may have been, by which those of other tables
	// may have gone, too. anew is true if rows were inserted there afterwards.
	may  map[string]bool
	anew bool
}

func newRemoved() *removed {
	return &removed{rows: map[string]int64{}, whole: map[string]bool{}, filled: map[string]bool{}, reset: map[string]bool{}, may: map[string]bool{}}
}

// emptied reports whether a table has no row of before.
func (g *removed) emptied(table string) bool { return g.whole[table] || g.whole[everyTable] }

// everyTable stands for all tables of a schema.
const everyTable = "*"

// adds reports whether a transaction, done after an earlier one of its kind, changes something
// again: it inserts rows without a clause about those that are there, or computes a column from
// itself. It does not where the rows were removed in between, such as by a replacement of all rows
// of an order by DELETE and INSERT. sure is false if that cannot be told.
func (r *repeats) adds(earlier, t *wire.Transaction) (adds, sure bool) {
	gone := newRemoved()
	for _, s := range t.Statements {
		if s.Rows > 0 && s.Writes && (s.Adds || addsAgain(s.Shape)) {
			does, is := r.shows(s, earlier, t, gone)
			adds, sure = adds || does, sure || does && is
		}
		gone.take(s, func(*wire.Statement) (does, may bool) { return true, true })
	}
	return adds, sure
}

// shows is adds of one statement.
func (r *repeats) shows(s *wire.Statement, earlier, t *wire.Transaction, gone *removed) (adds, sure bool) {
	table, inserts := changes(s.Shape)
	between := r.between(earlier, t, s)
	switch {
	case table == "":
		return true, len(gone.may) == 0
	case r.temporary[table] || gone.emptied(table) || between.emptied(table):
		return false, false
	case !inserts && gone.filled[table]:
		return false, false
	case !inserts:
		return true, s.Adds || grows(s, table, gone, between)
	case gone.rows[table]+between.rows[table] >= s.Rows:
		gone.rows[table] -= s.Rows
		gone.filled[table] = true
		return false, false
	}
	from, _ := removes(s.Shape) // in the same statement, which does not tell how many
	hangs := len(gone.may) > 0 || between.may[table] || between.anew || slices.Contains(from, table)
	return true, !hangs && (insertsAgain(s.Shape) || grows(s, table, gone, between))
}

// between is what other transactions have removed since the earlier one that s, of t, may put there
// again: their conditions have no value that is not among the values of s. A row that goes with one of
// another table, on which it hangs, comes back only once that one is there again.
func (r *repeats) between(earlier, t *wire.Transaction, s *wire.Statement) *removed {
	gone := newRemoved()
	for _, x := range r.all {
		if x == earlier || x.Outcome != wire.Committed || x.Ended < earlier.Ended || x.Ended > t.Ended {
			continue
		}
		for _, other := range x.Statements {
			if other == s {
				break
			}
			if table, inserts := changes(other.Shape); inserts && gone.may[table] {
				gone.anew = true
			}
			if x != t {
				gone.take(other, func(other *wire.Statement) (does, may bool) { return among(other, s) })
			}
		}
	}
	return gone
}

// take enters what a statement removes, of those that are meant, or may be.
func (g *removed) take(s *wire.Statement, meant func(*wire.Statement) (does, may bool)) {
	if s.Error != "" {
		return
	}
	tables, whole := removes(s.Shape)
	for _, table := range tables {
		if whole {
			g.whole[table] = true
		} else if s.Writes && s.Rows > 0 {
			does, may := meant(s)
			if does {
				g.rows[table] += s.Rows
			}
			g.may[table] = g.may[table] || may
		}
	}
	if table, inserts := changes(s.Shape); !inserts && table != "" && s.Rows > 0 {
		for _, a := range assigned(s.Shape) {
			g.reset[table+"."+a.column] = g.reset[table+"."+a.column] || !a.own
		}
	}
}

// among reports whether all values of a statement that removes are among another's: may is also true if
// those that are not there cannot be compared, since they are concealed, or not all are kept.
func among(removes, s *wire.Statement) (does, may bool) {
	values := removes.Values
	if strings.HasSuffix(removes.Shape, "limit: ?}]") && len(values) > 0 { // of MongoDB, which is no condition
		values = values[:len(values)-1]
	}
	dark := len(s.Values) >= wire.MaxValues || slices.ContainsFunc(s.Values, wire.Concealed)
	does, may = true, true
	for _, v := range values {
		if !slices.ContainsFunc(s.Values, func(own string) bool { return strings.Trim(own, "'") == strings.Trim(v, "'") }) {
			does, may = false, may && (dark || wire.Concealed(v))
		}
	}
	return does, may
}

var (
	insertsForm = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)\bINSERT(?:\s+(?:LOW_PRIORITY|DELAYED|HIGH_PRIORITY|IGNORE))*(?:\s+INTO)?\s+([^\s(,;]+)`)
	})
	updatesForm = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)\bUPDATE(?:\s+(?:LOW_PRIORITY|IGNORE|ONLY))*\s+([^\s(,;]+)`)
	})
	deletesForm = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)\bDELETE(?:\s+(?:LOW_PRIORITY|QUICK|IGNORE))*(?:\s+FROM)?(?:\s+ONLY)?\s+([^\s(,;]+)`)
	})
	emptiesForm = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)^(?:TRUNCATE(?:\s+TABLE)?(?:\s+ONLY)?|DROP(?:\s+TEMPORARY)?\s+TABLE(?:\s+IF\s+EXISTS)?|CREATE(?:\s+(?:GLOBAL|LOCAL))?(?:\s+(?:TEMPORARY|TEMP|UNLOGGED))?\s+TABLE)\s+([^(;]+)`)
	})
	takesForm = sync.OnceValue(func() *regexp.Regexp { // of MongoDB
		return regexp.MustCompile(`(?i)^findAndModify\s+(\S+) .*\bremove: true`)
	})
	dropsForm = sync.OnceValue(func() *regexp.Regexp { // of MongoDB, too
		return regexp.MustCompile(`^drop\s+([^\s.]+\.\S+)$`)
	})
	allForm       = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)^DROP ?(?:DATABASE|SCHEMA)\b`) })
	temporaryForm = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)(?:^CREATE(?:\s+(?:GLOBAL|LOCAL))?|\bINTO)\s+TEMP(?:ORARY)?(?:\s+TABLE)?(?:\s+IF\s+NOT\s+EXISTS)?\s+([^\s(,;]+)`)
	})
)

// changes is the table that a statement inserts rows into, or updates; empty if it is not known.
func changes(shape string) (table string, inserts bool) {
	if form := insertsForm().FindStringSubmatch(shape); form != nil && !merges(shape) {
		return named(form[1]), true
	}
	if form := updatesForm().FindStringSubmatch(shape); form != nil {
		return named(form[1]), false
	}
	return "", false
}

// removes are the tables from which a statement removes rows; whole says that none are left.
func removes(shape string) (tables []string, whole bool) {
	if form := emptiesForm().FindStringSubmatch(shape); form != nil {
		for table := range strings.SplitSeq(form[1], ",") {
			if words := strings.Fields(table); len(words) > 0 {
				tables = append(tables, named(words[0]))
			}
		}
		return tables, true
	}
	if allForm().MatchString(shape) {
		return []string{everyTable}, true
	}
	if form := dropsForm().FindStringSubmatch(shape); form != nil {
		return []string{named(form[1])}, true
	}
	for _, form := range append(deletesForm().FindAllStringSubmatch(shape, -1), takesForm().FindAllStringSubmatch(shape, -1)...) {
		tables = append(tables, named(form[1]))
	}
	return tables, false
}

// temporary are the tables of one session each.
func temporary(all []*wire.Transaction) map[string]bool {
	tables := map[string]bool{}
	for _, t := range all {
		for _, s := range t.Statements {
			if form := temporaryForm().FindStringSubmatch(s.Shape); form != nil {
				tables[named(form[1])] = true
			}
		}
	}
	return tables
}

// named is a table's name without schema and quotes, in small letters.
func named(table string) string { return strings.ToLower(bare(table)) }

// merges reports whether a statement inserts only what is not there.
func merges(shape string) bool { return strings.HasPrefix(strings.ToUpper(shape), "MERGE ") }

// addsAgain reports whether a statement changes something each time that it changes rows.
func addsAgain(shape string) bool {
	return insertsAgain(shape) || slices.ContainsFunc(assigned(shape), func(a assignment) bool { return a.own })
}

// insertsAgain reports whether a statement inserts rows without a clause about those that are there.
func insertsAgain(shape string) bool {
	upper := strings.ToUpper(shape)
	return strings.Contains(upper, "INSERT ") && !strings.Contains(upper, "ON CONFLICT") && !strings.Contains(upper, "ON DUPLICATE KEY") && !merges(shape)
}
