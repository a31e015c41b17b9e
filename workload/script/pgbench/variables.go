package pgbench

import (
	"fmt"
	"maps"
)

// Variables that pgbench sets itself.
const (
	// ClientID counts from 0.
	ClientID = "client_id"
	// Scale is of pgbench's own tables; 1 if unknown.
	Scale      = "scale"
	RandomSeed = "random_seed"
	// DefaultSeed is for hash functions and permute without a seed.
	DefaultSeed = "default_seed"
)

// Variables are one client's and last over script runs, as in pgbench. They are not safe for
// concurrent use. The zero value is empty.
type Variables struct{ byName map[string]variable }

type variable struct {
	value  Value
	text   string
	isText bool
}

// Set sets a variable to a value.
func (v *Variables) Set(name string, value Value) { v.put(name, variable{value: value}) }

// SetText sets a variable to a text: a column (NULL is the empty text) or a user's definition.
// It enters statements unchanged. In an expression it must be NULL, a boolean or a number.
func (v *Variables) SetText(name, text string) { v.put(name, variable{text: text, isText: true}) }

func (v *Variables) put(name string, to variable) {
	if v.byName == nil {
		v.byName = map[string]variable{}
	}
	v.byName[name] = to
}

// Clone returns an independent copy.
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
