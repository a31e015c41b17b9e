package cassandra

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"assay/store"
)

type plan struct {
	*store.Statement
	query   *query
	write   string
	args    []store.Expression // of write
	inserts []insertion
}

type query struct {
	text string
	args []store.Expression
	// from and to bound the values to read, part by part, in a table whose rows are in parts. The
	// part's number precedes args.
	from, to   store.Expression
	way        *way
	descending bool
}

type insertion struct {
	text string
	way  *way
	// divided is the index of the column that decides the row's part.
	divided int
}

var errNotServed = errors.New("it needs rows that Cassandra has not together: they are found by the first column of the key or of an index, and then in order")

func (d *database) compile(s *store.Statement) (*plan, error) {
	p := &plan{Statement: s}
	err := plain(s)
	if err == nil {
		err = d.compileVerb(p)
	}
	if err != nil {
		return nil, fmt.Errorf("cassandra: statement %q: %w", s.Name, err)
	}
	return p, nil
}

func (d *database) compileVerb(p *plan) (err error) {
	switch p.Verb {
	case store.Read, store.Count:
		p.query, err = d.compileQuery(p.Statement)
	case store.Put:
		if !d.alone(p.Table) {
			return errSeveralTables
		}
		p.inserts = d.insertions(p.Table, p.Columns)
	case store.Insert:
		p.inserts = d.insertions(p.Table, p.Columns)
	case store.Update, store.Delete:
		err = d.compileChange(p)
	default:
		err = errors.New("there is none such in CQL")
	}
	return err
}

// errSeveralTables: a row with indexes cannot be changed, since its places in them are not known.
var errSeveralTables = errors.New("it changes rows that have indexes, which are tables of their own in Cassandra")

func (d *database) compileQuery(s *store.Statement) (*query, error) {
	ways := d.ways[s.Table]
	i := slices.IndexFunc(ways, func(w *way) bool { return w.serves(s) })
	if i < 0 {
		return nil, errNotServed
	}
	w := ways[i]
	q := &query{way: w, descending: s.Descending}
	given := strings.Join(s.Columns, ", ")
	if s.Verb == store.Count {
		given = "count(*)"
		for _, c := range s.Columns {
			given += ", sum(" + c + ")"
		}
	}
	q.text = "SELECT " + given + " FROM " + d.full(w.name)
	var where []string
	if len(s.Where) > 0 && w.bucket.Size > 0 {
		where = append(where, w.partition+" = ?")
	}
	for _, c := range s.Where {
		where = append(where, c.Column+map[store.Comparison]string{store.Equal: " = ?", store.In: " IN ?", store.AtLeast: " >= ?", store.Below: " < ?"}[c.Is])
		q.args = append(q.args, c.Value)
		switch {
		case c.Column != w.clustering0():
		case c.Is == store.AtLeast:
			q.from = c.Value
		case c.Is == store.Below:
			q.to = c.Value
		}
	}
	if len(where) > 0 {
		q.text += " WHERE " + strings.Join(where, " AND ")
	}
	if last := lastOf(w.clustering, s.Order); s.Descending && last >= 0 {
		q.text += " ORDER BY " + strings.Join(w.clustering[:last+1], " DESC, ") + " DESC"
	}
	if s.Limit.Source != store.FromNothing {
		q.text += " LIMIT ?"
		q.args = append(q.args, s.Limit)
	}
	return q, nil
}

// clustering0 is the first column that orders a partition's rows; empty if a partition has one row.
func (w *way) clustering0() string {
	if len(w.clustering) == 0 {
		return ""
	}
	return w.clustering[0]
}

// lastOf is the index of the last of these names in a list, or -1.
func lastOf(list, names []string) int {
	last := -1
	for _, name := range names {
		last = max(last, slices.Index(list, name))
	}
	return last
}

// plain returns an error unless all values of a statement are known beforehand.
func plain(s *store.Statement) error {
	values := slices.Clone(s.Values)
	for _, c := range s.Where {
		values = append(values, c.Value)
	}
	for _, a := range s.Set {
		if a.Add {
			return errNoSums
		}
		values = append(values, a.Value)
	}
	for _, v := range values {
		if v.Source != store.FromParameter && v.Source != store.FromNumber {
			return errNoSums
		}
	}
	return nil
}

var errNoSums = errors.New("it takes a value from what is there, which Cassandra does for its counters alone")

// alone reports whether a table's rows are in no table of an index.
func (d *database) alone(table string) bool {
	return len(d.ways[table]) == 1 && d.ways[table][0].name == prefixOf(d.schema)+table
}

// compileChange makes the plan of an Update or a Delete of one row by its whole key.
func (d *database) compileChange(p *plan) error {
	table := d.schema.Table(p.Table)
	if !d.alone(p.Table) {
		return errSeveralTables
	}
	full := d.full(d.ways[p.Table][0].name)
	var set, where []string
	for _, a := range p.Set {
		set, p.args = append(set, a.Column+" = ?"), append(p.args, a.Value)
	}
	named := map[string]bool{}
	for _, c := range p.Where {
		if c.Is != store.Equal {
			return errNotServed
		}
		named[c.Column] = true
		where, p.args = append(where, c.Column+" = ?"), append(p.args, c.Value)
	}
	for _, column := range table.Key() {
		if !named[column] {
			return errNotServed
		}
	}
	if len(named) != table.Keys() || len(p.Columns) > 0 {
		return errors.New("a change is of a row that its key alone names, and gives nothing back in Cassandra")
	}
	p.write = "DELETE FROM " + full
	if p.Verb == store.Update {
		p.write = "UPDATE " + full + " SET " + strings.Join(set, ", ")
	}
	p.write += " WHERE " + strings.Join(where, " AND ")
	return nil
}

// insertions insert a row into every table that has it.
func (d *database) insertions(table string, columns []string) (all []insertion) {
	for _, w := range d.ways[table] {
		names, divided := columns, -1
		if w.bucket.Size > 0 {
			names, divided = append(slices.Clone(columns), w.bucket.Name), slices.Index(columns, w.clustering[0])
		}
		all = append(all, insertion{way: w, divided: divided, text: fmt.Sprintf("INSERT INTO %s (%s) VALUES (?%s)",
			d.full(w.name), strings.Join(names, ", "), strings.Repeat(", ?", len(names)-1))})
	}
	return all
}

// values are a row's values, with the part if the table has one.
func (i *insertion) values(row []any) []any {
	if i.divided < 0 {
		return row
	}
	value, _ := row[i.divided].(int64)
	return append(row[:len(row):len(row)], i.way.part(value))
}

// each calls do with the values of each part of the query in turn.
func (q *query) each(parameters []store.Value, do func(values []any) error) error {
	values := resolve(q.args, parameters)
	if q.way.bucket.Size == 0 || q.from.Source == store.FromNothing {
		return do(values)
	}
	from, _ := valueOf(q.from, parameters).(int64)
	to, _ := valueOf(q.to, parameters).(int64)
	if from >= to {
		return nil
	}
	first, last, step := q.way.part(from), q.way.part(to-1), int64(1)
	if q.descending {
		first, last, step = last, first, -1
	}
	for part := first; ; part += step {
		if err := do(append([]any{part}, values...)); err != nil || part == last {
			return err
		}
	}
}

func resolve(expressions []store.Expression, parameters []store.Value) []any {
	values := make([]any, len(expressions))
	for i, e := range expressions {
		values[i] = valueOf(e, parameters)
	}
	return values
}

func valueOf(e store.Expression, parameters []store.Value) any {
	if e.Source == store.FromNumber {
		return e.Number
	}
	return bound(parameters[e.Parameter-1])
}

func bound(v store.Value) any {
	switch v.Kind {
	case store.Bool:
		return v.Number != 0
	case store.Text:
		return v.Text
	case store.Bytes:
		return v.Bytes
	case store.List, store.Keys:
		return v.Numbers
	default:
		return v.Number
	}
}
