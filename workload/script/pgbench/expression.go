package pgbench

import "assay/workload"

// Expression is a parsed expression.
type Expression struct{ root node }

// Scope is the environment of an expression.
type Scope struct {
	Variables *Variables
	Random    *workload.Random
	// Debug gets what debug() writes; nil drops it.
	Debug func(Value)
}

// Evaluate's errors are the script's: division by zero, an unset variable, an integer out of
// range.
func (x *Expression) Evaluate(s *Scope) (Value, error) { return x.root.value(s) }

type node interface {
	value(s *Scope) (Value, error)
}

type constant struct{ Value }

func (c constant) value(*Scope) (Value, error) { return c.Value, nil }

type reference string

func (r reference) value(s *Scope) (Value, error) { return s.Variables.value(string(r)) }

// lazy is AND, which false decides, or OR, which true decides. A first operand that decides or
// is NULL spares the second.
type lazy struct {
	left, right node
	decides     bool
}

func (l lazy) value(s *Scope) (Value, error) {
	v, err := l.left.value(s)
	if err != nil || v.kind == null {
		return v, err
	}
	if truth, err := v.asBool(); err != nil || truth == l.decides {
		return v, err
	}
	if v, err = l.right.value(s); err == nil && v.kind != null {
		_, err = v.asBool()
	}
	return v, err
}

// choice is CASE.
type choice struct {
	conditions, results []node
	otherwise           node
}

func (c choice) value(s *Scope) (Value, error) {
	for i, condition := range c.conditions {
		v, err := condition.value(s)
		if err != nil {
			return v, err
		}
		if v.Truth() {
			return c.results[i].value(s)
		}
	}
	return c.otherwise.value(s)
}

// maxArguments bounds a function's arguments.
const maxArguments = 16

type application struct {
	apply     func(s *Scope, a []Value) (Value, error)
	arguments []node
	// takesNull: the function takes NULL. Others give NULL for NULL.
	takesNull bool
}

func (a *application) value(s *Scope) (Value, error) {
	var all [maxArguments]Value
	unknown := false
	for i, argument := range a.arguments {
		v, err := argument.value(s)
		if err != nil {
			return v, err
		}
		all[i] = v
		unknown = unknown || v.kind == null
	}
	if unknown && !a.takesNull {
		return Value{}, nil
	}
	return a.apply(s, all[:len(a.arguments)])
}
