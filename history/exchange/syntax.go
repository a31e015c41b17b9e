package exchange

import (
	"unicode/utf16"
	"unicode/utf8"
)

// syntax reads forms of EDN or JSON, one at a time.
type syntax interface {
	// blank skips the text between forms.
	blank(depth int) error
	value(depth int) error
}

// begin goes to the next form and returns its first byte.
func (in *input) begin(s syntax, t *tree, depth int) (byte, error) {
	if depth > maxDepth || len(t.nodes) >= maxNodes || len(t.text) >= maxText {
		return 0, in.bad("one operation is larger than %d forms, %d bytes of text or %d levels", maxNodes, maxText, maxDepth)
	}
	if err := s.blank(depth); err != nil {
		return 0, err
	}
	c, ok := in.peek()
	if !ok {
		return 0, in.tooShort("an operation")
	}
	return c, nil
}

// word appends the bytes up to a delimiter to the tree's text, and returns their start.
func (in *input) word(t *tree, delimiter func(byte) bool, what string) (start int, err error) {
	for start = len(t.text); in.pos < in.end || in.fill(); {
		end, text := in.pos, in.buf[:in.end]
		for end < len(text) && ('a' <= text[end] && text[end] <= 'z' || !delimiter(text[end])) { // the usual first
			end++
		}
		t.text = append(t.text, in.buf[in.pos:end]...)
		in.pos = end
		if len(t.text)-start > maxText {
			return 0, in.bad("%s longer than %d bytes", what, maxText)
		}
		if end < in.end {
			break
		}
	}
	return start, in.broken()
}

// number reads the most common value of long histories: a short whole number that ends in the
// buffer. Otherwise ok is false, and nothing is consumed.
func (in *input) number(t *tree, delimiter func(byte) bool) (ok bool) {
	const few = 18 // cannot overflow
	v := int64(0)
	for i, c := range in.buf[in.pos:min(in.end, in.pos+few+1)] {
		if digit(c) {
			v = 10*v + int64(c-'0')
			continue
		} else if i == 0 || !delimiter(c) || in.buf[in.pos] == '0' && i > 1 {
			return false
		}
		in.pos += i
		t.add(intNode, v)
		return true
	}
	return false
}

// literal adds null (the format's word for nil), true or false, if the text from start is one.
func (t *tree) literal(start int, null string) bool {
	kind, num := boolNode, int64(0)
	switch string(t.text[start:]) {
	case null:
		kind = nilNode
	case "true":
		num = 1
	case "false":
	default:
		return false
	}
	t.text = t.text[:start]
	t.add(kind, num)
	return true
}

type escapes uint8

const (
	jsonEscapes escapes = iota
	// ednEscapes include octal ones. Such a string may contain control characters.
	ednEscapes
	// noEscapes is for regular expressions, where a backslash stands for itself.
	noEscapes
)

func (in *input) quoted(t *tree, how escapes) (err error) {
	start := len(t.text)
	for {
		t.text = append(t.text, in.plain()...)
		c, ok := in.peek()
		switch {
		case !ok:
			return in.tooShort("a string")
		case how == jsonEscapes && c < ' ':
			return in.bad("a control character inside a string")
		}
		in.skip()
		switch c {
		case '"':
			if !whole(t.text[start:]) {
				return in.bad("a string that is not UTF-8")
			}
			t.addText(stringNode, start)
			return nil
		case '\\':
			if t.text, err = in.escape(t.text, how); err != nil {
				return err
			}
		default:
			t.text = append(t.text, c)
		}
		if len(t.text) > maxText {
			return in.bad("one operation has more than %d bytes of text", maxText)
		}
	}
}

// plain consumes the part of a string in the buffer that has no escape and no end.
func (in *input) plain() []byte {
	text := in.buf[in.pos:in.end]
	for i, c := range text {
		if c < ' ' || c == '"' || c == '\\' {
			text = text[:i]
			break
		}
	}
	in.pos += len(text)
	return text
}

// escape reads an escape after its backslash and appends its character.
func (in *input) escape(text []byte, how escapes) ([]byte, error) {
	c, ok := in.take()
	switch {
	case !ok:
		return text, in.tooShort("a string")
	case how == noEscapes:
		return append(text, '\\', c), nil
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
	if how == ednEscapes && '0' <= c && c <= '7' {
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

// unicode reads the four digits of a \u escape, and the second escape of a surrogate pair. Half a
// pair becomes U+FFFD.
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
