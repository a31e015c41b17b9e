package exchange

import "strconv"

// jsonReader reads JSON (RFC 8259) into the trees that EDN has.
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
	c, err := r.in.begin(r, r.tree, depth)
	if err != nil {
		return err
	}
	switch {
	case c == '{':
		return r.sequence(mapNode, '}', depth)
	case c == '[':
		return r.sequence(listNode, ']', depth)
	case c == '"':
		r.in.skip()
		return r.in.quoted(r.tree, jsonEscapes)
	case c == '-' || digit(c):
		return r.number()
	}
	return r.literal()
}

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

// key reads a member's name and the colon after it.
func (r *jsonReader) key(depth int) error {
	if err := r.blank(depth); err != nil {
		return err
	}
	if c, ok := r.in.take(); !ok || c != '"' {
		return r.in.bad("the name of an object's member is not a string")
	}
	if err := r.in.quoted(r.tree, jsonEscapes); err != nil {
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

func (r *jsonReader) number() error {
	if r.in.number(r.tree, jsonDelimiter) {
		return nil
	}
	start, err := r.in.word(r.tree, jsonDelimiter, "a number")
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
	start, err := r.in.word(r.tree, jsonDelimiter, "a number")
	if err != nil {
		return err
	}
	switch word := r.tree.text[start:]; {
	case len(word) == 0:
		c, _ := r.in.peek()
		return r.in.unexpected(c, "a value")
	case !r.tree.literal(start, "null"):
		return r.in.bad("%q is not JSON", short(word))
	}
	return nil
}

func jsonDelimiter(c byte) bool {
	return !digit(c) && c != '-' && c != '+' && c != '.' && (c|0x20 < 'a' || c|0x20 > 'z')
}

func jsonWhole(b []byte) bool {
	i := 0
	if b[0] == '-' {
		i = 1
	}
	n := digits(b, i)
	return n > 0 && i+n == len(b) && (n == 1 || b[i] != '0')
}

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
