package pgbench

import "strings"

// CommentLength is how many bytes the comment has that a text begins with, and which may have
// others in it; 0 if it does not end.
func CommentLength(text string) int {
	depth := 0
	for end := 0; end < len(text); {
		switch {
		case strings.HasPrefix(text[end:], "/*"):
			depth++
			end += 2
		case strings.HasPrefix(text[end:], "*/"):
			depth--
			end += 2
		default:
			end++
		}
		if depth == 0 {
			return end
		}
	}
	return 0
}

// QuotedLength is how many bytes of a text its first quote encloses, with the quotes; in between
// the quote is written twice. In an E string a backslash escapes the next character, and it goes
// on behind a new line. It is 0 if the quote does not end.
func QuotedLength(text string, escapes bool) int {
	for end := 1; end < len(text); end++ {
		switch {
		case escapes && text[end] == '\\':
			end++
		case text[end] != text[0]:
		case end+1 < len(text) && text[end+1] == text[0]:
			end++
		default:
			rest := text[end+1:]
			next := strings.TrimLeft(rest, " \t\n\r\f")
			space := rest[:len(rest)-len(next)]
			if !escapes || !strings.HasPrefix(next, "'") || !strings.ContainsAny(space, "\n\r") {
				return end + 1
			}
			if more := QuotedLength(next, escapes); more > 0 {
				return end + 1 + len(space) + more
			}
			return 0
		}
	}
	return 0
}

// DollarTag is the beginning of a text in dollar quotes, such as $$ or $body$; empty if it
// is none.
func DollarTag(text string) string {
	if text == "" || text[0] != '$' {
		return ""
	}
	n := 1
	if len(text) > 1 && beginsName(text[1]) {
		n += nameLength(text[1:], false)
	}
	if n < len(text) && text[n] == '$' {
		return text[:n+1]
	}
	return ""
}

// DollarLength is how many bytes the text in dollar quotes has that a text begins with; 0 if it
// does not end.
func DollarLength(text string) int {
	tag := DollarTag(text)
	end := strings.Index(text[len(tag):], tag)
	if end < 0 {
		return 0
	}
	return end + 2*len(tag)
}
