package rows

import (
	"errors"
	"fmt"
	"slices"

	"assay/store"
)

// Plan is a compiled statement.
type Plan struct {
	Name  string
	Verb  store.Verb
	Table *Table
	// Columns are the columns that a Read gives, that a Count sums, or that an Insert or Put
	// writes in each row.
	Columns []int
	// Written are the columns that an Update sets.
	Written []int
	values  []expression // of the rows of an Insert, a Put or an Append
	set     []assignment
	where   []condition
	Access
	order      []int
	descending bool
	limit      expression
}

type expression struct {
	source    store.Source
	parameter int
	number    int64
	column    int
	// text says that the column has texts.
	text bool
	// table and key name the row of a Left.
	table *Table
	key   []expression
}

type assignment struct {
	add   bool
	value expression
}

type condition struct {
	column int
	is     store.Comparison
	value  expression
}

const (
	// ByKey is the key's order, Anyhow no order.
	ByKey  = -1
	Anyhow = -2
)

// Access says how matching rows are found: by keys, in a range of an order, or among all rows.
type Access struct {
	// Keyed has the number of the condition on each key column, at most one of them an In. It is
	// nil if rows are not found by keys.
	Keyed []int
	// Index is an index's number, ByKey or Anyhow.
	Index int
	// Equal are the conditions on the order's first columns. From and To are those on the next
	// column, or -1.
	Equal    []int
	From, To int
	// Sorted says that the order is the statement's, perhaps backwards.
	Sorted bool
	// Filtered says that there are more conditions.
	Filtered bool
}

// Ways are a database's ways to find rows.
type Ways struct {
	// Keyed: it finds rows by their keys.
	Keyed bool
	// InOrder: it scans all rows in the key's order.
	InOrder bool
	// Usable reports whether it scans in an index's order, or in the key's (ByKey).
	Usable func(t *Table, index int) bool
}

// Compile makes a statement's plan.
func Compile(tables map[string]*Table, of *store.Statement, ways Ways) (*Plan, error) {
	p, err := compile(tables, of)
	if err != nil {
		return nil, fmt.Errorf("statement %q: %w", of.Name, err)
	}
	p.choose(ways)
	return p, nil
}

var (
	errLanguage = errors.New("the database has no language of its own")
	errAppend   = errors.New("lists are appended to in tables of a key and a list")
)

func compile(tables map[string]*Table, of *store.Statement) (*Plan, error) {
	if of.Verb == store.Native {
		return nil, errLanguage
	}
	t, err := Find(tables, of.Table)
	if err != nil {
		return nil, err
	}
	p := &Plan{Name: of.Name, Verb: of.Verb, Table: t, descending: of.Descending}
	c := compiler{tables: tables, table: t}
	p.Columns, p.order = c.columns(of.Columns), c.columns(of.Order)
	switch of.Verb {
	case store.Append:
		if t.Keys() != 1 || len(t.Columns) != 2 {
			return nil, errAppend
		}
		p.values = append(c.row(of, p.Columns, 0)[:1], c.expression(of.Values[1], 0))
	case store.Insert, store.Put:
		for row := range max(of.Rows, 1) {
			p.values = append(p.values, c.row(of, p.Columns, row)...)
		}
	}
	for _, a := range of.Set {
		column := c.column(a.Column)
		if column < t.Keys() && c.err == nil {
			return nil, fmt.Errorf("it changes column %q of the key; delete the row and insert another", a.Column)
		}
		p.Written, p.set = append(p.Written, column), append(p.set, assignment{a.Add, c.expression(a.Value, column)})
	}
	for _, w := range of.Where {
		column := c.column(w.Column)
		p.where = append(p.where, condition{column, w.Is, c.expression(w.Value, column)})
	}
	if of.Limit.Source != store.FromNothing {
		p.limit = c.expression(of.Limit, 0)
		p.limit.text = false
	}
	return p, c.err
}

type compiler struct {
	tables map[string]*Table
	table  *Table
	err    error
}

func (c *compiler) columns(names []string) []int {
	columns, err := c.table.Places(names)
	if err != nil && c.err == nil {
		c.err = err
	}
	return columns
}

func (c *compiler) column(name string) int {
	if columns := c.columns([]string{name}); columns != nil {
		return columns[0]
	}
	return 0
}

func (c *compiler) row(of *store.Statement, columns []int, row int) (values []expression) {
	for i, column := range columns {
		values = append(values, c.expression(of.Value(row, i), column))
	}
	return values
}

func (c *compiler) expression(of store.Expression, column int) expression {
	e := expression{source: of.Source, parameter: of.Parameter - 1, number: of.Number, text: c.table.places[column].text}
	switch of.Source {
	case store.FromColumn:
		e.column = c.column(of.Column)
	case store.FromLeft:
		t, err := Find(c.tables, of.Table)
		if err != nil {
			c.err = err
			return e
		}
		inner := compiler{tables: c.tables, table: t}
		e.table, e.column = t, inner.column(of.Column)
		for i, k := range of.Key {
			e.key = append(e.key, inner.expression(k, i))
		}
		if inner.err != nil {
			c.err = inner.err
		}
	}
	return e
}

func (p *Plan) choose(ways Ways) {
	p.Access = Access{Index: Anyhow, From: -1, To: -1, Filtered: len(p.where) > 0}
	if ways.InOrder {
		p.Access, _ = p.weigh(ByKey)
	}
	if ways.Keyed {
		if keyed := p.byKey(); keyed != nil {
			p.Access = Access{Keyed: keyed, Index: Anyhow, From: -1, To: -1, Filtered: len(keyed) < len(p.where)}
			return
		}
	}
	best := 0
	for index := ByKey; index < len(p.Table.Orders); index++ {
		if a, worth := p.weigh(index); worth > best && ways.Usable(p.Table, index) {
			p.Access, best = a, worth
		}
	}
}

func (p *Plan) byKey() (keyed []int) {
	several := false
	for column := range p.Table.Keys() {
		i := p.find(column, store.Equal)
		if i < 0 && !several {
			several = true
			i = p.find(column, store.In)
		}
		if i < 0 {
			return nil
		}
		keyed = append(keyed, i)
	}
	return keyed
}

// find returns a condition's number, or -1.
func (p *Plan) find(column int, is store.Comparison) int {
	return slices.IndexFunc(p.where, func(c condition) bool { return c.column == column && c.is == is })
}

func (p *Plan) weigh(index int) (a Access, worth int) {
	a = Access{Index: index, From: -1, To: -1}
	order := p.Table.Order(index)
	for _, column := range order {
		i := p.find(column, store.Equal)
		if i < 0 {
			a.From, a.To = p.find(column, store.AtLeast), p.find(column, store.Below)
			break
		}
		a.Equal = append(a.Equal, i)
	}
	used := len(a.Equal)
	worth = 4 * used
	if a.From >= 0 || a.To >= 0 {
		worth += 2
	}
	for _, i := range []int{a.From, a.To} {
		if i >= 0 {
			used++
		}
	}
	a.Filtered = used < len(p.where)
	if a.Sorted = p.sorted(order); a.Sorted && len(p.order) > 0 && p.Limited() {
		worth++
	}
	return a, worth
}

// sorted reports whether rows ordered by the columns are in the statement's order.
func (p *Plan) sorted(by []int) bool {
	single := func(column int) bool { return p.find(column, store.Equal) >= 0 }
	at := 0
	for _, column := range p.order {
		if single(column) {
			continue
		}
		for at < len(by) && single(by[at]) {
			at++
		}
		if at == len(by) || by[at] != column {
			return false
		}
		at++
	}
	return true
}

// Limited reports whether the statement has a limit.
func (p *Plan) Limited() bool { return p.limit.source != store.FromNothing }

// Ordered reports whether the statement has an order. Backwards reports whether rows are found
// from the end.
func (p *Plan) Ordered() bool { return len(p.order) > 0 }

func (p *Plan) Backwards() bool { return p.descending && p.Sorted }

// ReadsOnly reports whether the statement changes nothing.
func (p *Plan) ReadsOnly() bool { return p.Verb == store.Read || p.Verb == store.Count }
