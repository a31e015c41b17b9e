package access

import "slices"

// Made takes a statement of setup. A statement that it does not understand makes the catalog
// Unclear.
func (c *Catalog) Made(words []Word) {
	if c.Tables == nil {
		c.Tables = map[string]*Table{}
	}
	if len(words) < 3 || !words[0].Is("create", "alter", "drop") {
		return // rows
	}
	i := 1
	for i < len(words) && words[i].Is("temporary", "temp", "unlogged", "or", "replace", "if", "not", "exists", "local", "global", "unique") {
		i++
	}
	switch {
	case i >= len(words)-1:
		return
	case words[0].Is("create") && words[i].Is("table"):
		c.table(words[i+1:])
	case words[0].Is("create") && words[i].Is("index"):
		c.index(words)
	case words[0].Is("create") && words[i].Is("sequence", "type"):
	case words[0].Is("alter") && words[i].Is("table"):
		c.alter(words[i+1:])
	default: // views, triggers, functions and what is dropped
		c.Unclear = "setup has " + words[0].Text + " " + words[i].Text
	}
}

// table takes the words behind CREATE TABLE.
func (c *Catalog) table(words []Word) {
	for len(words) > 0 && words[0].Is("if", "not", "exists") {
		words = words[1:]
	}
	if len(words) < 4 || !words[0].Named() || !words[1].Sign("(") {
		c.Unclear = "setup makes a table in a way that is not understood"
		return
	}
	t := &Table{}
	inside, depth := words[2:], 0
	for i, w := range inside {
		if w.Sign("(") {
			depth++
		} else if w.Sign(")") {
			if depth--; depth < 0 {
				inside = inside[:i]
				break
			}
		}
	}
	for _, part := range list(inside) {
		t.part(part)
	}
	c.Tables[fold(words[0])] = t
}

// part takes a column or a constraint.
func (t *Table) part(words []Word) {
	if len(words) == 0 {
		return
	}
	constraint := words[0].Is("constraint", "primary", "unique", "foreign", "check", "key", "index", "exclude", "like")
	if !constraint {
		t.Columns = append(t.Columns, fold(words[0]))
	}
	if words[0].Is("like") {
		t.Hidden = true
	}
	for i, w := range words {
		switch {
		case i+1 < len(words) && w.Is("primary") && words[i+1].Is("key"), w.Is("unique"):
			columns := inParentheses(words[i+1:])
			if !constraint {
				columns = []string{fold(words[0])}
			}
			if len(columns) > 0 && w.Is("primary") {
				t.Keys = slices.Insert(t.Keys, 0, columns)
			} else if len(columns) > 0 {
				t.Keys = append(t.Keys, columns)
			}
		case i+1 < len(words) && w.Is("references"):
			t.References = append(t.References, fold(words[i+1]))
		case w.Is("cascade"), i > 0 && w.Is("set") && (words[i-1].Is("delete") || words[i-1].Is("update")), w.Is("generated"):
			t.Hidden = true
		}
	}
}

// inParentheses are the names in the first parentheses.
func inParentheses(words []Word) (names []string) {
	open := slices.IndexFunc(words, func(w Word) bool { return w.Sign("(") })
	if open < 0 {
		return nil
	}
	for _, w := range words[open+1:] {
		switch {
		case w.Sign(")"):
			return names
		case w.Named():
			names = append(names, fold(w))
		case !w.Sign(","):
			return nil // an expression, or a part of a column
		}
	}
	return nil
}

func (c *Catalog) index(words []Word) {
	on := slices.IndexFunc(words, func(w Word) bool { return w.Is("on") })
	if on < 0 || on+2 >= len(words) || !words[1].Is("unique") || slices.ContainsFunc(words, func(w Word) bool { return w.Is("where") }) {
		return
	}
	if t := c.Tables[fold(words[on+1])]; t != nil {
		if columns := inParentheses(words[on+2:]); len(columns) > 0 {
			t.Keys = append(t.Keys, columns)
		}
	}
}

// alter takes the words behind ALTER TABLE. It understands an added constraint alone.
func (c *Catalog) alter(words []Word) {
	if len(words) < 3 {
		return
	}
	t := c.Tables[fold(words[0])]
	if t == nil || !words[1].Is("add") || !words[2].Is("constraint", "primary", "unique", "foreign", "check") {
		c.Unclear = "setup alters a table in a way that is not understood"
		return
	}
	t.part(words[2:])
}
