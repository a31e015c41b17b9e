package statement

import (
	"slices"
	"strings"
)

// Touched are the tables that statements name, each once, in their order by name. Names of
// functions' tables, triggers and what views stand for are not among them.
type Touched struct{ Read, Written []string }

// Tables adds the tables that a statement names.
func (t *Touched) Tables(statement string, dialect Dialect) {
	w := tableWalk{s: scanner{text: statement, dialect: dialect}, of: t}
	w.walk()
}

func insert(all []string, name string) []string {
	if at, there := slices.BinarySearch(all, name); !there {
		return slices.Insert(all, at, name)
	}
	return all
}

// tableWalk goes over a statement and looks for names behind the words that tables follow.
type tableWalk struct {
	s     scanner
	of    *Touched
	ahead *token
	local []string // names of WITH
	depth int
	calls []int // depths of the parentheses of functions, whose FROM names no table
}

func (w *tableWalk) next() (token, bool) {
	if w.ahead != nil {
		t := *w.ahead
		w.ahead = nil
		return t, true
	}
	for {
		t, found := w.s.next()
		if !found || t.kind != comment {
			return t, found
		}
	}
}

func (w *tableWalk) back(t token) { w.ahead = &t }

func (w *tableWalk) lower(t token) string { return strings.ToLower(w.s.text[t.start:t.end]) }

func (w *tableWalk) walk() {
	before, verb := "", ""
	for {
		t, found := w.next()
		if !found {
			return
		}
		if t.kind != word {
			w.parenthesis(t, before)
			before = w.lower(t)
			if t.kind == quoted {
				before = ""
			}
			continue
		}
		this := w.lower(t)
		switch this {
		case "select", "insert", "delete", "merge", "truncate", "replace":
			verb = this
		case "with":
			w.common()
		case "from", "join", "using":
			if !w.inCall() && !(this == "using" && verb != "delete" && verb != "merge") && before != "distinct" {
				w.names(verb == "delete" && this == "from" && before == "delete")
			}
		case "into":
			w.names(true)
		case "update":
			if before != "for" && before != "do" && before != "on" && before != "key" && before != "then" {
				verb = this
				w.names(true)
			}
		case "table":
			w.names(before != "lock")
		}
		if this == "truncate" {
			w.names(true)
		}
		before = this
	}
}

// parenthesis keeps account of the parentheses behind a function's name that takes FROM.
func (w *tableWalk) parenthesis(t token, before string) {
	switch w.s.text[t.start:t.end] {
	case "(":
		w.depth++
		switch before {
		case "extract", "substring", "trim", "overlay", "position":
			w.calls = append(w.calls, w.depth)
		}
	case ")":
		if n := len(w.calls); n > 0 && w.calls[n-1] == w.depth {
			w.calls = w.calls[:n-1]
		}
		w.depth--
	}
}

func (w *tableWalk) inCall() bool { return len(w.calls) > 0 && w.calls[len(w.calls)-1] == w.depth }

// common reads the name behind WITH. Those behind a comma are found by the parenthesis that
// ends the one before.
func (w *tableWalk) common() {
	t, found := w.next()
	if found && t.kind == word && w.lower(t) == "recursive" {
		t, found = w.next()
	}
	if found && (t.kind == word || t.kind == quoted) {
		w.local = append(w.local, unquoted(w.s.text[t.start:t.end]))
	} else if found {
		w.back(t)
	}
	// Later names: NAME AS (
	rest := scanner{text: w.s.text, at: w.s.at, dialect: w.s.dialect}
	var last [2]token
	for {
		t, found := rest.next()
		if !found {
			return
		}
		if last[1].kind == word && strings.EqualFold(w.s.text[last[1].start:last[1].end], "as") && w.s.text[t.start:t.end] == "(" && (last[0].kind == word || last[0].kind == quoted) {
			w.local = append(w.local, unquoted(w.s.text[last[0].start:last[0].end]))
		}
		last[0], last[1] = last[1], t
	}
}

// names reads a list of tables, each with or without another name.
func (w *tableWalk) names(written bool) {
	for {
		t, found := w.next()
		for found && t.kind == word && skipped(w.lower(t)) {
			t, found = w.next()
		}
		if !found {
			return
		}
		if t.kind != word && t.kind != quoted || reserved(w.lower(t)) && t.kind == word {
			w.back(t)
			return
		}
		name := unquoted(w.s.text[t.start:t.end])
		t, found = w.next()
		for found && w.s.text[t.start:t.end] == "." {
			if t, found = w.next(); !found {
				break
			}
			name += "." + unquoted(w.s.text[t.start:t.end])
			t, found = w.next()
		}
		call := found && w.s.text[t.start:t.end] == "(" && !written
		switch {
		case call:
			t, found = w.pastCall()
		case !slices.Contains(w.local, name):
			w.keep(name, written)
		}
		if !found {
			return
		}
		if !w.comma(t) {
			return
		}
	}
}

// pastCall goes to what follows the parameters of a function.
func (w *tableWalk) pastCall() (token, bool) {
	for depth := 1; depth > 0; {
		t, found := w.next()
		switch {
		case !found:
			return t, false
		case w.s.text[t.start:t.end] == "(":
			depth++
		case w.s.text[t.start:t.end] == ")":
			depth--
		}
	}
	return w.next()
}

// comma goes over another name of the table up to the comma of the list, if there is one.
func (w *tableWalk) comma(t token) bool {
	found := true
	for range 2 { // AS name
		if t.kind == word && !reserved(w.lower(t)) || t.kind == quoted {
			if t, found = w.next(); !found {
				return false
			}
		}
	}
	if w.s.text[t.start:t.end] == "," {
		return true
	}
	w.back(t)
	return false
}

func (w *tableWalk) keep(name string, written bool) {
	if written {
		w.of.Written = insert(w.of.Written, name)
	} else {
		w.of.Read = insert(w.of.Read, name)
	}
}

// skipped are words between the verb and the table.
func skipped(word string) bool {
	switch word {
	case "only", "if", "exists", "not", "ignore", "low_priority", "delayed", "quick", "table", "lateral", "temporary", "temp", "unlogged":
		return true
	}
	return false
}

// reserved are words that may stand where a name could, and are none.
func reserved(word string) bool {
	switch word {
	case "select", "set", "where", "on", "using", "join", "inner", "left", "right", "full", "cross", "natural", "group", "order", "having", "limit",
		"union", "values", "returning", "for", "offset", "fetch", "window", "default", "straight_join", "force", "use", "when", "into", "from", "outfile", "dumpfile", "key", "as":
		return word != "as"
	}
	return false
}

// unquoted is a name as the database keeps it: PostgreSQL folds what is not in quotes, and
// MySQL's tables are shown so too.
func unquoted(name string) string {
	if n := len(name); n >= 2 && (name[0] == '"' || name[0] == '`') {
		return name[1 : n-1]
	}
	return strings.ToLower(name)
}
