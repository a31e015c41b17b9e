package access

import (
	"slices"
	"strings"
)

// split splits at the first of these words outside parentheses.
func split(words []Word, at ...string) (before, behind []Word, found string) {
	depth := 0
	for i, w := range words {
		switch {
		case w.Sign("("):
			depth++
		case w.Sign(")"):
			depth--
		case depth == 0 && w.Is(at...):
			return words[:i], words[i+1:], strings.ToLower(w.Text)
		}
	}
	return words, nil, ""
}

// list splits at commas outside parentheses.
func list(words []Word) (parts [][]Word) {
	depth, start := 0, 0
	for i, w := range words {
		switch {
		case w.Sign("("):
			depth++
		case w.Sign(")"):
			depth--
		case depth == 0 && w.Sign(","):
			parts = append(parts, words[start:i])
			start = i + 1
		}
	}
	return append(parts, words[start:])
}

// table takes a table's name and alias; ok is false if there is more.
func (r *reader) table(words []Word) (t *Table, name string, ok bool) {
	if len(words) > 0 && words[0].Is("only") {
		words = words[1:]
	}
	if len(words) == 0 || len(words) > 3 || !words[0].Named() || len(words) == 3 && !words[1].Is("as") {
		return nil, "", false
	}
	if len(words) > 1 && !words[len(words)-1].Named() {
		return nil, "", false
	}
	name = fold(words[0])
	t = r.catalog.Tables[name]
	return t, name, t != nil && !t.Hidden
}

// columns are the columns in an expression; All if it names anything else.
func (r *reader) columns(t *Table, words []Word) (all []string) {
	for i, w := range words {
		switch {
		case w.Sign("*") && (i == 0 || words[i-1].Sign(",") || words[i-1].Sign(".")):
			return []string{All}
		case !w.Named():
		case slices.Contains(t.Columns, fold(w)):
			if !slices.Contains(all, fold(w)) {
				all = append(all, fold(w))
			}
		case i+1 < len(words) && (words[i+1].Sign("(") || words[i+1].Sign(".")), i > 0 && words[i-1].Sign("::"):
		case i > 0 && words[i-1].Is("as"), w.Is(plainWords()...):
		default:
			return []string{All}
		}
	}
	return all
}

func plainWords() []string {
	return []string{"and", "or", "not", "null", "is", "in", "between", "like", "ilike", "true", "false", "distinct", "as", "asc", "desc", "by", "case",
		"when", "then", "else", "end", "nulls", "first", "last", "escape", "default", "div", "interval", "current_timestamp", "current_date"}
}

// where takes a condition. key has the values of a key if the condition equates all its columns
// and the rest must hold too. rest has the other columns, equal all columns compared with
// values.
func (r *reader) where(t *Table, words []Word) (key []Word, rest []string, equal map[string]Word) {
	equal = map[string]Word{}
	left := words
	depends := !slices.ContainsFunc(words, func(w Word) bool { return w.Is("or", "xor", "between") || w.Sign("|") })
	for depends && len(left) > 0 {
		part, behind, _ := split(left, "and")
		left = behind
		if column, value, is := equality(part); is && slices.Contains(t.Columns, column) {
			if _, twice := equal[column]; !twice {
				equal[column] = value
			}
		}
	}
	for _, columns := range t.Keys {
		var values []Word
		for _, c := range columns {
			if v, is := equal[c]; is {
				values = append(values, v)
			}
		}
		if len(values) == len(columns) {
			for _, c := range r.columns(t, words) {
				if !slices.Contains(columns, c) || repeated(words, c) {
					rest = append(rest, c)
				}
			}
			return values, rest, equal
		}
	}
	return nil, r.columns(t, words), equal
}

func repeated(words []Word, column string) bool {
	n := 0
	for _, w := range words {
		if w.Named() && fold(w) == column {
			n++
		}
	}
	return n > 1
}

// equality takes "column = value" or "value = column".
func equality(words []Word) (column string, value Word, is bool) {
	if len(words) == 5 && words[1].Sign(".") {
		words = words[2:]
	}
	if len(words) == 5 && words[3].Sign(".") {
		words = []Word{words[0], words[1], words[4]}
	}
	if len(words) != 3 || !words[1].Sign("=") {
		return "", Word{}, false
	}
	a, b := words[0], words[2]
	if a.Kind == Literal || a.Kind == Parameter {
		a, b = b, a
	}
	return fold(a), b, a.Named() && (b.Kind == Literal || b.Kind == Parameter)
}

// clauses are the words that end a condition.
func clauses() []string {
	return []string{"group", "having", "window", "order", "limit", "offset", "fetch", "for", "lock", "returning"}
}

func (r *reader) selects() ([]Access, bool) {
	chosen, behind, _ := split(r.words[1:], "from")
	from, tail, found := split(behind, append(clauses(), "where")...)
	t, name, ok := r.table(from)
	if !ok || r.effects() {
		return nil, false
	}
	a := Access{Table: name, Verb: Read, Simple: !aggregates(chosen)}
	var condition []Word
	if found == "where" {
		condition, tail, found = split(tail, clauses()...)
	}
	a.Key, a.Condition, a.Fixed = r.where(t, condition)
	a.Reads = r.columns(t, chosen)
	if len(chosen) == 1 && slices.Contains(t.Columns, fold(chosen[0])) {
		a.Only = fold(chosen[0])
	}
	for found != "" {
		var part []Word
		was := found
		part, tail, found = split(tail, clauses()...)
		switch was {
		case "for":
			a.Simple = false
			a.Locks = len(part) == 1 && part[0].Is("update")
		case "order":
			a.Reads = append(a.Reads, r.columns(t, part)...)
		case "limit":
		default:
			a.Simple, a.Reads = false, []string{All}
		}
	}
	return []Access{a}, true
}

func aggregates(chosen []Word) bool {
	return slices.ContainsFunc(chosen, func(w Word) bool { return w.Is("count", "sum", "min", "max", "avg", "distinct", "over") })
}

func (r *reader) updates() ([]Access, bool) {
	of, behind, _ := split(r.words[1:], "set")
	t, name, ok := r.table(of)
	if !ok || r.effects() {
		return nil, false
	}
	set, tail, found := split(behind, append(clauses(), "where", "from")...)
	a := Access{Table: name, Verb: Update, Locks: true, Adds: true, Sets: map[string]Word{}}
	for _, part := range list(set) {
		if len(part) < 3 || !part[0].Named() || !part[1].Sign("=") {
			return nil, false
		}
		column := fold(part[0])
		a.Writes = append(a.Writes, column)
		from := r.columns(t, part[2:])
		a.Reads, a.Adds = append(a.Reads, from...), a.Adds && slices.Contains(from, column)
		if len(part) == 3 && part[2].Kind == Parameter {
			a.Sets[column] = part[2]
		}
	}
	var condition []Word
	if found == "where" {
		condition, tail, found = split(tail, clauses()...)
	}
	if found == "returning" {
		a.Reads = append(a.Reads, r.columns(t, tail)...)
	} else if found != "" {
		return nil, false
	}
	a.Key, a.Condition, a.Fixed = r.where(t, condition)
	for _, columns := range t.Keys { // another key is another row
		if slices.ContainsFunc(a.Writes, func(c string) bool { return slices.Contains(columns, c) }) {
			a.Writes, a.Key, a.Condition = []string{All}, nil, []string{All}
		}
	}
	for _, c := range a.Writes { // of which the row has another value then
		delete(a.Fixed, c)
	}
	return []Access{a}, true
}

func (r *reader) deletes() ([]Access, bool) {
	if len(r.words) < 3 || !r.words[1].Is("from") {
		return nil, false
	}
	of, tail, found := split(r.words[2:], append(clauses(), "where")...)
	t, name, ok := r.table(of)
	if !ok || r.effects() {
		return nil, false
	}
	a := Access{Table: name, Verb: Delete, Locks: true, Writes: []string{All}}
	var condition []Word
	if found == "where" {
		condition, tail, found = split(tail, clauses()...)
	}
	if found == "returning" {
		a.Reads = r.columns(t, tail)
	} else if found != "" {
		return nil, false
	}
	a.Key, a.Condition, a.Fixed = r.where(t, condition)
	return []Access{a}, true
}

func (r *reader) inserts() ([]Access, bool) {
	if len(r.words) < 5 || !r.words[1].Is("into") || r.effects() ||
		slices.ContainsFunc(r.words, func(w Word) bool { return w.Is("conflict", "duplicate", "ignore", "overriding") }) {
		return nil, false
	}
	of, behind, found := split(r.words[2:], "values")
	columns := []string(nil)
	if len(of) > 1 && of[1].Sign("(") {
		for _, w := range of[2:] {
			if w.Named() {
				columns = append(columns, fold(w))
			}
		}
		of = of[:1]
	}
	t, name, ok := r.table(of)
	if !ok || found == "" {
		return nil, false
	}
	if columns == nil {
		columns = t.Columns
	}
	values, _, _ := split(behind, "returning")
	a := Access{Table: name, Verb: Insert, Locks: true, Writes: []string{All}}
	if rows := list(values); len(rows) == 1 && len(rows[0]) > 2 {
		each := list(rows[0][1 : len(rows[0])-1])
		a.Key, a.Fixed = keyOf(t, columns, each), map[string]Word{}
		for i, v := range each {
			if len(each) == len(columns) && len(v) == 1 && (v[0].Kind == Literal || v[0].Kind == Parameter) {
				a.Fixed[columns[i]] = v[0]
			}
		}
	}
	return []Access{a}, true
}

// keyOf has a row's values of the first key; nil if one is no plain value.
func keyOf(t *Table, columns []string, values [][]Word) (key []Word) {
	if len(t.Keys) == 0 || len(columns) != len(values) {
		return nil
	}
	for _, c := range t.Keys[0] {
		i := slices.Index(columns, c)
		if i < 0 || len(values[i]) != 1 || values[i][0].Kind != Literal && values[i][0].Kind != Parameter {
			return nil
		}
		key = append(key, values[i][0])
	}
	return key
}
