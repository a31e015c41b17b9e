package pgbench

// Variables are those of one client, which keeps them from one run of a script to the
// next, as in pgbench. They belong to one goroutine.
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
