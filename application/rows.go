package application

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"assay/application/wire"
)

// insertion is an INSERT whose rows can be looked for: its text names columns and gives them values.
type insertion struct {
	table string
	// queries count each of the rows.
	queries []string
}

var insertionForm = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?is)^INSERT\s+(?:IGNORE\s+)?INTO\s+([^\s(]+)\s*\(([^()]*)\)\s*VALUES\s*(\(.*)$`)
})

// insertionOf reads a statement; nil if its rows cannot be known from it.
func insertionOf(s *wire.Statement) *insertion {
	if len(s.Inserted) > 0 && int64(len(s.Inserted)) == s.Rows {
		table, _, _ := strings.Cut(s.Inserted[0], "\x00")
		return &insertion{table, s.Inserted}
	}
	parts := insertionForm().FindStringSubmatch(s.Shape)
	if parts == nil || upserts(s.Shape) {
		return nil
	}
	columns := strings.Split(parts[2], ",")
	v := values{all: s.Values, parameters: highest(parts[3])}
	in := &insertion{table: parts[1]}
	for rest := parts[3]; strings.HasPrefix(rest, "("); {
		inside, behind, closed := strings.Cut(rest[1:], ")")
		row, known := v.row(columns, inside)
		if !closed || !known || len(row) == 0 {
			return nil
		}
		in.queries = append(in.queries, "SELECT count(*) FROM "+in.table+" WHERE "+strings.Join(row, " AND "))
		rest = strings.TrimSpace(behind)
		next, more := strings.CutPrefix(rest, ",")
		if rest = strings.TrimSpace(next); !more {
			break
		}
	}
	if int64(len(in.queries)) != s.Rows { // some were there already
		return nil
	}
	return in
}

// upserts reports whether a statement may change a row that was there in place of inserting one, which the
// rows that it counts do not tell: a client of MySQL can have found rows be counted as inserted ones
// (MySQL 8.4, "mysql_affected_rows").
func upserts(shape string) bool {
	upper := strings.ToUpper(shape)
	return strings.Contains(upper, "DO UPDATE") || strings.Contains(upper, "ON DUPLICATE KEY")
}

// values gives out a statement's: the literals in their order, and parameters by number.
type values struct {
	all              []string
	next, parameters int
}

// highest is the highest number of a parameter.
func highest(text string) (n int) {
	for i := range text {
		if text[i] == '$' {
			n = max(n, number(text[i+1:]))
		}
	}
	return n
}

func number(text string) int {
	end := strings.IndexFunc(text, func(c rune) bool { return c < '0' || c > '9' })
	if end < 0 {
		end = len(text)
	}
	n, _ := strconv.Atoi(text[:end])
	return n
}

// row are the columns and their values, as far as they are known; false if it cannot be told which
// is whose.
func (v *values) row(columns []string, list string) (row []string, known bool) {
	elements := strings.Split(list, ",")
	for i := 0; i < len(elements); i++ {
		element, _, _ := strings.Cut(strings.TrimSpace(elements[i]), "::")
		value := ""
		switch {
		case element == "? ...": // a list of literals, as long as is missing
			more := slices.Repeat([]string{"?"}, max(len(columns)-len(elements)+1, 1))
			elements = slices.Replace(elements, i, i+1, more...)
			i--
			continue
		case strings.Contains(element, "..."):
			return nil, false
		case element == "?":
			value = v.literal()
		case strings.HasPrefix(element, "$") && element == "$"+strconv.Itoa(number(element[1:])):
			value = v.parameter(number(element[1:]))
		default:
			v.next += strings.Count(element, "?")
		}
		if value != "" && i < len(columns) {
			row = append(row, strings.TrimSpace(columns[i])+" = "+value)
		}
	}
	return row, len(elements) == len(columns) && v.next+v.parameters <= len(v.all)
}

// literal is the next one as it was written; of a statement that was prepared without numbers, the
// next parameter.
func (v *values) literal() string {
	v.next++
	if v.next > len(v.all) {
		return ""
	}
	value := v.all[v.next-1]
	if strings.IndexFunc(value, func(c rune) bool { return (c < '0' || c > '9') && c != '.' }) < 0 {
		return plain(value, value)
	}
	return plain(value, quoted(value))
}

func (v *values) parameter(n int) string {
	at := len(v.all) - v.parameters + n - 1
	if n < 1 || at < 0 || at >= len(v.all) {
		return ""
	}
	return plain(v.all[at], quoted(v.all[at]))
}

// quoted is a value as a literal, which it may be already (see wire.Text).
func quoted(value string) string {
	if strings.HasPrefix(value, "'") {
		return value
	}
	return "'" + strings.ReplaceAll(value, "'", "''") + "'"
}

// plain is empty in place of a value that servers read differently, or of which a part is missing.
func plain(value, text string) string {
	if value == wire.Null || value == "" || strings.ContainsAny(value, "\\\x00") || strings.HasSuffix(value, "...") {
		return ""
	}
	return text
}

// maxSought bounds the rows that are looked for after a run: the last ones.
const maxSought = 2000

// sought are the rows that a run has inserted, by the queries that count them.
type sought struct {
	shape, query, table string
	// acknowledged have inserted one each, and unknown may have.
	acknowledged, unknown []*wire.Transaction
	found                 int64
}

// seek are the rows that transactions have inserted, where nothing else has changed that table.
func seek(all []*wire.Transaction) (rows []*sought) {
	known := map[string]*sought{}
	changed := changing(all)
	for _, t := range slices.Backward(all) {
		if t.Outcome != wire.Committed && t.Outcome != wire.Unknown || takesBack(t) {
			continue
		}
		for _, s := range t.Statements {
			if t.Outcome == wire.Unknown && t.Alone && s.Rows == 0 {
				one := *s
				one.Rows = 1
				s = &one
			}
			in := insertionOf(s)
			if in == nil || strings.Contains(changed, strings.ToUpper(bare(in.table))) {
				continue
			}
			for _, query := range in.queries {
				of := known[query]
				if of == nil {
					if len(known) == maxSought {
						return rows
					}
					of = &sought{shape: s.Shape, query: query, table: in.table}
					known[query] = of
					rows = append(rows, of)
				}
				if t.Outcome == wire.Committed {
					of.acknowledged = append(of.acknowledged, t)
				} else {
					of.unknown = append(of.unknown, t)
				}
			}
		}
	}
	return rows
}

// bare is a table's name without schema and quotes.
func bare(table string) string {
	return strings.Trim(table[strings.LastIndex(table, ".")+1:], "\"`")
}

// takesBack reports whether a part of a transaction was taken back.
func takesBack(t *wire.Transaction) bool {
	return slices.ContainsFunc(t.Statements, func(s *wire.Statement) bool { return strings.HasPrefix(strings.ToUpper(s.Shape), "ROLLBACK") })
}

// changing is the text of all statements that change or remove rows, in capitals.
func changing(all []*wire.Transaction) string {
	seen := map[string]bool{}
	var text strings.Builder
	for _, t := range all {
		for _, s := range t.Statements {
			upper := strings.ToUpper(s.Shape)
			if !seen[upper] && (upserts(upper) || slices.ContainsFunc([]string{"UPDATE ", "DELETE ", "TRUNCATE ", "MERGE ", "REPLACE ", "DROP ", "FINDANDMODIFY ", "BULKWRITE "}, func(word string) bool {
				return strings.HasPrefix(upper, word) || strings.HasPrefix(upper, "WITH ") && strings.Contains(upper, word)
			})) {
				text.WriteString(upper + "\n")
			}
			seen[upper] = true
		}
	}
	return text.String()
}

// look has a run's rows looked for. Statements whose rows cannot be asked for stay out.
func (t *trying) look(ctx context.Context, r *run) {
	if t.Count == nil || r.problem != nil {
		return
	}
	by := map[string][]*sought{}
	for _, s := range seek(r.all) {
		if t.base == nil || t.base.sure[s.shape] {
			by[s.shape] = append(by[s.shape], s)
		}
	}
	for shape, rows := range by {
		var queries []string
		for _, s := range rows {
			queries = append(queries, s.query)
		}
		var counts []int64
		err := t.aside(ctx, "a look at the rows", func(ctx context.Context) (err error) {
			counts, err = t.Count(ctx, queries)
			return err
		})
		if err != nil && t.base != nil {
			r.problem = fmt.Errorf("the rows that were inserted could not be looked for: %w", err)
			return
		}
		if err != nil {
			continue
		}
		for i, n := range counts {
			rows[i].found = n
		}
		r.rows = append(r.rows, rows...)
		r.looked = append(r.looked, shape)
	}
	var mixed map[string]bool
	if t.base != nil {
		mixed = t.base.mixed
	}
	r.resolve(mixed)
}

// resolve enters that transactions were committed whose end nobody was told: all of their rows
// are there. Rows of mixed statements do not tell that, since equal ones may be an earlier run's.
func (r *run) resolve(mixed map[string]bool) {
	there := map[*wire.Transaction]bool{}
	for _, s := range r.rows {
		over := s.found - int64(len(s.acknowledged))
		for _, x := range s.unknown {
			was, seen := there[x]
			there[x] = (was || !seen) && over > 0 && !mixed[s.shape]
			over--
		}
	}
	for i, x := range r.all {
		if there[x] {
			done := *x
			done.Outcome, done.Told, done.Statements = wire.Committed, false, slices.Clone(x.Statements)
			last := done.Statements[len(done.Statements)-1]
			done.Ended = max(last.Sent, 1)
			if done.Alone {
				one := *last
				one.Writes, one.Rows = true, 1
				done.Statements[len(done.Statements)-1] = &one
			}
			r.all[i] = &done
		}
	}
	slices.SortStableFunc(r.all, func(a, b *wire.Transaction) int { return int(a.Ended - b.Ended) })
}

// surely are the statements all of whose rows an untouched run finds again.
func (r *run) surely() map[string]bool {
	sure := map[string]bool{}
	for _, shape := range r.looked {
		sure[shape] = true
	}
	for _, s := range r.rows {
		if s.found < int64(len(s.acknowledged)) {
			delete(sure, s.shape)
		}
	}
	return sure
}

// mixed are the statements of which an untouched run finds more rows than it may have inserted.
func (r *run) mixed() map[string]bool {
	all := map[string]bool{}
	for _, s := range r.rows {
		if s.found > int64(len(s.acknowledged)+len(s.unknown)) {
			all[s.shape] = true
		}
	}
	return all
}

// missing are the transactions whose end was told to the application and of which a row is not there,
// the last ones where rows are alike; and the tables of these rows.
func (r *run) missing() map[*wire.Transaction][]string {
	all := map[*wire.Transaction][]string{}
	for _, s := range r.rows {
		told := slices.DeleteFunc(slices.Clone(s.acknowledged), func(t *wire.Transaction) bool { return !t.Told })
		for _, t := range told[:max(0, len(told)-int(s.found))] {
			if table := named(s.table); !slices.Contains(all[t], table) {
				all[t] = append(all[t], table)
			}
		}
	}
	return all
}

// lost are the transactions of missing, in the order of their ends.
func (r *run) lost() []*wire.Transaction {
	return slices.SortedFunc(maps.Keys(r.missing()), func(a, b *wire.Transaction) int { return int(a.Ended - b.Ended) })
}
