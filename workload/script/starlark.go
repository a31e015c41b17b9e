package script

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"go.starlark.net/resolve"
	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

// maxSteps bounds the steps of one call of a function of the script, so that none goes
// on for ever: some seconds of work.
const maxSteps = 20_000_000

// parse reads a script. The error is an *Error.
func parse(file, text string, defines map[string]string, statements *statements) (*program, error) {
	d := &declarations{file: file, defines: defines, program: &program{path: file, statements: statements}}
	// Neither while nor recursion, so that what is written ends; no load.
	globals, err := starlark.ExecFileOptions(&syntax.FileOptions{Set: true, TopLevelControl: true}, newThread(), file, text, d.builtins())
	if err != nil {
		return nil, located(file, err)
	}
	globals.Freeze()
	if declared, is := globals["setup"]; is {
		fn, is := declared.(*starlark.Function)
		if !is || fn.NumParams() != 1 {
			return nil, &Error{File: file, Reason: "setup is no function of one parameter", Advice: "write def setup(db):"}
		}
		d.program.setup = func(s *setup) error {
			_, err := starlark.Call(newThread(), fn, starlark.Tuple{&database{"db", s}}, nil)
			return located(file, err)
		}
	}
	if unused := d.unused(); unused != "" {
		return nil, &Error{File: file, Reason: fmt.Sprintf("--define gives %s, and the script has no param(%q)", unused, unused)}
	}
	return d.program, d.program.finish()
}

func newThread() *starlark.Thread {
	t := &starlark.Thread{Name: "script", Print: func(*starlark.Thread, string) {}}
	t.SetMaxExecutionSteps(maxSteps)
	t.OnMaxSteps = func(t *starlark.Thread) { t.Cancel(tooManySteps) }
	return t
}

const tooManySteps = "a call takes too many steps"

// located is an error with its place in the script, nil for nil.
func located(file string, err error) error {
	if err == nil {
		return nil
	}
	out := &Error{File: file, Reason: err.Error(), Err: err}
	var parsed syntax.Error
	var resolved resolve.ErrorList
	var raised *starlark.EvalError
	switch {
	case errors.As(err, &parsed):
		out.Line, out.Column, out.Reason = int(parsed.Pos.Line), int(parsed.Pos.Col), parsed.Msg
		out.Advice = "a script is written in Starlark, whose syntax is Python's"
	case errors.As(err, &resolved) && len(resolved) > 0:
		first := resolved[0]
		out.Line, out.Column, out.Reason = int(first.Pos.Line), int(first.Pos.Col), first.Msg
		if strings.HasPrefix(first.Msg, "undefined") {
			out.Advice = "docs/script.md has the functions that assay defines"
		}
	case errors.As(err, &raised):
		place := position(raised.CallStack)
		out.Line, out.Column, out.Reason = int(place.Line), int(place.Col), raised.Msg
		if strings.Contains(raised.Msg, tooManySteps) {
			out.Advice = fmt.Sprintf("let it do less: %d steps are allowed", maxSteps)
		}
	}
	return out
}

// position is the innermost place in the script.
func position(stack starlark.CallStack) syntax.Position {
	for i := range stack {
		if pos := stack.At(i).Pos; pos.Line > 0 {
			return pos
		}
	}
	return syntax.Position{}
}

// declarations are what a script declares while it is read.
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
	for name, f := range map[string]builtin{
		"transaction": d.transaction, "invariant": d.invariant, "counted": d.counted, "param": d.param, "aggregate": d.aggregate,
		"reject": reject, "done": done,
	} {
		all[name] = starlark.NewBuiltin(name, f)
	}
	return all
}

// builtin is a function that assay defines.
type builtin = func(*starlark.Thread, *starlark.Builtin, starlark.Tuple, []starlark.Tuple) (starlark.Value, error)

func (d *declarations) transaction(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	t := transaction{weight: 1}
	var run *starlark.Function
	var think starlark.Value = starlark.Float(0)
	if err := starlark.UnpackArgs(b.Name(), args, kwargs, "name", &t.name, "run", &run, "weight?", &t.weight, "think?", &think, "read_only?", &t.reads); err != nil {
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

// runStarlark runs a transaction of a script. The error is a *refusal, repeated, or an
// *Error, which wraps what the database said.
func runStarlark(file string, run *starlark.Function, c *call) error {
	thread := newThread()
	stop := context.AfterFunc(c.ctx, func() { thread.Cancel("the time of the attempt is over") })
	defer stop()
	_, err := starlark.Call(thread, run, starlark.Tuple{&handle{"tx", c}, &generators{"r", c}}, nil)
	if err == nil {
		return nil
	}
	var refused *refusal
	if errors.As(err, &refused) {
		return refused
	}
	if errors.As(err, &repeated{}) {
		return repeated{}
	}
	if c.ctx.Err() != nil {
		return c.ctx.Err()
	}
	return located(file, err)
}

func (d *declarations) invariant(t *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	i := invariant{location: calledAt(t)}
	bounds := newBounds()
	var query starlark.Value
	if err := starlark.UnpackArgs(b.Name(), args, kwargs, append([]any{"name", &i.name, "query", &query, "empty?", &i.empty, "at_end?", &i.atEnd}, bounds.pairs()...)...); err != nil {
		return nil, err
	}
	var err error
	if i.query, err = queryOf(query); err != nil {
		return nil, err
	}
	if i.wanted, err = bounds.expectation(); err != nil {
		return nil, err
	}
	return starlark.None, d.program.addInvariant(i)
}

// calledAt is where a function of assay's was called.
func calledAt(t *starlark.Thread) location {
	pos := t.CallFrame(1).Pos
	return location{int(pos.Line), int(pos.Col)}
}

// aggregate is the query of an invariant or a count of documents.
func (d *declarations) aggregate(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	c, err := aggregation(b, args, kwargs)
	return &documentQuery{"aggregation", c}, err
}

// documentQuery is a query of documents as a value.
type documentQuery struct {
	object
	command *DocumentCommand
}

// queryOf is the query of an invariant or a count: SQL, or what aggregate gives.
func queryOf(v starlark.Value) (Statement, error) {
	switch v := v.(type) {
	case starlark.String:
		return Statement{Text: string(v)}, nil
	case *documentQuery:
		return Statement{Command: v.command}, nil
	}
	return Statement{}, fmt.Errorf("a query is a string of SQL or aggregate(collection, pipeline), not a %s", v.Type())
}

// declaredQuery is a query that was declared, as it is asked.
func (s *statements) declaredQuery(query Statement) (Statement, error) {
	if query.Command != nil {
		query.Reads = true
		if err := s.inLanguage(Documents, "aggregate", "a query in SQL, as a string"); err != nil {
			return query, err
		}
		return query, s.onDocuments(query.Command)
	}
	if err := s.inLanguage(SQL, "a query in SQL", "aggregate(collection, pipeline)"); err != nil {
		return query, err
	}
	of, err := s.inTransaction(query.Text, 0)
	if err == nil && !of.reads {
		err = errors.New("it is no query")
	}
	if err != nil {
		return query, err
	}
	return Statement{Text: of.text, Reads: true}, nil
}

// addInvariant enters an invariant.
func (p *program) addInvariant(i invariant) error {
	switch {
	case i.name == "" || len(i.name) > 60:
		return errors.New("an invariant has a name of 1 to 60 characters")
	case i.empty == (len(i.wanted) > 0):
		return fmt.Errorf("invariant %q: say what the query must give, by equals, at_least or at_most; or empty = True for no row", i.name)
	}
	var err error
	if i.query, err = p.statements.declaredQuery(i.query); err != nil {
		return fmt.Errorf("invariant %q: %w", i.name, err)
	}
	p.invariants = append(p.invariants, i)
	return nil
}

func (d *declarations) counted(t *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	c := rowCount{location: calledAt(t), each: 1}
	var query starlark.Value
	err := starlark.UnpackArgs(b.Name(), args, kwargs, "rows", &c.name, "transaction", &c.transaction, "each?", &c.each, "start?", &c.start, "query?", &query)
	if err == nil && query != nil {
		c.query, err = queryOf(query)
	}
	if err != nil {
		return nil, err
	}
	return starlark.None, d.program.addCount(c)
}

// addCount enters a count; without a query its name is that of a table or a collection.
func (p *program) addCount(c rowCount) error {
	if c.name == "" || len(c.name) > 60 {
		return errors.New("a count has a name of 1 to 60 characters")
	}
	if c.each < 1 || c.each > 1_000_000 || c.start < 0 {
		return fmt.Errorf("counted %q: each is 1 to 1000000, and start 0 or more", c.name)
	}
	if c.query.Text == "" && c.query.Command == nil {
		c.query.Text = "SELECT count(*) FROM " + c.name
		if p.statements.language == Documents {
			c.query = Statement{Command: &DocumentCommand{Verb: Aggregate, Collection: c.name,
				Pipeline: []any{Document{{"$count", "documents"}}}}}
		}
	}
	var err error
	if c.query, err = p.statements.declaredQuery(c.query); err != nil {
		return fmt.Errorf("counted %q: %w", c.name, err)
	}
	p.counts = append(p.counts, c)
	return nil
}
