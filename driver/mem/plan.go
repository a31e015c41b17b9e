package mem

import (
	"fmt"
	"slices"

	"assay/store"
)

// plan is a statement as it is done.
type plan struct {
	name string
	verb store.Verb
	r    *relation
	// gives are the columns of a row that is given, or those of which Count gives sums.
	gives []int
	// columns are those that are written, values what is: of each row of an Insert or a
	// Put in turn.
	columns []int
	values  []expression
	set     []assignment
	where   []condition
	access
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
	// r and key are the row of a Left.
	r   *relation
	key []expression
}

type assignment struct {
	column int
	add    bool
	value  expression
}

type condition struct {
	column int
	is     store.Comparison
	value  expression
}

// access is how the rows are found that satisfy the conditions: by their keys, or by a
// part of an ordering, or else among all.
type access struct {
	// keyed has the number of the condition on each column of the key, of which one may be
	// that it is In several.
	keyed []int
	// by is the ordering, and equal, from and to are numbers of conditions; -1 for none.
	by       *ordering
	equal    []int
	from, to int
	// sorted is true if the ordering is the one that is asked for.
	sorted bool
}

// notFoundError is of a name that a statement has and the schema does not have.
type notFoundError struct{ what, name, in string }

func (e *notFoundError) Error() string {
	return fmt.Sprintf("there is no %s %q%s; name one of the schema", e.what, e.name, e.in)
}

// compile makes the plan of a statement. make is whether orderings may be made that it
// can use. The caller holds the lock.
func (s *Database) compile(of *store.Statement, make bool) (*plan, error) {
	p, err := s.planOf(of)
	if err != nil {
		return nil, fmt.Errorf("mem: statement %q: %w", of.Name, err)
	}
	p.choose(make)
	return p, nil
}

func (s *Database) planOf(of *store.Statement) (p *plan, err error) {
	if of.Verb == store.Native {
		return nil, fmt.Errorf("%s", noSQL)
	}
	r := s.relations[of.Table]
	if r == nil {
		return nil, &notFoundError{what: "table", name: of.Table}
	}
	c := compiler{s, r, nil}
	p = &plan{name: of.Name, verb: of.Verb, r: r, descending: of.Descending, order: c.columns(of.Order)}
	columns := c.columns(of.Columns)
	switch of.Verb {
	case store.Insert, store.Put:
		p.columns = columns
		for row := range max(of.Rows, 1) {
			for i := range columns {
				p.values = append(p.values, c.expression(of.Value(row, i), columns[i]))
			}
		}
	case store.Append:
		if len(columns) != 2 || len(of.Values) != 2 || len(r.places) != 2 {
			return nil, fmt.Errorf("it needs a table of a key and a list")
		}
		p.columns = columns
		for i, v := range of.Values {
			p.values = append(p.values, c.expression(v, 0))
			p.values[i].text = i == 0 && r.places[max(columns[0], 0)].text
		}
	case store.Read, store.Count, store.Update, store.Delete:
		p.gives = columns
	default:
		return nil, fmt.Errorf("there is no verb %d", of.Verb)
	}
	for _, a := range of.Set {
		column := c.column(a.Column)
		if column < r.table.Keys() && c.err == nil {
			return nil, fmt.Errorf("it changes column %q of the key: delete the row and insert another", a.Column)
		}
		p.set = append(p.set, assignment{column, a.Add, c.expression(a.Value, column)})
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
	s   *Database
	r   *relation
	err error
}

func (c *compiler) column(name string) int { return c.columnOf(c.r, name) }

func (c *compiler) columnOf(r *relation, name string) int {
	i := r.column(name)
	if i < 0 {
		if c.err == nil {
			c.err = &notFoundError{"column", name, fmt.Sprintf(" in table %q", r.table.Name)}
		}
		return 0
	}
	return i
}

func (c *compiler) columns(names []string) (numbers []int) {
	for _, name := range names {
		numbers = append(numbers, c.column(name))
	}
	return numbers
}

// expression is a value for a column.
func (c *compiler) expression(of store.Expression, column int) expression {
	e := expression{source: of.Source, parameter: of.Parameter - 1, number: of.Number, text: c.r.places[column].text}
	switch of.Source {
	case store.FromColumn:
		e.column = c.column(of.Column)
	case store.FromLeft:
		if e.r = c.s.relations[of.Table]; e.r == nil {
			c.err = &notFoundError{what: "table", name: of.Table}
			return e
		}
		e.column = c.columnOf(e.r, of.Column)
		inner := compiler{c.s, e.r, nil}
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
func (p *plan) choose(make bool) {
	p.from, p.to = -1, -1
	if p.keyed = p.byKey(); p.keyed != nil {
		return
	}
	key := []int{}
	for column := range p.r.table.Keys() {
		key = append(key, column)
	}
	best := 0
	for _, columns := range append([][]int{key}, p.r.indexed()...) {
		a, worth := p.weigh(columns)
		if worth <= best {
			continue
		}
		if i := slices.IndexFunc(p.r.orders, func(o *ordering) bool { return slices.Equal(o.columns, columns) }); i >= 0 || make {
			a.by = p.r.order(columns, false)
			p.access, best = a, worth
		}
	}
}

// indexed are the columns of the indexes.
func (r *relation) indexed() (all [][]int) {
	for _, i := range r.table.Indexes {
		all = append(all, r.columns(i.Columns))
	}
	return all
}

// byKey is access.keyed; nil if the conditions do not name rows by their keys.
func (p *plan) byKey() (keyed []int) {
	several := false
	for column := range p.r.table.Keys() {
		i := slices.IndexFunc(p.where, func(c condition) bool { return c.column == column && c.is == store.Equal })
		if i < 0 && !several {
			several = true
			i = slices.IndexFunc(p.where, func(c condition) bool { return c.column == column && c.is == store.In })
		}
		if i < 0 {
			return nil
		}
		keyed = append(keyed, i)
	}
	return keyed
}

// find is the number of a condition; -1 if there is none such.
func (p *plan) find(column int, is store.Comparison) int {
	return slices.IndexFunc(p.where, func(c condition) bool { return c.column == column && c.is == is })
}

// weigh is the access by an ordering of these columns, and how much it is worth.
func (p *plan) weigh(columns []int) (a access, worth int) {
	a = access{from: -1, to: -1}
	for _, column := range columns {
		i := p.find(column, store.Equal)
		if i < 0 {
			a.from, a.to = p.find(column, store.AtLeast), p.find(column, store.Below)
			break
		}
		a.equal = append(a.equal, i)
	}
	worth = 4 * len(a.equal)
	if a.from >= 0 || a.to >= 0 {
		worth += 2
	}
	rest := p.order
	for len(rest) > 0 && slices.ContainsFunc(a.equal, func(i int) bool { return p.where[i].column == rest[0] }) {
		rest = rest[1:]
	}
	next := slices.Clone(columns[len(a.equal):])
	for column := range p.r.table.Keys() {
		if !slices.Contains(columns, column) {
			next = append(next, column)
		}
	}
	if a.sorted = len(p.order) > 0 && len(rest) <= len(next) && slices.Equal(rest, next[:len(rest)]); a.sorted && p.limit.source != store.FromNothing {
		worth++
	}
	return a, worth
}
