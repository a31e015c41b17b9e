package exchange

import (
	"bytes"
	"strconv"
)

// ednReader reads forms of the extensible data notation. It skips tags and reads the tagged form,
// so records (#jepsen.history.Op) read like maps. The exception is a tuple's tag, for an
// independent key and its value: it reads like a list of the two. Beyond the specification it
// reads what Clojure prints into Jepsen's histories: ratios, ##NaN, regular expressions and
// namespaces of maps.
type ednReader struct {
	in   *input
	tree *tree
}

// blank skips white space, commas, comments, and forms discarded by #_.
func (r *ednReader) blank(depth int) error {
	for {
		for r.in.pos < r.in.end && (r.in.buf[r.in.pos] == ' ' || r.in.buf[r.in.pos] == ',') { // the usual first
			r.in.pos++
		}
		c, ok := r.in.peek()
		switch {
		case ok && c > ' ' && c != ',' && c != ';' && c != '#':
			return nil
		case !ok:
			return r.in.broken()
		case ednSpace(c):
			r.in.skip()
		case c == ';':
			for ok && c != '\n' {
				if c == 0 {
					return r.in.unexpected(c, "a comment")
				}
				r.in.skip()
				c, ok = r.in.peek()
			}
		case c == '#':
			if next := r.in.ahead(2); len(next) < 2 || next[1] != '_' {
				return nil
			}
			r.in.skip()
			r.in.skip()
			nodes, text := len(r.tree.nodes), len(r.tree.text)
			if err := r.value(depth + 1); err != nil {
				return err
			}
			r.tree.nodes, r.tree.text = r.tree.nodes[:nodes], r.tree.text[:text]
		default:
			return nil
		}
	}
}

func (r *ednReader) value(depth int) error {
	c, err := r.in.begin(r, r.tree, depth)
	if err != nil {
		return err
	}
	switch c {
	case '{':
		return r.sequence(mapNode, '}', depth)
	case '[':
		return r.sequence(listNode, ']', depth)
	case '(':
		return r.sequence(listNode, ')', depth)
	case '"':
		r.in.skip()
		return r.in.quoted(r.tree, ednEscapes)
	case '#':
		r.in.skip()
		return r.dispatch(depth)
	case '\\':
		return r.character()
	case ':':
		return r.keyword()
	}
	return r.token()
}

func (r *ednReader) sequence(kind nodeKind, closing byte, depth int) error {
	r.in.skip()
	at := r.tree.open(kind)
	for children := 0; ; children++ {
		if err := r.blank(depth); err != nil {
			return err
		}
		c, ok := r.in.peek()
		switch {
		case !ok:
			return r.in.tooShort("a list or a map")
		case c == closing && kind == mapNode && children%2 == 1:
			return r.in.bad("a map ends with a key that has no value")
		case c == closing:
			r.in.skip()
			r.tree.close(at)
			return nil
		case c == '}' || c == ']' || c == ')':
			return r.in.unexpected(c, strconv.QuoteRune(rune(closing)))
		case digit(c) && len(r.tree.nodes) < maxNodes && len(r.tree.text) < maxText && depth < maxDepth && r.in.number(r.tree, ednDelimiter):
			continue
		}
		if err := r.value(depth + 1); err != nil {
			return err
		}
	}
}

func (r *ednReader) dispatch(depth int) error {
	c, ok := r.in.peek()
	if !ok {
		return r.in.tooShort("a tag")
	}
	switch {
	case c == '{':
		return r.sequence(setNode, '}', depth)
	case c == '"':
		r.in.skip()
		return r.in.quoted(r.tree, noEscapes)
	case c == '#':
		r.in.skip()
		start, err := r.raw()
		if err == nil {
			r.tree.addText(inexactNode, start)
		}
		return err
	case ednDelimiter(c):
		return r.in.bad("a # without a tag")
	}
	start, err := r.raw()
	if err != nil {
		return err
	}
	tuple := bytes.HasSuffix(r.tree.text[start:], []byte("uple"))
	r.tree.text = r.tree.text[:start]
	at := len(r.tree.nodes)
	if err := r.value(depth + 1); err != nil {
		return err
	}
	if tuple {
		r.tree.asPair(at)
	}
	return nil
}

// raw appends the bytes up to the next delimiter to the tree's text and returns their start.
func (r *ednReader) raw() (int, error) {
	start, err := r.in.word(r.tree, ednDelimiter, "a word")
	if err == nil && !whole(r.tree.text[start:]) {
		err = r.in.bad("a word that is not UTF-8")
	}
	return start, err
}

func (r *ednReader) keyword() error {
	r.in.skip()
	start, err := r.raw()
	if err != nil {
		return err
	}
	if len(r.tree.text) == start {
		return r.in.bad("a colon without a word")
	}
	r.tree.addText(keywordNode, start)
	return nil
}

// character reads characters such as \a, \newline and \u0041.
func (r *ednReader) character() error {
	r.in.skip()
	c, ok := r.in.take()
	if !ok {
		return r.in.tooShort("a character")
	}
	at := len(r.tree.text)
	r.tree.text = append(r.tree.text, c)
	_, err := r.in.word(r.tree, ednDelimiter, "a character")
	r.tree.addText(symbolNode, at)
	return err
}

func (r *ednReader) token() error {
	if r.in.number(r.tree, ednDelimiter) {
		return nil
	}
	start, err := r.raw()
	if err != nil {
		return err
	}
	t := r.tree
	word := t.text[start:]
	if len(word) == 0 {
		c, _ := r.in.peek()
		return r.in.unexpected(c, "a value")
	}
	if c := word[0]; digit(c) || len(word) > 1 && (c == '-' || c == '+') && digit(word[1]) {
		if !t.addNumber(start, ednWhole, ednInexact) {
			return r.in.bad("%q is not a number", short(word))
		}
		return nil
	}
	switch {
	case t.literal(start, "nil"):
	case !symbolStart(word[0]):
		return r.in.bad("%q is not EDN", short(word))
	default:
		t.addText(symbolNode, start)
	}
	return nil
}

// ednSpace reports whether c is white space for Clojure's reader (Java's, and the comma). Other
// control characters, such as zero, are not.
func ednSpace(c byte) bool {
	return c == ' ' || c == ',' || '\t' <= c && c <= '\r' || 0x1c <= c && c <= 0x1f
}

func ednDelimiter(c byte) bool {
	switch c {
	case '{', '}', '[', ']', '(', ')', '"', ';':
		return true
	}
	return c <= ' ' || c == ','
}

func symbolStart(c byte) bool {
	switch c {
	case '^', '\'', '`', '~', '@':
		return false
	}
	return true
}

func digit(c byte) bool { return '0' <= c && c <= '9' }

func digits(b []byte, i int) int {
	n := i
	for n < len(b) && digit(b[n]) {
		n++
	}
	return n - i
}

// ednWhole reports whether b is a whole number: 12, -3, +4, 5N.
func ednWhole(b []byte) bool {
	i := 0
	if b[0] == '-' || b[0] == '+' {
		i = 1
	}
	n := digits(b, i)
	return n > 0 && (i+n == len(b) || i+n == len(b)-1 && b[i+n] == 'N')
}

// ednInexact reports whether b is another number: 1.5, 1e9, 2M, 2/3, 0x1f.
func ednInexact(b []byte) bool {
	for i, c := range b {
		letter := 'a' <= c|0x20 && c|0x20 <= 'z'
		if !digit(c) && !letter && c != '.' && c != '/' && c != '+' && c != '-' || i > 0 && c == '+' && b[i-1]|0x20 != 'e' {
			return false
		}
	}
	return true
}
