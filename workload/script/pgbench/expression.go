package pgbench

import "assay/workload"

// Expression computes a value.
type Expression struct{ root node }

// Scope is what an expression reads.
type Scope struct {
	Variables *Variables
	// Random is what the functions of chance draw from.
	Random *workload.Random
	// Debug gets what debug() writes; nil drops it.
	Debug func(Value)
}

// Evaluate computes the value. An error is of the script: division by zero, a variable
// that is not set, an integer out of range.
func (x *Expression) Evaluate(s *Scope) (Value, error) { return x.root.value(s) }

// node is a part of an expression.
type node interface {
	value(s *Scope) (Value, error)
}

type constant struct{ Value }

func (c constant) value(*Scope) (Value, error) { return c.Value, nil }

// reference is the value of a variable.
type reference string

func (r reference) value(s *Scope) (Value, error) { return s.Variables.value(string(r)) }

// lazy is AND, where false decides, or OR, where true does. The second operand is not computed
// where the first decides, and NULL as the first decides too.
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

// choice is CASE: the results of which the condition is the first true one, or otherwise.
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

// maxArguments is how many arguments a function has at most.
const maxArguments = 16

// application is a function or an operator with its arguments.
type application struct {
	apply     func(s *Scope, a []Value) (Value, error)
	arguments []node
	// takesNull is true if the function is computed for NULL too. Any other is then NULL.
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
