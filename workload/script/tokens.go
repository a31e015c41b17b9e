package script

import (
	"cmp"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"assay/workload/script/access"
	"assay/workload/script/pgbench"
)

// sqlError is an error at a byte of SQL text.
type sqlError struct {
	at     int
	reason string
}

func (e *sqlError) Error() string { return e.reason }

// lexer splits SQL. It refuses what databases read differently: dollar quotes, nested comments,
// comments that MySQL executes, a backslash before a quote, and -- without a space.
type lexer struct {
	text string
	at   int
	// whole reads verbatim statements as PostgreSQL's lexer does, and refuses none of these.
	whole bool
}

func tokens(text string) ([]access.Word, error) { return (&lexer{text: text}).all() }

func wholeTokens(text string) ([]access.Word, error) { return (&lexer{text: text, whole: true}).all() }

func (l *lexer) all() (all []access.Word, err error) {
	for {
		t, found, err := l.next()
		if err != nil || !found {
			return all, err
		}
		all = append(all, t)
	}
}

func (l *lexer) next() (t access.Word, found bool, err error) {
	if err := l.skip(); err != nil || l.at == len(l.text) {
		return access.Word{}, false, err
	}
	t = access.Word{Kind: access.Sign, Start: l.at}
	c, size := utf8.DecodeRuneInString(l.text[l.at:])
	rest := l.text[l.at:]
	switch {
	case l.whole && pgbench.DollarTag(rest) != "":
		t.Kind = access.Body
		l.at += cmp.Or(pgbench.DollarLength(rest), len(rest))
	case l.whole && (c == 'E' || c == 'e') && strings.HasPrefix(rest[1:], "'"):
		t.Kind = access.Literal
		err = l.pass(1+pgbench.QuotedLength(rest[1:], true), "a quote that does not end")
	case l.whole && (c == '\\' || c == '#' || c == '$' && !strings.ContainsAny(rest[1:min(2, len(rest))], "0123456789")):
		l.at += size
	case c == '\'':
		t.Kind = access.Literal
		err = l.quotedBy('\'')
	case c == '"' || c == '`':
		t.Kind = access.Quoted
		err = l.quotedBy(byte(c))
	case c == '$':
		t.Kind = access.Parameter
		if l.at++; l.digits() == 0 {
			return t, false, &sqlError{t.Start, "dollar quotes are not understood: write the text in single quotes, or give it as a parameter"}
		}
	case strings.HasPrefix(rest, "::"):
		l.at += 2
	case unicode.IsDigit(c):
		t.Kind = access.Literal
		l.number()
	case beginsName(c):
		t.Kind = access.Name
		l.name()
	case c == utf8.RuneError && size <= 1:
		return t, false, &sqlError{t.Start, "it is not UTF-8"}
	case c == '\\':
		return t, false, &sqlError{t.Start, "a backslash outside of a literal"}
	case c == '#' && !strings.HasPrefix(rest, "#>") && !strings.HasPrefix(rest, "#-"):
		return t, false, &sqlError{t.Start, "# begins a comment in some databases; write -- and a space"}
	default:
		l.at += size
	}
	if err != nil {
		return access.Word{}, false, err
	}
	t.End = l.at
	t.Text = l.text[t.Start:t.End]
	switch t.Kind {
	case access.Quoted:
		t.Text = t.Text[1 : len(t.Text)-1]
	case access.Parameter:
		t.Text = t.Text[1:]
	}
	return t, true, nil
}

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

// quotedBy skips a quoted text; a doubled quote does not end it.
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

// noParameter refuses $1 in quotes and comments: some drivers would insert the value.
func (l *lexer) noParameter(from, to int) error {
	for i := from; i+1 < to && !l.whole; i++ {
		if l.text[i] == '$' && l.text[i+1] >= '0' && l.text[i+1] <= '9' {
			return &sqlError{i, fmt.Sprintf("%s inside of quotes or a comment is no parameter; give the whole text as one", l.text[i:i+2])}
		}
	}
	return nil
}

// pass skips n bytes; fewer than two are the error otherwise.
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
