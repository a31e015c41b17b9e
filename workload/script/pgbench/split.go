package pgbench

import "strings"

// splitter reads one statement by the rules of psql's lexer: a semicolon ends it outside quotes,
// comments, parentheses and the body of a function in standard SQL.
type splitter struct {
	*reader
	// first is where the statement begins in the script; -1 before it does.
	text  strings.Builder
	first int
	// parts are where the statements combined by \; begin.
	parts []int
	// hidden are the ranges of quotes and comments.
	hidden      [][2]int
	parentheses int
	words       bodyWords
	bodies      int
}

// read reads a statement; ended is true if a semicolon ends it.
func (s *splitter) read() (ended bool, err error) {
	for s.at < len(s.reader.text) {
		rest := s.reader.text[s.at:]
		c := rest[0]
		switch {
		case isSpace(c):
			s.space()
		case strings.HasPrefix(rest, "--"):
			s.lineComment()
		case strings.HasPrefix(rest, "/*"):
			err = s.blockComment(rest)
		case c == ';' && s.parentheses == 0 && s.bodies == 0:
			s.at++
			return true, nil
		case c == '\\' && len(rest) > 1 && rest[1] == ';':
			s.combine()
		case c == '\\' && len(rest) > 1 && rest[1] == ':':
			s.at++
			s.take(1)
		case c == '\\':
			return false, nil
		default:
			err = s.token(rest)
		}
		if err != nil {
			return false, err
		}
	}
	return false, nil
}

// token reads anything except spaces, comments and ends.
func (s *splitter) token(rest string) error {
	c := rest[0]
	switch {
	case c == '\'', c == '"':
		return s.hide(QuotedLength(rest, false), "a quote that does not end", "write the quote behind it")
	case (c == 'e' || c == 'E') && strings.HasPrefix(rest[1:], "'"):
		s.take(1)
		return s.hide(QuotedLength(rest[1:], true), "a quote that does not end", "write the quote behind it")
	case DollarTag(rest) != "":
		return s.hide(DollarLength(rest), "a text in dollar quotes that does not end", "write "+DollarTag(rest)+" behind it")
	case strings.HasPrefix(rest, "::"):
		s.take(2)
	case c == ':':
		s.take(1 + nameLength(rest[1:], false))
	case beginsName(c):
		n := nameLength(rest, true)
		s.bodies = s.words.next(rest[:n], s.parentheses, s.bodies)
		s.take(n)
	default:
		switch c {
		case '(':
			s.parentheses++
		case ')':
			s.parentheses = max(0, s.parentheses-1)
		}
		s.take(1)
	}
	return nil
}

func (s *splitter) take(n int) {
	if s.first < 0 {
		s.first = s.at
	}
	s.text.WriteString(s.reader.text[s.at : s.at+n])
	s.at += n
}

func (s *splitter) space() {
	if s.first >= 0 {
		s.text.WriteByte(s.reader.text[s.at])
	}
	s.at++
}

// hide copies a quote or comment of n bytes; 0 means that it does not end, an error.
func (s *splitter) hide(n int, wrong, advice string) error {
	if n == 0 {
		return s.fail(s.at, wrong, advice)
	}
	from := s.text.Len()
	s.take(n)
	s.hidden = append(s.hidden, [2]int{from, s.text.Len()})
	return nil
}

// combine continues the text with another statement.
func (s *splitter) combine() {
	s.at++
	s.take(1)
	s.parts = append(s.parts, s.text.Len())
	s.words = bodyWords{}
}

// lineComment reads a -- comment, which is not sent.
func (s *splitter) lineComment() {
	line := s.reader.text[s.at:]
	if end := strings.IndexAny(line, "\n\r"); end >= 0 {
		line = line[:end]
	}
	s.script.Comments = append(s.script.Comments, Comment{s.position(s.at), line[2:]})
	s.at += len(line)
}

// blockComment copies a comment. A comment before the statement is not sent.
func (s *splitter) blockComment(rest string) error {
	if n := CommentLength(rest); s.first < 0 && n > 0 {
		s.at += n
		return nil
	}
	return s.hide(CommentLength(rest), "a comment that does not end", "write */ behind it")
}

func (s *splitter) finish() *Statement {
	text := strings.TrimRight(s.text.String(), " \t\n\r\f\v")
	of := &Statement{Text: text}
	from := 0
	for _, to := range append(s.parts, len(text)+1) {
		if part := strings.TrimSpace(text[min(from, len(text)):min(to-1, len(text))]); part != "" {
			of.Parts = append(of.Parts, part)
		}
		from = to
	}
	for at := strings.IndexByte(text, ':'); at >= 0; {
		end := at + 1
		if end < len(text) && beginsName(text[end]) {
			end += nameLength(text[end:], false)
			of.References = append(of.References, Reference{Name: text[at+1 : end], Start: at, End: end, Hidden: s.isHidden(at)})
		} else {
			for end < len(text) && text[end] == ':' { // a cast
				end++
			}
		}
		next := strings.IndexByte(text[end:], ':')
		if next < 0 {
			break
		}
		at = end + next
	}
	return of
}

func (s *splitter) isHidden(at int) bool {
	for _, h := range s.hidden {
		if h[0] <= at && at < h[1] {
			return true
		}
	}
	return false
}

// bodyWords tell by a statement's first words whether it makes a function with a body.
type bodyWords struct {
	first [4]byte
	count int
}

// next returns the depth of bodies behind a word: BEGIN and CASE open one, END closes one.
func (w *bodyWords) next(word string, parentheses, bodies int) int {
	lower := strings.ToLower(word)
	switch lower {
	case "create", "function", "procedure", "or", "replace":
		if w.count < len(w.first) {
			w.first[w.count] = lower[0]
		}
	}
	w.count++
	makes := func(at int) bool { return w.first[at] == 'f' || w.first[at] == 'p' }
	if w.first[0] != 'c' || !makes(1) && !(w.first[1] == 'o' && w.first[2] == 'r' && makes(3)) || parentheses > 0 {
		return bodies
	}
	switch {
	case lower == "begin", lower == "case" && bodies > 0:
		return bodies + 1
	case lower == "end":
		return max(0, bodies-1)
	}
	return bodies
}

func isSpace(c byte) bool {
	return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\v'
}

func beginsName(c byte) bool {
	return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}

func nameLength(text string, dollar bool) (n int) {
	for n < len(text) && (beginsName(text[n]) || isDigit(text[n]) || dollar && text[n] == '$') {
		n++
	}
	return n
}
