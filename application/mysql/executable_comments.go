package mysql

import "strings"

// opened is a text whose executable comments are a part of it where the server of this version does
// what is in them, and blank where it does not (MySQL 8.4 manual, "Comments"; MariaDB Server
// Documentation, "Comment Syntax"). The version is as the comments have it, such as 80403, or 0 where it
// is not known, which does all.
func opened(text string, version int, maria bool) string {
	if !strings.Contains(text, "/*!") && !strings.Contains(text, "/*M!") {
		return text
	}
	var out strings.Builder
	within := false // of a comment that is executed
	for i := 0; i < len(text); {
		rest := text[i:]
		n, keep := 1, true
		switch c := text[i]; {
		case c == '\'' || c == '"' || c == '`':
			n = quoted(rest)
		case c == '#' || strings.HasPrefix(rest, "--") && (len(rest) == 2 || rest[2] <= ' '):
			n = min(upTo(rest, "\n")+1, len(rest))
		case within && strings.HasPrefix(rest, "*/"):
			n, keep, within = 2, false, false
		case strings.HasPrefix(rest, "/*"):
			keep = false
			if head := executed(rest, version, maria); head > 0 {
				n, within = head, true
			} else {
				n = comment(rest)
			}
		}
		if keep {
			out.WriteString(rest[:n])
		} else {
			out.WriteByte(' ')
		}
		i += n
	}
	return out.String()
}

// executed is how long the head is of a comment that the server does; 0 of one that it does not.
func executed(rest string, version int, maria bool) (head int) {
	own := strings.HasPrefix(rest, "/*M!")
	if !own && !strings.HasPrefix(rest, "/*!") || own && !maria {
		return 0
	}
	head = strings.IndexByte(rest, '!') + 1
	digits, wants := 0, 0
	for digits < 6 && head+digits < len(rest) && rest[head+digits] >= '0' && rest[head+digits] <= '9' {
		wants = wants*10 + int(rest[head+digits]-'0')
		digits++
	}
	switch {
	case digits < 5: // a part of what is done
		return head
	case version > 0 && wants > version, maria && !own && wants >= 50700 && wants <= 99999: // which are MySQL's alone
		return 0
	}
	return head + digits
}

// comment is how long one is that is not done; another one may be within it.
func comment(rest string) int {
	end := min(upTo(rest[2:], "*/")+4, len(rest))
	conditional := strings.HasPrefix(rest, "/*!") || strings.HasPrefix(rest, "/*M!")
	if conditional && strings.Contains(rest[2:end], "/*") {
		return min(end+upTo(rest[end:], "*/")+2, len(rest))
	}
	return end
}

// quoted is how long a text in quotes is, whose first byte the quote is. A doubled quote is two texts.
func quoted(rest string) int {
	for i := 1; i < len(rest); i++ {
		switch {
		case rest[i] == '\\' && rest[0] != '`':
			i++
		case rest[i] == rest[0]:
			return i + 1
		}
	}
	return len(rest)
}

// versionOf is a server's version as comments have it, and whether it is MariaDB. Some releases of that
// have 5.5.5- before it, so that replicas of MySQL accept them.
func versionOf(text string) (version int, maria bool) {
	maria = strings.Contains(text, "MariaDB")
	if own, is := strings.CutPrefix(text, "5.5.5-"); is {
		text = own
	}
	parts := strings.SplitN(text, ".", 3)
	for i := range 3 {
		n := 0
		if i < len(parts) {
			for _, c := range parts[i] {
				if c < '0' || c > '9' {
					break
				}
				n = n*10 + int(c-'0')
			}
		}
		version = version*100 + n
	}
	return version, maria
}
