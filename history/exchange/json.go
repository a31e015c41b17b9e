package exchange

import (
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// jsonReader reads JSON (RFC 8259) into the same trees as EDN.
type jsonReader struct {
	in   *input
	tree *tree
}

func (r *jsonReader) blank(int) error {
	for {
		c, ok := r.in.peek()
		if !ok {
			return r.in.broken()
		}
		if c != ' ' && c != '\t' && c != '\n' && c != '\r' {
			return nil
		}
		r.in.skip()
	}
}

func (r *jsonReader) value(depth int) error {
	if depth > maxDepth || len(r.tree.nodes) >= maxNodes || len(r.tree.text) >= maxText {
		return r.in.bad("one operation is larger than %d forms, %d bytes of text or %d levels", maxNodes, maxText, maxDepth)
	}
	if err := r.blank(depth); err != nil {
		return err
	}
	c, ok := r.in.peek()
	if !ok {
		return r.in.tooShort("an operation")
	}
	switch {
	case c == '{':
		return r.sequence(mapNode, '}', depth)
	case c == '[':
		return r.sequence(listNode, ']', depth)
	case c == '"':
		r.in.skip()
		return r.text()
	case c == '-' || digit(c):
		return r.number()
	}
	return r.literal()
}

// sequence reads an array or an object.
func (r *jsonReader) sequence(kind nodeKind, closing byte, depth int) error {
	r.in.skip()
	at := r.tree.open(kind)
	for first := true; ; first = false {
		if err := r.blank(depth); err != nil {
			return err
		}
		c, ok := r.in.peek()
		switch {
		case !ok:
			return r.in.tooShort("an array or an object")
		case c == closing:
			r.in.skip()
			r.tree.close(at)
			return nil
		case !first && c != ',':
			return r.in.unexpected(c, "a comma or "+strconv.QuoteRune(rune(closing)))
		case !first:
			r.in.skip()
		}
		if kind == mapNode {
			if err := r.key(depth); err != nil {
				return err
			}
		}
		if err := r.value(depth + 1); err != nil {
			return err
		}
	}
}

// key reads the name of an object's member and the colon behind it.
func (r *jsonReader) key(depth int) error {
	if err := r.blank(depth); err != nil {
		return err
	}
	if c, ok := r.in.take(); !ok || c != '"' {
		return r.in.bad("the name of an object's member is not a string")
	}
	if err := r.text(); err != nil {
		return err
	}
	if err := r.blank(depth); err != nil {
		return err
	}
	if c, ok := r.in.take(); !ok || c != ':' {
		return r.in.bad("no colon behind the name of an object's member")
	}
	return nil
}

// raw appends a number or a literal to the tree's text.
func (r *jsonReader) raw() (int, error) {
	start := len(r.tree.text)
	for {
		c, ok := r.in.peek()
		if !ok || !digit(c) && c != '-' && c != '+' && c != '.' && (c|0x20 < 'a' || c|0x20 > 'z') {
			return start, r.in.broken()
		}
		r.in.pos++
		r.tree.text = append(r.tree.text, c)
		if len(r.tree.text)-start > maxText {
			return 0, r.in.bad("a number longer than %d bytes", maxText)
		}
	}
}

func (r *jsonReader) number() error {
	start, err := r.raw()
	if err != nil {
		return err
	}
	word := r.tree.text[start:]
	if !r.tree.addNumber(start, jsonWhole, jsonInexact) {
		return r.in.bad("%q is not a number", short(word))
	}
	return nil
}

func (r *jsonReader) literal() error {
	start, err := r.raw()
	if err != nil {
		return err
	}
	word := string(r.tree.text[start:])
	r.tree.text = r.tree.text[:start]
	switch word {
	case "null":
		r.tree.add(nilNode, 0)
	case "true":
		r.tree.add(boolNode, 1)
	case "false":
		r.tree.add(boolNode, 0)
	case "":
		c, _ := r.in.peek()
		return r.in.unexpected(c, "a value")
	default:
		return r.in.bad("%q is not JSON", short([]byte(word)))
	}
	return nil
}

// text reads a string whose opening quote is consumed already.
func (r *jsonReader) text() error {
	t := r.tree
	start := len(t.text)
	for {
		c, ok := r.in.peek()
		if !ok {
			return r.in.tooShort("a string")
		}
		if c < ' ' {
			return r.in.bad("a control character inside a string")
		}
		r.in.pos++
		switch c {
		case '"':
			if !whole(t.text[start:]) {
				return r.in.bad("a string that is not UTF-8")
			}
			t.addText(stringNode, start)
			return nil
		case '\\':
			var err error
			if t.text, err = r.in.escape(t.text, false); err != nil {
				return err
			}
		default:
			t.text = append(t.text, c)
		}
		if len(t.text) > maxText {
			return r.in.bad("one operation has more than %d bytes of text", maxText)
		}
	}
}

// jsonWhole reports whether b is a whole number as JSON writes it.
func jsonWhole(b []byte) bool {
	i := 0
	if b[0] == '-' {
		i = 1
	}
	n := digits(b, i)
	return n > 0 && i+n == len(b) && (n == 1 || b[i] != '0')
}

// jsonInexact reports whether b is another number of JSON's.
func jsonInexact(b []byte) bool {
	i := 0
	if b[0] == '-' {
		i = 1
	}
	n := digits(b, i)
	if n == 0 || n > 1 && b[i] == '0' {
		return false
	}
	i += n
	if i < len(b) && b[i] == '.' {
		n = digits(b, i+1)
		if n == 0 {
			return false
		}
		i += n + 1
	}
	if i < len(b) && b[i]|0x20 == 'e' {
		i++
		if i < len(b) && (b[i] == '-' || b[i] == '+') {
			i++
		}
		n = digits(b, i)
		if n == 0 {
			return false
		}
		i += n
	}
	return i == len(b)
}

// escape reads what follows a backslash inside a string and appends what it
// stands for. EDN knows octal escapes as well.
func (in *input) escape(text []byte, edn bool) ([]byte, error) {
	c, ok := in.take()
	if !ok {
		return text, in.tooShort("a string")
	}
	switch c {
	case '"', '\\', '/':
		return append(text, c), nil
	case 'b':
		return append(text, '\b'), nil
	case 'f':
		return append(text, '\f'), nil
	case 'n':
		return append(text, '\n'), nil
	case 'r':
		return append(text, '\r'), nil
	case 't':
		return append(text, '\t'), nil
	case 'u':
		return in.unicode(text)
	}
	if edn && '0' <= c && c <= '7' {
		v := rune(c - '0')
		for range 2 {
			if c, ok := in.peek(); ok && '0' <= c && c <= '7' && v < 32 {
				v = 8*v + rune(c-'0')
				in.skip()
			}
		}
		return utf8.AppendRune(text, v), nil
	}
	return text, in.bad("%q is not an escape in a string", "\\"+string(rune(c)))
}

// unicode reads the four digits of a \u escape, and the second such escape of
// a character that needs two. Half of one alone becomes U+FFFD.
func (in *input) unicode(text []byte) ([]byte, error) {
	v, err := in.hex()
	if err != nil {
		return text, err
	}
	for utf16.IsSurrogate(v) {
		if next := in.ahead(2); len(next) < 2 || next[0] != '\\' || next[1] != 'u' {
			break
		}
		in.skip()
		in.skip()
		low, err := in.hex()
		if err != nil {
			return text, err
		}
		if both := utf16.DecodeRune(v, low); both != utf8.RuneError {
			return utf8.AppendRune(text, both), nil
		}
		text = utf8.AppendRune(text, utf8.RuneError)
		v = low
	}
	return utf8.AppendRune(text, v), nil
}

func (in *input) hex() (rune, error) {
	var v rune
	for range 4 {
		c, ok := in.take()
		if !ok {
			return 0, in.tooShort("a string")
		}
		switch low := c | 0x20; {
		case digit(c):
			v = 16*v + rune(c-'0')
		case 'a' <= low && low <= 'f':
			v = 16*v + rune(low-'a'+10)
		default:
			return 0, in.bad("%q is not a hexadecimal digit", c)
		}
	}
	return v, nil
}
