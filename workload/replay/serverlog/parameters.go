package serverlog

import "strings"

// usesParameters reports whether a text has $ and a digit in it.
func usesParameters(text string) bool {
	for at := strings.IndexByte(text, '$'); at >= 0 && at+1 < len(text); {
		if isDigit(text[at+1]) {
			return true
		}
		next := strings.IndexByte(text[at+1:], '$')
		if next < 0 {
			return false
		}
		at += 1 + next
	}
	return false
}

// parametersOf reads "parameters: $1 = 'it”s', $2 = NULL"; nil if there is none.
func parametersOf(detail string) []*string {
	const begin = "arameters: "
	at := strings.Index(detail, begin) // Parameters since version 18
	if at < 0 {
		return nil
	}
	rest := detail[at+len(begin):]
	all := []*string{}
	for strings.HasPrefix(rest, "$") {
		_, value, found := strings.Cut(rest, " = ")
		if !found {
			return nil
		}
		if after, null := strings.CutPrefix(value, "NULL"); null {
			all = append(all, nil)
			rest = strings.TrimPrefix(after, ", ")
			continue
		}
		text, after, ok := unquote(value)
		if !ok {
			return nil
		}
		all = append(all, &text)
		rest = strings.TrimPrefix(after, ", ")
	}
	return all
}

// unquote reads a text in quotes, two of which stand for one. One that was cut
// (log_parameter_max_length) is not ok.
func unquote(s string) (text, rest string, ok bool) {
	if s == "" || s[0] != '\'' {
		return "", "", false
	}
	for i := 1; i < len(s); i++ {
		if s[i] != '\'' {
			continue
		}
		if i+1 < len(s) && s[i+1] == '\'' {
			i++
			continue
		}
		text = s[1:i]
		if strings.Contains(text, "''") {
			text = strings.ReplaceAll(text, "''", "'")
		}
		return text, s[i+1:], !strings.HasPrefix(s[i+1:], "...")
	}
	return "", "", false
}
