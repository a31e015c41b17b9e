package script

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"go.starlark.net/starlark"

	"assay/workload"
)

// object is the part of a Starlark value that all of assay's objects share: they cannot
// be compared, kept as keys or changed.
type object string

func (o object) String() string        { return "<" + string(o) + ">" }
func (o object) Type() string          { return string(o) }
func (object) Freeze()                 {}
func (object) Truth() starlark.Bool    { return true }
func (o object) Hash() (uint32, error) { return 0, fmt.Errorf("%s cannot be a key", string(o)) }

// handle is tx: the transaction that is under way.
type handle struct {
	object
	*call
}

var _ starlark.HasAttrs = (*handle)(nil)

func (*handle) AttrNames() []string {
	return []string{"aggregate", "delete", "exec", "expect", "find", "find_one", "insert", "query", "row", "sleep", "update", "value"}
}

func (h *handle) Attr(name string) (starlark.Value, error) {
	var f builtin
	switch name {
	case "exec":
		f = h.exec
	case "query":
		f = h.queryRows
	case "row":
		f = h.row
	case "value":
		f = h.value
	case "expect":
		f = h.expectation
	case "sleep":
		f = h.sleep
	default:
		if f = h.document(name); f == nil {
			return nil, nil
		}
	}
	return starlark.NewBuiltin(name, f), nil
}

// statement takes a statement of SQL and its parameters from the arguments of a call.
// instead is the call to use where the database has documents.
func (h *handle) statement(instead string, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (Statement, error) {
	if err := h.program.statements.inLanguage(SQL, "tx."+b.Name(), instead); err != nil {
		return Statement{}, err
	}
	if len(args) == 0 || len(kwargs) > 0 {
		return Statement{}, fmt.Errorf("%s takes a statement, and then the values of $1, $2 and so on", b.Name())
	}
	statement, is := args[0].(starlark.String)
	if !is {
		return Statement{}, fmt.Errorf("%s takes a statement as a string, not a %s", b.Name(), args[0].Type())
	}
	parameters := make([]any, 0, len(args)-1)
	for i, arg := range args[1:] {
		v, err := plain(arg)
		if err != nil {
			return Statement{}, fmt.Errorf("the value of $%d: %w", i+1, err)
		}
		parameters = append(parameters, v)
	}
	return h.prepare(string(statement), parameters)
}

func (h *handle) exec(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	s, err := h.statement("tx.insert, tx.update or tx.delete", b, args, kwargs)
	if err != nil {
		return nil, err
	}
	changed, err := h.execute(s)
	return starlark.MakeInt64(changed), err
}

// rows are those of a query as tuples.
func (h *handle) rows(b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) ([]starlark.Value, error) {
	s, err := h.statement("tx.find, tx.find_one or tx.aggregate", b, args, kwargs)
	if err != nil {
		return nil, err
	}
	rows, err := h.query(s)
	if err != nil {
		return nil, err
	}
	all := make([]starlark.Value, len(rows))
	for i, row := range rows {
		tuple := make(starlark.Tuple, len(row))
		for n, v := range row {
			tuple[n] = valueOf(v)
		}
		all[i] = tuple
	}
	return all, nil
}

func (h *handle) queryRows(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	rows, err := h.rows(b, args, kwargs)
	return starlark.NewList(rows), err
}

// row is the only row of an answer, None if there is none.
func (h *handle) row(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	rows, err := h.rows(b, args, kwargs)
	switch {
	case err != nil:
		return nil, err
	case len(rows) > 1:
		return nil, fmt.Errorf("%s is for one row, and %d came; use tx.query", b.Name(), len(rows))
	case len(rows) == 0:
		return starlark.None, nil
	}
	return rows[0], nil
}

// value is the only column of the only row, None if there is no row.
func (h *handle) value(t *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	row, err := h.row(t, b, args, kwargs)
	columns, is := row.(starlark.Tuple)
	switch {
	case err != nil || !is:
		return row, err
	case len(columns) != 1:
		return nil, fmt.Errorf("value is for one column, and %d came; use tx.row", len(columns))
	}
	return columns[0], nil
}

func (h *handle) expectation(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var got starlark.Value
	what := "the value"
	bounds := newBounds()
	if err := starlark.UnpackArgs(b.Name(), args, kwargs, append([]any{"got", &got, "what?", &what}, bounds.pairs()...)...); err != nil {
		return nil, err
	}
	wanted, err := bounds.expectation()
	if err == nil && len(wanted) == 0 {
		err = errors.New("expect takes equals, at_least or at_most")
	}
	if err != nil {
		return nil, err
	}
	v, err := plain(got)
	if err != nil {
		return nil, err
	}
	h.expect(what, v, wanted)
	return starlark.None, nil
}

// sleep pauses in the transaction.
func (h *handle) sleep(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var seconds starlark.Value
	if err := starlark.UnpackArgs(b.Name(), args, kwargs, "seconds", &seconds); err != nil {
		return nil, err
	}
	n, is := starlark.AsFloat(seconds)
	if !is || !(n >= 0 && n <= 3600) {
		return nil, fmt.Errorf("sleep takes 0 to 3600 seconds, not %v", seconds)
	}
	return starlark.None, workload.Pause(h.ctx, time.Duration(n*float64(time.Second)))
}

func reject(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var reason string
	if err := starlark.UnpackArgs(b.Name(), args, kwargs, "reason", &reason); err != nil {
		return nil, err
	}
	if reason == "" || len(reason) > 60 {
		return nil, errors.New("a reason has 1 to 60 characters, and is one of few")
	}
	return nil, &refusal{reason}
}

func done(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	if err := starlark.UnpackArgs(b.Name(), args, kwargs); err != nil {
		return nil, err
	}
	return nil, repeated{}
}

// param is a parameter of the script that --define sets, of the type of its default.
func (d *declarations) param(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var name string
	var usual starlark.Value
	if err := starlark.UnpackArgs(b.Name(), args, kwargs, "name", &name, "default", &usual); err != nil {
		return nil, err
	}
	text, given := d.defines[name]
	if d.used[name] = true; !given {
		return usual, nil
	}
	wrong := fmt.Errorf("--define %s=%s: want a value such as %v", name, text, usual)
	switch usual.(type) {
	case starlark.Int:
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return nil, wrong
		}
		return starlark.MakeInt64(n), nil
	case starlark.Float:
		f, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return nil, wrong
		}
		return starlark.Float(f), nil
	case starlark.String:
		return starlark.String(text), nil
	case starlark.Bool:
		v, err := strconv.ParseBool(text)
		if err != nil {
			return nil, wrong
		}
		return starlark.Bool(v), nil
	}
	return nil, errors.New("the default of a param is a number, a string or a boolean")
}

// bounds takes equals, at_least and at_most from the arguments of a call.
type bounds struct {
	words  []string
	values []starlark.Value
}

func newBounds() *bounds {
	b := &bounds{}
	for name := range relations() {
		b.words = append(b.words, name)
	}
	slices.Sort(b.words)
	b.values = make([]starlark.Value, len(b.words))
	return b
}

// pairs are for UnpackArgs, behind the others by their names.
func (b *bounds) pairs() (pairs []any) {
	for i, name := range b.words {
		pairs = append(pairs, name+"?", &b.values[i])
	}
	return pairs
}

func (b *bounds) expectation() (e expectation, err error) {
	for i, v := range b.values {
		if v == nil {
			continue
		}
		value, err := plain(v)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", b.words[i], err)
		}
		e = append(e, bound{relations()[b.words[i]], value})
	}
	return e, nil
}

// plain is a Starlark value as a value of the Store.
func plain(v starlark.Value) (any, error) {
	switch v := v.(type) {
	case starlark.NoneType:
		return nil, nil
	case starlark.Bool:
		return bool(v), nil
	case starlark.Int:
		if n, fits := v.Int64(); fits {
			return n, nil
		}
		return nil, fmt.Errorf("%v has more than 64 bits", v)
	case starlark.Float:
		if math.IsNaN(float64(v)) || math.IsInf(float64(v), 0) {
			return nil, fmt.Errorf("%v is no number", v)
		}
		return float64(v), nil
	case starlark.String:
		return string(v), nil
	}
	return nil, fmt.Errorf("a %s is no value of a database; want an int, a float, a string, a bool or None", v.Type())
}

// valueOf is the opposite of plain.
func valueOf(v any) starlark.Value {
	switch v := v.(type) {
	case bool:
		return starlark.Bool(v)
	case int64:
		return starlark.MakeInt64(v)
	case float64:
		return starlark.Float(v)
	case string:
		return starlark.String(v)
	case Document:
		d := starlark.NewDict(len(v))
		for _, f := range v {
			_ = d.SetKey(starlark.String(f.Name), valueOf(f.Value)) // a string is a key, and nobody iterates over it
		}
		return d
	case []any:
		all := make([]starlark.Value, len(v))
		for i, element := range v {
			all[i] = valueOf(element)
		}
		return starlark.NewList(all)
	}
	return starlark.None
}
