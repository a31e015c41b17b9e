package pgbench

import "assay/workload"

// Expression computes a value.
type Expression struct {
	compute func(s *Scope) (Value, error)
}

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
func (x *Expression) Evaluate(s *Scope) (Value, error) { return x.compute(s) }
