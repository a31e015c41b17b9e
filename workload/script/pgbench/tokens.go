package pgbench

import (
	"fmt"
	"strings"
)

type tokenKind uint8

const (
	// nothing is the end of the line.
	nothing tokenKind = iota
	number
	name
	variableName
	sign
)

// token is a token of an expression. Names are in lower case, variables without their colon.
type token struct {
	kind tokenKind
	text string
	at   int
}

func (t token) is(kind tokenKind, text string) bool { return t.kind == kind && t.text == text }

// next is the next token of the line.
func (r *reader) next() (token, error) {
	r.skipSpace()
	t := token{at: r.at}
	rest := r.text[r.at:]
	switch {
	case rest == "":
		return t, nil
	case rest[0] == '\n':
		r.at++
		return t, nil
	case isDigit(rest[0]) || rest[0] == '.' && len(rest) > 1 && isDigit(rest[1]):
		t.kind, t.text = number, rest[:numberLength(rest)]
	case beginsName(rest[0]):
		t.kind, t.text = name, rest[:nameLength(rest, false)]
	case rest[0] == ':' && nameLength(rest[1:], false) > 0:
		t.kind, t.text = variableName, rest[:1+nameLength(rest[1:], false)]
	default:
		t.kind = sign
		for _, s := range [...]string{"<<", ">>", "<=", ">=", "<>", "!=", "+", "-", "*", "/", "%", "(", ")", ",", "&", "|", "#", "~", "=", "<", ">"} {
			if strings.HasPrefix(rest, s) {
				t.text = s
				break
			}
		}
		if t.text == "" {
			return t, r.fail(r.at, fmt.Sprintf("%q is not of an expression", []rune(rest)[0]), "")
		}
	}
	r.at += len(t.text)
	switch t.kind {
	case name:
		t.text = strings.ToLower(t.text)
	case variableName:
		t.text = t.text[1:]
	}
	return t, nil
}

// numberLength is the length of a leading number: 1, 1.5, .5, 1e3.
func numberLength(text string) (n int) {
	digits := func(from int) int {
		for from < len(text) && isDigit(text[from]) {
			from++
		}
		return from
	}
	if n = digits(0); n < len(text) && text[n] == '.' {
		n = digits(n + 1)
	}
	if n < len(text) && (text[n] == 'e' || text[n] == 'E') {
		exponent := n + 1
		if exponent < len(text) && (text[exponent] == '+' || text[exponent] == '-') {
			exponent++
		}
		if end := digits(exponent); end > exponent {
			n = end
		}
	}
	return n
}
