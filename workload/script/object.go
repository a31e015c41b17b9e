package script

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"go.starlark.net/starlark"

	"assay/store"
)

// opaque is common to assay's Starlark values, which cannot be compared, hashed or changed. Its
// text is the name of the type.
type opaque string

func (o opaque) String() string        { return "<" + string(o) + ">" }
func (o opaque) Type() string          { return string(o) }
func (opaque) Freeze()                 {}
func (opaque) Truth() starlark.Bool    { return true }
func (o opaque) Hash() (uint32, error) { return 0, fmt.Errorf("%s cannot be a key", string(o)) }

// object is a Starlark value with members that stands for a T.
type object[T any] struct {
	opaque
	of      T
	members map[string]member[T]
}

type member[T any] func(of T, name string) starlark.Value

func (o *object[T]) AttrNames() []string { return slices.Sorted(maps.Keys(o.members)) }

// Attr is nil for an unknown member.
func (o *object[T]) Attr(name string) (starlark.Value, error) {
	if m := o.members[name]; m != nil {
		return m(o.of, name), nil
	}
	return nil, nil
}

// method is a member that a script calls.
func method[T any](f func(of T, a arguments) (starlark.Value, error)) member[T] {
	return func(of T, name string) starlark.Value {
		return starlark.NewBuiltin(name, func(t *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
			return f(of, arguments{t, name, args, kwargs})
		})
	}
}

type arguments struct {
	thread *starlark.Thread
	name   string
	args   starlark.Tuple
	kwargs []starlark.Tuple
}

func (a arguments) unpack(pairs ...any) error {
	return starlark.UnpackArgs(a.name, a.args, a.kwargs, pairs...)
}

// bounds are the arguments at_least, at_most and equals; nil if not given.
type bounds [3]starlark.Value

func boundNames() [3]string { return [3]string{"at_least", "at_most", "equals"} }

func (b *bounds) pairs() (pairs []any) {
	for i, name := range boundNames() {
		pairs = append(pairs, name+"?", &b[i])
	}
	return pairs
}

func (b *bounds) expectation() (e expectation, err error) {
	for i, name := range boundNames() {
		if b[i] == nil {
			continue
		}
		value, err := plain(b[i])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		e = append(e, bound{name, value})
	}
	return e, nil
}

// plain converts a Starlark value to a Go value for a parameter.
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

// valueOf is the inverse of plain.
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
	case store.Document:
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
