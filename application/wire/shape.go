package wire

import "strings"

// maxText bounds a statement's text. What is behind that counts as one of its values.
const maxText = 4096

// Statements takes a text of SQL apart: each statement's shape, without comments and values,
// and the values. What it does not understand it leaves as it is.
func Statements(text string) []*Statement { return statements(&scanner{text: text}) }

// EscapedStatements is Statements where a backslash escapes within quotes, and where double quotes are
// around texts, too.
func EscapedStatements(text string) []*Statement {
	return statements(&scanner{text: text, escaped: true})
}

func statements(s *scanner) (all []*Statement) {
	s.out.Grow(min(len(s.text), maxText))
	for s.at < len(s.text) {
		s.step()
		if s.ended {
			all = s.close(all)
		}
	}
	return s.close(all)
}

type scanner struct {
	text    string
	escaped bool
	at      int
	out     strings.Builder
	values  Values
	// space is true if a space is to come before the next character.
	space, ended bool
}

func (s *scanner) close(all []*Statement) []*Statement {
	shape := unnamed(strings.TrimSpace(s.out.String()))
	if shape != "" {
		all = append(all, &Statement{Shape: shape, Values: s.values.All(), Kind: kindOf(shape)})
	}
	s.out.Reset()
	s.values, s.space, s.ended = Values{}, false, false
	return all
}

// unnamed is a statement about a savepoint, a cursor or what was prepared without its name, which frameworks
// choose by chance (PostgreSQL 18 manual, "DECLARE", "FETCH").
func unnamed(shape string) string {
	for _, words := range [...]string{"SAVEPOINT ", "RELEASE SAVEPOINT ", "ROLLBACK TO SAVEPOINT ", "DECLARE ", "FETCH ", "MOVE ", "CLOSE ", "DEALLOCATE PREPARE ", "DEALLOCATE "} {
		if len(shape) <= len(words) || !strings.EqualFold(shape[:len(words)], words) {
			continue
		}
		rest, from, to := shape[len(words):], 0, len(shape)-len(words)
		switch words {
		case "DECLARE ":
			if to = strings.IndexByte(rest, ' '); rest[0] == '"' {
				to = quotedEnd(rest, '"', false)
			}
		case "FETCH ", "MOVE ": // whose last word it is
			if from = strings.LastIndexByte(rest, ' ') + 1; strings.HasSuffix(rest, `"`) {
				from = strings.LastIndex(rest, ` "`) + 1
			}
		}
		if to < 0 || strings.EqualFold(rest[from:to], "ALL") {
			return shape
		}
		return words + rest[:from] + "?" + rest[to:]
	}
	for _, words := range [...]string{" CURRENT OF ", " current of "} {
		if before, rest, is := strings.Cut(shape, words); is {
			_, behind := Identifier(rest)
			return before + words + "?" + behind
		}
	}
	return shape
}

// Identifier is the name that a text begins with, as the server keeps it, and what is behind it; empty where
// there is none (PostgreSQL 18 manual, "Identifiers and Key Words").
func Identifier(text string) (name, behind string) {
	if strings.HasPrefix(text, `"`) {
		end := quotedEnd(text, '"', false)
		return strings.ReplaceAll(strings.Trim(text[:end], `"`), `""`, `"`), text[end:]
	}
	end := 0
	for end < len(text) && nameByte(text[end]) {
		end++
	}
	return strings.ToLower(text[:end]), text[end:]
}

// step goes over one character or value.
func (s *scanner) step() {
	rest := s.text[s.at:]
	c := rest[0]
	switch {
	case c == ' ' || c == '\t' || c == '\n' || c == '\r':
		s.space = true
		s.at++
	case s.escaped && (c == '#' || strings.HasPrefix(rest, "--") && len(rest) > 2 && rest[2] > ' '):
		if c == '#' {
			s.jump(rest, "\n", 0)
		} else { // two signs
			s.copy(1)
		}
	case strings.HasPrefix(rest, "--"):
		s.jump(rest, "\n", 0)
	case strings.HasPrefix(rest, "/*"):
		s.jump(rest, "*/", 2)
	case c == ';':
		s.ended = true
		s.at++
	case c == '\'':
		s.value(quotedEnd(rest, '\'', s.escaped || s.escapes()))
	case c == '"' && s.escaped:
		n := quotedEnd(rest, c, true)
		inside := strings.ReplaceAll(strings.TrimSuffix(rest[1:n], `"`), `""`, `"`)
		s.valueAs(n, "'"+strings.ReplaceAll(inside, "'", "''")+"'")
	case c == '"' || c == '`':
		s.copy(quotedEnd(rest, c, false))
	case c == '$' && !s.escaped && len(rest) > 1 && (rest[1] == '$' || nameByte(rest[1]) && !digit(rest[1])):
		s.dollar(rest)
	case digit(c) && !s.inName():
		s.value(numberEnd(rest))
	case nameByte(c):
		n := 1
		for n < len(rest) && nameByte(rest[n]) {
			n++
		}
		s.copy(n)
	default:
		s.copy(1)
	}
}

// jump leaves out up to behind an end.
func (s *scanner) jump(rest, end string, from int) {
	s.space = true
	if i := strings.Index(rest[from:], end); i >= 0 {
		s.at += from + i + len(end)
	} else {
		s.at = len(s.text)
	}
}

// dollar goes over a text in dollar quotes.
func (s *scanner) dollar(rest string) {
	end := strings.IndexByte(rest[1:], '$')
	if end < 0 {
		s.copy(1)
		return
	}
	quote := rest[:end+2]
	if inside := strings.Index(rest[len(quote):], quote); inside >= 0 {
		s.value(inside + 2*len(quote))
		return
	}
	s.copy(1)
}

func (s *scanner) copy(n int) {
	if s.out.Len() < maxText {
		if s.space && s.out.Len() > 0 {
			s.out.WriteByte(' ')
		}
		s.out.WriteString(s.text[s.at : s.at+n])
	} else {
		s.values.More(s.text[s.at : s.at+n])
	}
	s.space = false
	s.at += n
}

// value takes n bytes as a value. A list of them is one sign, however long it is.
func (s *scanner) value(n int) { s.valueAs(n, s.text[s.at:s.at+n]) }

func (s *scanner) valueAs(n int, value string) {
	if s.values.Full() {
		s.values.More(value)
	} else {
		s.values.Add(Shortened(value))
	}
	written := s.out.String()
	if list, is := strings.CutSuffix(strings.TrimRight(written, " "), ","); is && (strings.HasSuffix(list, "?") || strings.HasSuffix(list, "? ...")) {
		s.out.Reset()
		s.out.WriteString(strings.TrimSuffix(list, " ...") + " ...")
		s.at += n
		s.space = false
		return
	}
	if s.space && s.out.Len() > 0 {
		s.out.WriteByte(' ')
	}
	s.out.WriteByte('?')
	s.space = false
	s.at += n
}

// escapes is true behind the E of a literal in which a backslash escapes.
func (s *scanner) escapes() bool {
	return s.at > 0 && (s.text[s.at-1] == 'E' || s.text[s.at-1] == 'e') && (s.at == 1 || !nameByte(s.text[s.at-2]))
}

// inName is true if the last character belongs to a name or a parameter.
func (s *scanner) inName() bool {
	return s.at > 0 && (nameByte(s.text[s.at-1]) || s.text[s.at-1] == '$' || s.text[s.at-1] == '.')
}

func quotedEnd(rest string, quote byte, escapes bool) int {
	for i := 1; i < len(rest); i++ {
		switch {
		case escapes && rest[i] == '\\':
			i++
		case rest[i] == quote && i+1 < len(rest) && rest[i+1] == quote:
			i++
		case rest[i] == quote:
			return i + 1
		}
	}
	return len(rest)
}

func numberEnd(rest string) int {
	for i := 1; i < len(rest); i++ {
		sign := (rest[i] == '+' || rest[i] == '-') && (rest[i-1] == 'e' || rest[i-1] == 'E')
		if !digit(rest[i]) && rest[i] != '.' && !nameByte(rest[i]) && !sign {
			return i
		}
	}
	return len(rest)
}

func digit(c byte) bool { return c >= '0' && c <= '9' }

func nameByte(c byte) bool {
	return c == '_' || digit(c) || c >= 0x80 || 'a' <= c|0x20 && c|0x20 <= 'z'
}

// has reports whether a text has a word, in letters of any size.
func has(text, word string) bool {
	for i := 0; i+len(word) <= len(text); i++ {
		if text[i]|0x20 == word[0]|0x20 && strings.EqualFold(text[i:i+len(word)], word) {
			return true
		}
	}
	return false
}

// kindOf is what a statement does to a transaction, by its first words.
func kindOf(shape string) Kind {
	first, _, _ := strings.Cut(shape, " ")
	switch strings.ToUpper(first[:min(len(first), 60)]) {
	case "BEGIN", "START":
		words := strings.Fields(strings.ToUpper(shape[:min(len(shape), 60)]))
		if words[0] == "START" && (len(words) < 2 || words[1] != "TRANSACTION") || len(words) > 2 && words[1] == "NOT" && words[2] == "ATOMIC" {
			return Other // START REPLICA, and MariaDB's BEGIN NOT ATOMIC
		}
		return Begin
	case "COMMIT", "END":
		return Commit
	case "ROLLBACK", "ABORT":
		words := strings.Fields(strings.ToUpper(shape[:min(len(shape), 60)]))
		if len(words) > 1 && (words[1] == "TO" || len(words) > 2 && words[2] == "TO") {
			return Other
		}
		return Rollback
	case "XA":
		switch words := strings.Fields(strings.ToUpper(shape[:min(len(shape), 60)])); {
		case len(words) < 2:
		case words[1] == "START" || words[1] == "BEGIN":
			return Begin
		case words[1] == "COMMIT":
			return Commit
		case words[1] == "ROLLBACK":
			return Rollback
		}
	}
	return Other
}
