// Package access says what a statement reads and writes: which columns of which tables, and of
// which rows: one that a key names, those of a condition, or new ones.
//
// It understands plain SELECT, INSERT, UPDATE and DELETE on one table. For any other statement
// it says that everything named is read and written, or that it cannot tell.
//
// It knows no workload and no database. It takes words, not text.
package access

import (
	"slices"
	"strings"
)

// Kind is the kind of a Word.
type Kind uint8

const (
	// Name is a name or a keyword; Quoted is a quoted name.
	Name Kind = iota + 1
	Quoted
	// Literal is a number or a text. Parameter is $1, with the Text 1.
	Literal
	Parameter
	// Sign is any other character, or ::.
	Sign
	// Body is a text in dollar quotes, with the quotes.
	Body
)

// Word is one word of a statement, from byte Start to before End.
type Word struct {
	Kind       Kind
	Text       string
	Start, End int
}

// Verb is what an Access does.
type Verb uint8

const (
	Read Verb = iota + 1
	Update
	Insert
	Delete
)

// Access is what a statement does with one table.
type Access struct {
	Table string
	Verb  Verb
	// Key has the values of a key's columns, parameters or literals; nil if a condition selects
	// the rows.
	Key []Word
	// Condition has the columns that select rows, except Key's. Reads and Writes are the columns
	// read and written.
	Condition, Reads, Writes []string
	// Fixed has columns with one value in all rows meant, by an equality or as inserted.
	Fixed map[string]Word
	// Locks is true if rows are locked against writers, as by FOR UPDATE.
	Locks bool
	// Simple is true for a SELECT that can take FOR UPDATE: one table, no grouping, sets or
	// locks.
	Simple bool
	// Adds is true for an UPDATE that computes each column from its own value.
	Adds bool
	// Sets are columns that an UPDATE sets to just a parameter.
	Sets map[string]Word
	// Only is the column of a SELECT of nothing but one column.
	Only string
}

// All stands for all columns.
const All = "*"

// Table is a known table.
type Table struct {
	Columns []string
	// Keys are the columns of its primary and unique keys.
	Keys [][]string
	// References are the tables that it refers to.
	References []string
	// Hidden is true if writing to it may cascade to other tables.
	Hidden bool
}

// Catalog has the tables that were made, by lower-case name.
type Catalog struct {
	Tables map[string]*Table
	// Unclear says why statements may do more than they say; empty if they do not.
	Unclear string
}

// fold folds quoted names too: names that differ in case alone count as one, to be safe.
func fold(w Word) string { return strings.ToLower(w.Text) }

// Is reports whether the word is one of these keywords.
func (w Word) Is(words ...string) bool {
	return w.Kind == Name && slices.ContainsFunc(words, func(s string) bool { return strings.EqualFold(s, w.Text) })
}

// Sign reports whether the word is this sign.
func (w Word) Sign(text string) bool { return w.Kind == Sign && w.Text == text }

// Named reports whether the word is a name or a keyword.
func (w Word) Named() bool { return w.Kind == Name || w.Kind == Quoted }

// Of says what a statement reads and writes; known is false if that cannot be told.
func (c *Catalog) Of(words []Word) (all []Access, known bool) {
	if c.Unclear != "" || len(words) == 0 {
		return nil, false
	}
	r := reader{catalog: c, words: words}
	switch {
	case r.nested() || !words[0].Is("select", "insert", "update", "delete"):
	case words[0].Is("select"):
		all, known = r.selects()
	case words[0].Is("update"):
		all, known = r.updates()
	case words[0].Is("delete"):
		all, known = r.deletes()
	default:
		all, known = r.inserts()
	}
	if !known {
		if all, known = r.everything(); !known {
			return nil, false
		}
	}
	return r.withReferences(all)
}

type reader struct {
	catalog *Catalog
	words   []Word
}

// nested reports whether the statement contains another query.
func (r *reader) nested() bool {
	return slices.ContainsFunc(r.words[1:], func(w Word) bool {
		return w.Is("select", "with", "union", "intersect", "except", "join", "using", "lateral", "table")
	})
}

// pure are functions without effect that read only their arguments.
func pure() []string {
	return []string{"count", "sum", "min", "max", "avg", "coalesce", "abs", "lower", "upper", "length", "round", "floor", "ceil",
		"greatest", "least", "nullif", "mod", "concat", "cast", "substr", "substring", "now", "random", "in", "values", "and", "or", "not",
		"where", "exists", "on", "any", "all", "as", "over", "bigint", "integer", "int", "numeric", "decimal", "varchar", "char", "text", "key", "set"}
}

// called is a function that may do more than compute; empty if there is none.
func (r *reader) called() string {
	for i, w := range r.words[:len(r.words)-1] {
		if w.Named() && r.words[i+1].Sign("(") && !w.Is(pure()...) && r.catalog.Tables[fold(w)] == nil {
			return w.Text
		}
	}
	return ""
}

func (r *reader) effects() bool { return r.called() != "" }

// everything assumes that the statement reads and writes all tables that it names, or only reads
// them if it can only read.
func (r *reader) everything() (all []Access, known bool) {
	if r.effects() {
		return nil, false
	}
	writes := slices.ContainsFunc(r.words, func(w Word) bool { return w.Is("insert", "update", "delete", "replace", "merge") })
	if !writes && !r.words[0].Is("select", "with", "values", "table") {
		return nil, false
	}
	var seen []string
	for i, w := range r.words {
		name := fold(w)
		if !w.Named() || slices.Contains(seen, name) {
			continue
		}
		if r.catalog.Tables[name] == nil {
			// An unknown name in a table's place may be a view.
			if i > 0 && r.words[i-1].Is("from", "join", "into", "update") && !r.within(name) {
				return nil, false
			}
			continue
		}
		if r.catalog.Tables[name].Hidden && writes {
			return nil, false
		}
		seen = append(seen, name)
		all = append(all, Access{Table: name, Verb: Read, Condition: []string{All}, Reads: []string{All}})
		if writes {
			all = append(all, Access{Table: name, Verb: Delete, Condition: []string{All}, Reads: []string{All}, Writes: []string{All}})
		}
	}
	return all, len(seen) > 0
}

// within reports whether the statement itself defines the name: WITH name AS.
func (r *reader) within(name string) bool {
	for i, w := range r.words[:len(r.words)-1] {
		if w.Named() && fold(w) == name && r.words[i+1].Is("as") && i > 0 && (r.words[i-1].Is("with", "recursive") || r.words[i-1].Sign(",")) {
			return true
		}
	}
	return false
}

// withReferences adds the rows that foreign keys look at. It cannot tell what cascades change.
func (r *reader) withReferences(all []Access) (out []Access, known bool) {
	out = all
	for _, a := range all {
		t := r.catalog.Tables[a.Table]
		if a.Verb == Read {
			continue
		}
		for _, to := range t.References {
			out = append(out, Access{Table: to, Verb: Read})
		}
		removes := slices.Contains(a.Writes, All) && a.Verb != Insert
		for name, other := range r.catalog.Tables {
			switch refers := removes && slices.Contains(other.References, a.Table); {
			case refers && other.Hidden:
				return nil, false
			case refers:
				out = append(out, Access{Table: name, Verb: Read, Condition: []string{All}})
			}
		}
	}
	return out, true
}

// Why says why Of cannot tell what a statement reads and writes.
func (c *Catalog) Why(words []Word) string {
	r := reader{catalog: c, words: words}
	switch {
	case c.Unclear != "":
		return c.Unclear
	case len(words) == 0:
		return "it is several statements in one text, or none that is known"
	case !words[0].Is("select", "insert", "update", "delete", "with", "replace", "merge", "values", "table"):
		return "it begins with " + strings.ToUpper(words[0].Text) + ", and is no query, INSERT, UPDATE or DELETE"
	}
	if name := r.called(); name != "" {
		return name + " is a function that may read and write anything"
	}
	for i, w := range words[1:] {
		if w.Named() && words[i].Is("from", "join", "into", "update") && c.Tables[fold(w)] == nil && !r.within(fold(w)) {
			return "setup makes no table " + w.Text
		}
	}
	return "it names no table, or one whose rows change with those of others, as by ON DELETE CASCADE or GENERATED"
}
