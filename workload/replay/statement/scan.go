// Package statement reads statements of SQL that others wrote, as far as replaying them needs
// it: what a statement is apart from its values (Fingerprint), which tables it names, what it
// does to a transaction, and whether it carries a password.
//
// It takes texts apart by the rules of PostgreSQL and of MySQL, and parses no grammar: what a
// function, a trigger or a view does is not seen. It must not know any database driver.
package statement

import "strings"

// Dialect is whose rules of quoting hold.
type Dialect string

// The dialects.
const (
	Postgres Dialect = "postgres"
	MySQL    Dialect = "mysql" // MariaDB's too
)

// kind is what a token is.
type kind uint8

const (
	word      kind = iota + 1
	quoted         // a name in quotes
	text           // a string, whatever its quotes
	number         //
	parameter      // $1
	operator       // a run of the characters that operators consist of
	sign           // any other character
	comment
)

// token is a part of a text; whitespace between tokens is none.
type token struct {
	kind       kind
	start, end int
}

// scanner takes a text apart. Whatever the text is, it comes to its end: a quote that is not
// closed goes up to there.
type scanner struct {
	text    string
	at      int
	dialect Dialect
}

const operators = "<>=!+-*/%^|&~@#?"

func (s *scanner) next() (t token, found bool) {
	for s.at < len(s.text) && isSpace(s.text[s.at]) {
		s.at++
	}
	if s.at == len(s.text) {
		return token{}, false
	}
	t.start = s.at
	t.kind = s.scan()
	t.end = s.at
	return t, true
}

// scan goes over one token, which begins here.
func (s *scanner) scan() kind {
	c, rest := s.text[s.at], s.text[s.at:]
	switch {
	case s.comment(rest):
		return comment
	case c == '\'':
		return s.string(s.dialect == MySQL)
	case c == '"' && s.dialect == MySQL:
		return s.string(true)
	case c == '"' || c == '`' && s.dialect == MySQL:
		s.until(c, false)
		return quoted
	case c == '$' && s.dialect == Postgres:
		return s.dollar(rest)
	case isDigit(c) || c == '.' && len(rest) > 1 && isDigit(rest[1]):
		s.number()
		return number
	case isLetter(c):
		return s.word(rest)
	case strings.IndexByte(operators, c) >= 0:
		s.operator()
		return operator
	}
	s.at++
	return sign
}

// operator goes over one. It ends with a sign only if a character is in it that no usual one has
// (PostgreSQL's manual, "Lexical Structure"): =-1 is a negative number.
func (s *scanner) operator() {
	begin := s.at
	for s.at++; s.at < len(s.text) && strings.IndexByte(operators, s.text[s.at]) >= 0; s.at++ {
		if rest := s.text[s.at:]; strings.HasPrefix(rest, "--") || strings.HasPrefix(rest, "/*") {
			break
		}
	}
	for s.at > begin+1 && (s.text[s.at-1] == '-' || s.text[s.at-1] == '+') && !strings.ContainsAny(s.text[begin:s.at], "~!@#%^&|?") {
		s.at--
	}
}

// comment goes over a comment, if there is one. What MySQL executes (/*!) is none.
func (s *scanner) comment(rest string) bool {
	switch {
	case strings.HasPrefix(rest, "--") && (s.dialect == Postgres || len(rest) == 2 || isSpace(rest[2])),
		rest[0] == '#' && s.dialect == MySQL:
		end := strings.IndexByte(rest, '\n')
		if end < 0 {
			end = len(rest)
		}
		s.at += end
		return true
	case strings.HasPrefix(rest, "/*") && !(s.dialect == MySQL && strings.HasPrefix(rest, "/*!")):
		depth := 0
		for i := 0; i < len(rest); {
			switch {
			case strings.HasPrefix(rest[i:], "*/"):
				i += 2
				if depth--; depth <= 0 || s.dialect == MySQL { // PostgreSQL's nest
					s.at += i
					return true
				}
			case strings.HasPrefix(rest[i:], "/*"):
				depth++
				i += 2
			default:
				i++
			}
		}
		s.at = len(s.text)
		return true
	}
	return false
}

func (s *scanner) string(backslashes bool) kind {
	s.until(s.text[s.at], backslashes)
	return text
}

// until goes over what this quote begins; two of it in a row stand for one.
func (s *scanner) until(quote byte, backslashes bool) {
	for s.at++; s.at < len(s.text); s.at++ {
		switch c := s.text[s.at]; {
		case c == '\\' && backslashes:
			s.at++
		case c == quote && s.at+1 < len(s.text) && s.text[s.at+1] == quote:
			s.at++
		case c == quote:
			s.at++
			return
		}
	}
	s.at = len(s.text) // an escape at the end goes beyond it
}

// dollar goes over a parameter or a string in dollar quotes (PostgreSQL's manual, "Lexical
// Structure").
func (s *scanner) dollar(rest string) kind {
	n := 1
	for n < len(rest) && (isDigit(rest[n]) || isLetter(rest[n])) {
		n++
	}
	switch {
	case n > 1 && isDigit(rest[1]):
		for n = 1; n < len(rest) && isDigit(rest[n]); n++ {
		}
		s.at += n
		return parameter
	case n < len(rest) && rest[n] == '$':
		mark := rest[:n+1]
		end := strings.Index(rest[n+1:], mark)
		if end < 0 {
			s.at = len(s.text)
			return text
		}
		s.at += n + 1 + end + len(mark)
		return text
	}
	s.at++
	return sign
}

func (s *scanner) number() {
	for s.at < len(s.text) {
		c := s.text[s.at]
		exponent := (c == '+' || c == '-') && (s.text[s.at-1] == 'e' || s.text[s.at-1] == 'E') && !strings.HasPrefix(s.text[s.at:], "--")
		if !isDigit(c) && !isLetter(c) && c != '.' && !exponent {
			return
		}
		s.at++
	}
}

// word goes over a word, or over a string that a letter begins, such as E'...'.
func (s *scanner) word(rest string) kind {
	n := 1
	for n < len(rest) && (isLetter(rest[n]) || isDigit(rest[n]) || rest[n] == '$') {
		n++
	}
	s.at += n
	if n >= len(rest) || rest[n] != '\'' && !(rest[n] == '&' && n == 1) {
		return word
	}
	switch strings.ToLower(rest[:n]) {
	case "e":
		if rest[n] == '\'' {
			return s.string(true)
		}
	case "b", "x", "n":
		if rest[n] == '\'' {
			return s.string(s.dialect == MySQL)
		}
	case "u":
		if strings.HasPrefix(rest[n:], "&'") {
			s.at++
			return s.string(false)
		}
		if strings.HasPrefix(rest[n:], `&"`) {
			s.at++
			s.until('"', false)
			return quoted
		}
	}
	return word
}

func isSpace(c byte) bool { return c == ' ' || c >= '\t' && c <= '\r' }

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// isLetter takes all that is not ASCII for letters, as the databases do.
func isLetter(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || c >= 0x80
}
