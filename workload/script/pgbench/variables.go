package pgbench

import (
	"fmt"
	"maps"
)

// The variables that pgbench sets by itself, and assay too.
const (
	// ClientID is the number of the client, from 0.
	ClientID = "client_id"
	// Scale is the scale of pgbench's own tables, 1 where nobody knows it.
	Scale = "scale"
	// RandomSeed is the seed of the run.
	RandomSeed = "random_seed"
	// DefaultSeed is the seed of hash functions and of permute that have none.
	DefaultSeed = "default_seed"
)

// Variables are the variables of one client, which keeps them from one run of a script to the
// next, as in pgbench. They belong to one goroutine. The zero value has none.
type Variables struct{ byName map[string]variable }

// variable has the value that an expression gave it, or a text.
type variable struct {
	value  Value
	text   string
	isText bool
}

// Set gives a variable a value.
func (v *Variables) Set(name string, value Value) { v.put(name, variable{value: value}) }

// SetText gives a variable a text: a column of an answer, where NULL is the empty text, or
// what a user has defined. It enters statements as it is. An expression reads it as NULL, a
// boolean or a number, and refuses what is none.
func (v *Variables) SetText(name, text string) { v.put(name, variable{text: text, isText: true}) }

func (v *Variables) put(name string, to variable) {
	if v.byName == nil {
		v.byName = map[string]variable{}
	}
	v.byName[name] = to
}

// Clone is a copy, which changes by itself.
func (v *Variables) Clone() *Variables { return &Variables{maps.Clone(v.byName)} }

// Text is a variable as it enters a statement; false if it is not set.
func (v *Variables) Text(name string) (string, bool) {
	of, known := v.byName[name]
	switch {
	case !known:
		return "", false
	case of.isText:
		return of.text, true
	}
	return of.value.String(), true
}

// value is a variable in an expression.
func (v *Variables) value(name string) (Value, error) {
	of, known := v.byName[name]
	if !known {
		return Value{}, fmt.Errorf("the variable %s is not set: write \\set %s before, or give --define %s=VALUE", name, name, name)
	}
	if !of.isText {
		return of.value, nil
	}
	value, err := valueOf(of.text)
	if err != nil {
		err = fmt.Errorf("the variable %s is %q, which no expression can use: %w", name, of.text, err)
	}
	return value, err
}
