package rows

import (
	"errors"
	"fmt"
	"slices"

	"assay/store"
)

// Plan is a statement as it is done.
type Plan struct {
	Name  string
	Verb  store.Verb
	Table *Table
	// Columns are those that are given, those of which Count gives sums, or those that are
	// written, of each row in turn.
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

// expression is a value, in one of these ways.
type expression struct {
	source    store.Source
	parameter int
	number    int64
	column    int
	// text is true of the value of a column that holds texts.
	text bool
	// table and key are of the row of a Left.
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

// What Access.Index is if it is no index.
const (
	// ByKey is the order of the key, and Anyhow no order.
	ByKey  = -1
	Anyhow = -2
)

// Access is how the rows are found that satisfy the conditions: by their keys, or in a part
// of what is in order, or else among all.
type Access struct {
	// Keyed has the number of the condition on each column of the key, of which one may be
	// that it is In several; nil if rows are not named by their keys.
	Keyed []int
	// Index is the number of the index in whose order rows are found.
	Index int
	// Equal are the conditions that the first columns of the order satisfy, and From and To
	// those of the next; -1 for none.
	Equal    []int
	From, To int
	// Sorted is true if rows come so in the order that is asked for, forwards or backwards.
	Sorted bool
	// Filtered is true if there are conditions beside these.
	Filtered bool
}

// Ways are those by which a database finds rows.
type Ways struct {
	// Keyed is true if it finds them by keys.
	Keyed bool
	// InOrder is true if all of them come in the order of the key.
	InOrder bool
	// Usable reports whether it finds them in the order of an index or of the key.
	Usable func(t *Table, index int) bool
}

// Compile makes the plan of a statement.
func Compile(tables map[string]*Table, of *store.Statement, ways Ways) (*Plan, error) {
	p, err := compile(tables, of)
	if err != nil {
		return nil, fmt.Errorf("statement %q: %w", of.Name, err)
	}
	p.choose(ways)
	return p, nil
}

// Errors of statements that cannot be done.
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

// compiler finds columns by their names. It keeps the first error.
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

// expression is a value for a column.
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

// choose decides how the rows are found.
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

// byKey is Access.Keyed.
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

// find is the number of a condition; -1 if there is none such.
func (p *Plan) find(column int, is store.Comparison) int {
	return slices.IndexFunc(p.where, func(c condition) bool { return c.column == column && c.is == is })
}

// weigh is the access in the order of an index or of the key, and how much it is worth.
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

// sorted reports whether rows in an order of columns are in the one that is asked for.
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

// Limited reports whether the statement gives no more than some rows.
func (p *Plan) Limited() bool { return p.limit.source != store.FromNothing }

// Ordered reports whether rows are wanted in some order, and Backwards whether they are to
// be found from the end on.
func (p *Plan) Ordered() bool { return len(p.order) > 0 }

func (p *Plan) Backwards() bool { return p.descending && p.Sorted }

// ReadsOnly reports whether the statement changes nothing.
func (p *Plan) ReadsOnly() bool { return p.Verb == store.Read || p.Verb == store.Count }
