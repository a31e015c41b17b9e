package script

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"go.starlark.net/starlark"
)

// declarations collects what a script declares.
type declarations struct {
	file    string
	defines map[string]string
	used    map[string]bool
	program *program
}

func (d *declarations) unused() string {
	for name := range d.defines {
		if !d.used[name] {
			return name
		}
	}
	return ""
}

func (d *declarations) builtins() starlark.StringDict {
	d.used = map[string]bool{}
	all := starlark.StringDict{}
	for name, m := range map[string]member[*declarations]{
		"transaction": method((*declarations).transaction), "invariant": method((*declarations).invariant), "counted": method((*declarations).counted), "listed": method((*declarations).listed),
		"param": method((*declarations).param), "aggregate": method((*declarations).aggregate),
		"reject": method((*declarations).reject), "done": method((*declarations).done),
	} {
		all[name] = m(d, name)
	}
	return all
}

func (d *declarations) transaction(a arguments) (starlark.Value, error) {
	t := transaction{weight: 1}
	var run *starlark.Function
	var think starlark.Value = starlark.Float(0)
	if err := a.unpack("name", &t.name, "run", &run, "weight?", &t.weight, "think?", &think, "read_only?", &t.reads); err != nil {
		return nil, err
	}
	seconds, isNumber := starlark.AsFloat(think)
	_, twice := d.program.kind(t.name)
	switch {
	case t.name == "" || len(t.name) > 60:
		return nil, errors.New("a transaction has a name of 1 to 60 characters")
	case twice:
		return nil, fmt.Errorf("the transaction %q is declared twice", t.name)
	case t.weight < 1 || t.weight > 1_000_000:
		return nil, fmt.Errorf("the weight of %q is %d; want 1 to 1000000", t.name, t.weight)
	case !isNumber || !(seconds >= 0 && seconds <= 3600):
		return nil, fmt.Errorf("the think time of %q is %v; want 0 to 3600 seconds", t.name, think)
	case run.NumParams() != 2:
		return nil, fmt.Errorf("%s takes %d parameters; a transaction takes two, tx and r", run.Name(), run.NumParams())
	}
	run.Freeze() // it is used by many clients
	t.think = time.Duration(seconds * float64(time.Second))
	t.run = func(c *call) error { return runStarlark(d.file, run, c) }
	d.program.transactions = append(d.program.transactions, t)
	return starlark.None, nil
}

func (d *declarations) invariant(a arguments) (starlark.Value, error) {
	i := invariant{declaration: declaration{location: calledAt(a.thread)}}
	var b bounds
	var query starlark.Value
	if err := a.unpack(append([]any{"name", &i.name, "query", &query, "empty?", &i.empty, "at_end?", &i.atEnd}, b.pairs()...)...); err != nil {
		return nil, err
	}
	var err error
	if i.query, err = queryOf(query); err != nil {
		return nil, err
	}
	if i.wanted, err = b.expectation(); err != nil {
		return nil, err
	}
	return starlark.None, d.program.addInvariant(i)
}

// calledAt is the place of a call of assay's function.
func calledAt(t *starlark.Thread) location {
	pos := t.CallFrame(1).Pos
	return location{int(pos.Line), int(pos.Col)}
}

// aggregate is the query of an invariant or count of documents.
func (d *declarations) aggregate(a arguments) (starlark.Value, error) {
	c, err := aggregation(a)
	return &documentQuery{"aggregation", c}, err
}

type documentQuery struct {
	opaque
	command *DocumentCommand
}

// queryOf is SQL or the result of aggregate.
func queryOf(v starlark.Value) (Statement, error) {
	switch v := v.(type) {
	case starlark.String:
		return Statement{Text: string(v)}, nil
	case *documentQuery:
		return Statement{Command: v.command}, nil
	}
	return Statement{}, fmt.Errorf("a query is a string of SQL or aggregate(collection, pipeline), not a %s", v.Type())
}

func (d *declarations) counted(a arguments) (starlark.Value, error) {
	c := rowCount{each: 1}
	if err := a.rows(&c.declaration, "transaction", &c.transaction, "each?", &c.each, "start?", &c.start); err != nil {
		return nil, err
	}
	return starlark.None, d.program.addCount(c)
}

func (d *declarations) listed(a arguments) (starlark.Value, error) {
	l := rowList{column: "id", each: 1}
	if err := a.rows(&l.declaration, "transaction", &l.transaction, "column?", &l.column, "each?", &l.each); err != nil {
		return nil, err
	}
	return starlark.None, d.program.addList(l)
}

// rows reads the arguments that counts and lists share, and more.
func (a arguments) rows(d *declaration, more ...any) (err error) {
	d.location = calledAt(a.thread)
	var query starlark.Value
	if err = a.unpack(append(append([]any{"rows", &d.name}, more...), "query?", &query)...); err == nil && query != nil {
		d.query, err = queryOf(query)
	}
	return err
}

func (*declarations) reject(a arguments) (starlark.Value, error) {
	var reason string
	if err := a.unpack("reason", &reason); err != nil {
		return nil, err
	}
	if reason == "" || len(reason) > 60 {
		return nil, errors.New("a reason has 1 to 60 characters, and is one of few")
	}
	return nil, &refusal{reason}
}

func (*declarations) done(a arguments) (starlark.Value, error) {
	if err := a.unpack(); err != nil {
		return nil, err
	}
	return nil, repeated{}
}

// param declares a script parameter that --define sets, with its default's type.
func (d *declarations) param(a arguments) (starlark.Value, error) {
	var name string
	var usual starlark.Value
	if err := a.unpack("name", &name, "default", &usual); err != nil {
		return nil, err
	}
	text, given := d.defines[name]
	if d.used[name] = true; !given {
		return usual, nil
	}
	var v starlark.Value
	var err error
	switch usual.(type) {
	case starlark.Int:
		var n int64
		n, err = strconv.ParseInt(text, 10, 64)
		v = starlark.MakeInt64(n)
	case starlark.Float:
		var f float64
		f, err = strconv.ParseFloat(text, 64)
		v = starlark.Float(f)
	case starlark.String:
		v = starlark.String(text)
	case starlark.Bool:
		var b bool
		b, err = strconv.ParseBool(text)
		v = starlark.Bool(b)
	default:
		return nil, errors.New("the default of a param is a number, a string or a boolean")
	}
	if err != nil {
		return nil, fmt.Errorf("--define %s=%s: want a value such as %v", name, text, usual)
	}
	return v, nil
}
