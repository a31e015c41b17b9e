package pgbench

import "strings"

// CommentLength is in bytes, of the comment that begins the text; 0 if it does not end. Comments
// nest.
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

// QuotedLength is in bytes, of the quoted text that begins the text; 0 if it does not end. A
// quote is written twice. With escapes (E strings) a backslash escapes.
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

// DollarTag is the opening dollar quote, such as $$ or $body$; empty if there is none.
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

// DollarLength is the length in bytes of the dollar-quoted text; 0 if it does not end.
func DollarLength(text string) int {
	tag := DollarTag(text)
	end := strings.Index(text[len(tag):], tag)
	if end < 0 {
		return 0
	}
	return end + 2*len(tag)
}
