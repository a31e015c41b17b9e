package script

import (
	"cmp"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"assay/workload/script/pgbench"
)

// tokenKind is what a token of SQL is.
type tokenKind uint8

const (
	// word is a keyword or a name; quoted a name in quotes, without them.
	word tokenKind = iota + 1
	quoted
	// literal is a string or a number.
	literal
	// parameter is $1, without the sign.
	parameter
	// sign is any other character, or ::.
	sign
	// body is what stands between dollar quotes, with these.
	body
)

// token is one token of SQL, from its first byte to before the end.
type token struct {
	kind       tokenKind
	text       string
	start, end int
}

// is reports whether it is one of these words, which are in lower case.
func (t token) is(words ...string) bool {
	if t.kind != word {
		return false
	}
	for _, w := range words {
		if strings.EqualFold(t.text, w) {
			return true
		}
	}
	return false
}

func (t token) named() bool { return t.kind == word || t.kind == quoted }

// sqlError is what is wrong with SQL, at a byte of its text.
type sqlError struct {
	at     int
	reason string
}

func (e *sqlError) Error() string { return e.reason }

// lexer takes SQL apart. What databases read differently is refused, so that what is
// seen here is what every one of them sees: dollar quotes, nested comments and those
// that MySQL executes, a backslash before a quote, -- without a space behind.
type lexer struct {
	text string
	at   int
	// whole is true if all that PostgreSQL's lexer knows is read as it reads it, and nothing
	// refused: of statements that are sent as they are written.
	whole bool
}

func tokens(text string) ([]token, error) { return (&lexer{text: text}).all() }

// wholeTokens takes a text apart as PostgreSQL's lexer does.
func wholeTokens(text string) ([]token, error) { return (&lexer{text: text, whole: true}).all() }

func (l *lexer) all() (all []token, err error) {
	for {
		t, found, err := l.next()
		if err != nil || !found {
			return all, err
		}
		all = append(all, t)
	}
}

// next is the next token; found is false at the end.
func (l *lexer) next() (t token, found bool, err error) {
	if err := l.skip(); err != nil || l.at == len(l.text) {
		return token{}, false, err
	}
	t = token{kind: sign, start: l.at}
	c, size := utf8.DecodeRuneInString(l.text[l.at:])
	rest := l.text[l.at:]
	switch {
	case l.whole && pgbench.DollarTag(rest) != "":
		t.kind = body
		l.at += cmp.Or(pgbench.DollarLength(rest), len(rest))
	case l.whole && (c == 'E' || c == 'e') && strings.HasPrefix(rest[1:], "'"):
		t.kind = literal
		err = l.pass(1+pgbench.QuotedLength(rest[1:], true), "a quote that does not end")
	case l.whole && (c == '\\' || c == '#' || c == '$' && !strings.ContainsAny(rest[1:min(2, len(rest))], "0123456789")):
		l.at += size
	case c == '\'':
		t.kind = literal
		err = l.quotedBy('\'')
	case c == '"' || c == '`':
		t.kind = quoted
		err = l.quotedBy(byte(c))
	case c == '$':
		t.kind = parameter
		if l.at++; l.digits() == 0 {
			return t, false, &sqlError{t.start, "dollar quotes are not understood: write the text in single quotes, or give it as a parameter"}
		}
	case strings.HasPrefix(rest, "::"):
		l.at += 2
	case unicode.IsDigit(c):
		t.kind = literal
		l.number()
	case beginsName(c):
		t.kind = word
		l.name()
	case c == utf8.RuneError && size <= 1:
		return t, false, &sqlError{t.start, "it is not UTF-8"}
	case c == '\\':
		return t, false, &sqlError{t.start, "a backslash outside of a literal"}
	case c == '#' && !strings.HasPrefix(rest, "#>") && !strings.HasPrefix(rest, "#-"):
		return t, false, &sqlError{t.start, "# begins a comment in some databases; write -- and a space"}
	default:
		l.at += size
	}
	if err != nil {
		return token{}, false, err
	}
	t.end = l.at
	t.text = l.text[t.start:t.end]
	switch t.kind {
	case quoted:
		t.text = t.text[1 : len(t.text)-1]
	case parameter:
		t.text = t.text[1:]
	}
	return t, true, nil
}

// skip goes over spaces and comments.
func (l *lexer) skip() error {
	for l.at < len(l.text) {
		rest := l.text[l.at:]
		c, size := utf8.DecodeRuneInString(rest)
		switch {
		case unicode.IsSpace(c):
			l.at += size
		case strings.HasPrefix(rest, "--"):
			if len(rest) > 2 && !unicode.IsSpace(rune(rest[2])) && !l.whole {
				return &sqlError{l.at, "-- without a space behind is a comment in some databases and not in others"}
			}
			end := strings.IndexByte(rest, '\n')
			if end < 0 {
				end = len(rest)
			}
			if err := l.noParameter(l.at, l.at+end); err != nil {
				return err
			}
			l.at += end
		case strings.HasPrefix(rest, "/*") && l.whole:
			if err := l.pass(pgbench.CommentLength(rest), "a comment that does not end"); err != nil {
				return err
			}
		case strings.HasPrefix(rest, "/*"):
			end := strings.Index(rest[2:], "*/")
			switch {
			case end < 0:
				return &sqlError{l.at, "a comment that does not end"}
			case strings.Contains(rest[2:2+end], "/*"), strings.HasPrefix(rest, "/*!"), strings.HasPrefix(rest, "/*M!"):
				return &sqlError{l.at, "a comment in a comment, or one that some databases execute"}
			}
			if err := l.noParameter(l.at, l.at+end); err != nil {
				return err
			}
			l.at += end + 4
		default:
			return nil
		}
	}
	return nil
}

// quotedBy goes over what is in quotes, in which the quote is written twice.
func (l *lexer) quotedBy(quote byte) error {
	start := l.at
	for l.at++; l.at < len(l.text); l.at++ {
		if l.text[l.at] != quote {
			continue
		}
		if l.text[l.at-1] == '\\' && !l.whole {
			return &sqlError{l.at - 1, "a backslash before a quote is read differently by databases: write the quote twice, or give the text as a parameter"}
		}
		if l.at++; l.at == len(l.text) || l.text[l.at] != quote {
			return l.noParameter(start, l.at)
		}
	}
	return &sqlError{start, "a quote that does not end"}
}

// noParameter refuses $1 where it is no parameter: some drivers would put the value in.
func (l *lexer) noParameter(from, to int) error {
	for i := from; i+1 < to && !l.whole; i++ {
		if l.text[i] == '$' && l.text[i+1] >= '0' && l.text[i+1] <= '9' {
			return &sqlError{i, fmt.Sprintf("%s inside of quotes or a comment is no parameter; give the whole text as one", l.text[i:i+2])}
		}
	}
	return nil
}

// pass goes over so many bytes, of which there are at least two.
func (l *lexer) pass(n int, otherwise string) error {
	if n < 2 {
		return &sqlError{l.at, otherwise}
	}
	l.at += n
	return nil
}

func (l *lexer) digits() (n int) {
	for l.at < len(l.text) && l.text[l.at] >= '0' && l.text[l.at] <= '9' {
		l.at++
		n++
	}
	return n
}

// number goes over a number, such as 1, 1.5, 1e3 or 0x1f.
func (l *lexer) number() {
	for l.at < len(l.text) {
		c := l.text[l.at]
		exponent := (c == '+' || c == '-') && (l.text[l.at-1] == 'e' || l.text[l.at-1] == 'E')
		if c != '.' && !exponent && !(c < utf8.RuneSelf && (unicode.IsDigit(rune(c)) || unicode.IsLetter(rune(c)))) {
			return
		}
		l.at++
	}
}

func (l *lexer) name() {
	for l.at < len(l.text) {
		c, size := utf8.DecodeRuneInString(l.text[l.at:])
		if !beginsName(c) && !unicode.IsDigit(c) && c != '$' {
			return
		}
		l.at += size
	}
}

func beginsName(c rune) bool { return c == '_' || unicode.IsLetter(c) }
