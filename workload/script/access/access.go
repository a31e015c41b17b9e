// Package access says what a statement reads and writes: which tables and columns, and
// whether of one row that a key names, of rows that a condition selects, or of new ones.
//
// It understands plain SELECT, INSERT, UPDATE and DELETE on one table. Of any other statement
// it says that everything is read and written that it names, and of one whose names it does
// not know that it cannot tell: it errs to that side alone.
//
// It knows no workload and no database, and takes no text apart: it is given words.
package access

import (
	"slices"
	"strings"
)

// Kind is what a Word is.
type Kind uint8

const (
	// Name is a name or a keyword; Quoted is a name in quotes.
	Name Kind = iota + 1
	Quoted
	// Literal is a number or a text, and Parameter $1, whose Text is 1.
	Literal
	Parameter
	// Sign is any other character, or ::.
	Sign
	// Body is what stands between dollar quotes, with these.
	Body
)

// Word is one word of a statement, from its first byte to before the end.
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
	// Key are the values of a key's columns: each a parameter or a literal. It is nil where
	// rows are selected by a condition.
	Key []Word
	// Condition are the columns by which rows are selected, without those of the key,
	// Reads those that are read of the rows, and Writes those that are written.
	Condition, Reads, Writes []string
	// Fixed are columns of which each row that is meant has this value: by a condition of
	// equalities, or since it is inserted so.
	Fixed map[string]Word
	// Locks is true if rows are locked against writers, as by FOR UPDATE.
	Locks bool
	// Simple is true of a SELECT to which FOR UPDATE can be appended: of one table, without
	// grouping, sets and locks.
	Simple bool
	// Adds is true of an UPDATE that makes each column it sets from that column's own value.
	Adds bool
	// Sets are the columns that an UPDATE sets to a parameter alone.
	Sets map[string]Word
	// Only is the column of a SELECT of one column and nothing else.
	Only string
}

// All stands for all columns.
const All = "*"

// Table is what is known of a table.
type Table struct {
	Columns []string
	// Keys are the columns of its primary key and of each unique one.
	Keys [][]string
	// References are the tables that it refers to.
	References []string
	// Hidden is true if writing it may write others, by a cascade.
	Hidden bool
}

// Catalog are the tables that were made, by their names in lower case.
type Catalog struct {
	Tables map[string]*Table
	// Unclear is why statements may do what they do not say; empty if they do not.
	Unclear string
}

// fold is a name as it is looked up. Quoted names fold too: two that differ in case alone
// are taken for one, which is the careful side.
func fold(w Word) string { return strings.ToLower(w.Text) }

// Is reports whether it is one of these words.
func (w Word) Is(words ...string) bool {
	return w.Kind == Name && slices.ContainsFunc(words, func(s string) bool { return strings.EqualFold(s, w.Text) })
}

// Sign reports whether it is this sign.
func (w Word) Sign(text string) bool { return w.Kind == Sign && w.Text == text }

// Named reports whether it is a name, or a keyword.
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

// reader reads one statement.
type reader struct {
	catalog *Catalog
	words   []Word
}

// nested reports whether there is a query in the statement beside itself.
func (r *reader) nested() bool {
	return slices.ContainsFunc(r.words[1:], func(w Word) bool {
		return w.Is("select", "with", "union", "intersect", "except", "join", "using", "lateral", "table")
	})
}

// pure are functions without effect that read nothing but their arguments.
func pure() []string {
	return []string{"count", "sum", "min", "max", "avg", "coalesce", "abs", "lower", "upper", "length", "round", "floor", "ceil",
		"greatest", "least", "nullif", "mod", "concat", "cast", "substr", "substring", "now", "random", "in", "values", "and", "or", "not",
		"where", "exists", "on", "any", "all", "as", "over", "bigint", "integer", "int", "numeric", "decimal", "varchar", "char", "text", "key", "set"}
}

// called is a function that may do more than to compute; empty if none is called.
func (r *reader) called() string {
	for i, w := range r.words[:len(r.words)-1] {
		if w.Named() && r.words[i+1].Sign("(") && !w.Is(pure()...) && r.catalog.Tables[fold(w)] == nil {
			return w.Text
		}
	}
	return ""
}

func (r *reader) effects() bool { return r.called() != "" }

// everything takes the statement for one that reads and writes all tables that it names; one
// that can only read is taken for a read of them.
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
			// What stands where a table does and is none may be a view.
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

// within reports whether a name is one that the statement itself gives: WITH name AS.
func (r *reader) within(name string) bool {
	for i, w := range r.words[:len(r.words)-1] {
		if w.Named() && fold(w) == name && r.words[i+1].Is("as") && i > 0 && (r.words[i-1].Is("with", "recursive") || r.words[i-1].Sign(",")) {
			return true
		}
	}
	return false
}

// withReferences adds what foreign keys have the database look at. It cannot tell where they
// have it change rows of other tables.
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

// Why says of a statement of which Of cannot tell what it reads and writes why that is.
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
