package statement

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// maxFingerprint bounds a fingerprint, in bytes.
const maxFingerprint = 2000

// Fingerprint is the statement without its values: strings, numbers and parameters are ?,
// lists of them are one, and comments, spaces and the case of words do not count. No value of
// the text is in it but names.
func Fingerprint(statement string, dialect Dialect) string {
	f := fingerprint{parts: make([]string, 0, 32), glued: make([]bool, 0, 32)}
	s := scanner{text: statement, dialect: dialect}
	end := -1
	for {
		t, found := s.next()
		if !found {
			break
		}
		if t.kind == comment {
			continue
		}
		f.add(statement[t.start:t.end], t.kind, t.start == end)
		end = t.end
	}
	return f.join()
}

// fingerprint gathers the parts of one.
type fingerprint struct {
	parts []string
	// glued is whether a part follows the one before without a space.
	glued []bool
	kinds []kind
}

const value = "?"

func (f *fingerprint) add(part string, k kind, glued bool) {
	switch k {
	case text, number, parameter:
		part = value
		f.dropSign()
		if f.inList() {
			f.cut(1) // ?, ? is ?
			return
		}
	case word:
		part = strings.ToLower(part)
	}
	f.parts, f.glued, f.kinds = append(f.parts, part), append(f.glued, glued), append(f.kinds, k)
	if part == ")" {
		f.dropRow()
	}
}

func (f *fingerprint) last(back int) string {
	if len(f.parts) < back {
		return ""
	}
	return f.parts[len(f.parts)-back]
}

func (f *fingerprint) cut(n int) {
	f.parts, f.glued, f.kinds = f.parts[:len(f.parts)-n], f.glued[:len(f.glued)-n], f.kinds[:len(f.kinds)-n]
}

// dropSign takes away the minus of a negative number.
func (f *fingerprint) dropSign() {
	if f.last(1) != "-" {
		return
	}
	switch before := f.last(2); {
	case before == "" || before == "(" || before == "," || before == "=", len(f.kinds) > 1 && f.kinds[len(f.kinds)-2] == operator:
		f.cut(1)
	}
}

// inList reports whether a value follows another one in a list within parentheses.
func (f *fingerprint) inList() bool {
	return f.last(1) == "," && f.last(2) == value && f.last(3) == "("
}

// dropRow takes away a row of values behind an equal one, as in VALUES (?), (?).
func (f *fingerprint) dropRow() {
	begin := len(f.parts) - 1
	for begin >= 0 && f.parts[begin] != "(" {
		if begin--; begin >= 0 && f.parts[begin] == ")" {
			return
		}
	}
	row := len(f.parts) - begin
	if before := begin - 1 - row; begin > 0 && before >= 0 && f.parts[begin-1] == "," && slices.Equal(f.parts[before:begin-1], f.parts[begin:]) {
		f.cut(row + 1)
	}
}

func (f *fingerprint) join() string {
	var b strings.Builder
	for f.last(1) == ";" {
		f.cut(1)
	}
	for i, part := range f.parts {
		if i > 0 && f.spaced(i) {
			b.WriteByte(' ')
		}
		if b.Len()+len(part) > maxFingerprint {
			return b.String()[:cutAt(b.String(), maxFingerprint)] + "…"
		}
		b.WriteString(part)
	}
	return b.String()
}

// cutAt is the last byte before n that ends a character.
func cutAt(s string, n int) int {
	n = min(n, len(s))
	for n > 0 && n < len(s) && !utf8.RuneStart(s[n]) {
		n--
	}
	return n
}

func (f *fingerprint) spaced(i int) bool {
	switch part, before := f.parts[i], f.parts[i-1]; {
	case part == "," || part == ")" || part == ";" || part == "." || part == ":" || part == "[" || part == "]":
		return false
	case before == "(" || before == "." || before == ":" || before == "[":
		return false
	case part == "(":
		return !f.glued[i]
	}
	return true
}
