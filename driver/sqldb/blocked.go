package sqldb

import (
	"regexp"
	"strconv"
	"strings"
)

// shownQuery is how much of a statement of others is shown.
const shownQuery = 80

// WithoutLiterals is the beginning of a statement, in quotes, without the texts and numbers
// in it, which are somebody's data or a password.
func WithoutLiterals(text string) string {
	literals := regexp.MustCompile(`(?s)'(?:[^']|'')*(?:'|$)|"(?:[^"]|"")*(?:"|$)|\$(\w*)\$.*|\b[0-9][0-9.]*\b`)
	text = strings.Join(strings.Fields(literals.ReplaceAllString(text, "?")), " ")
	if runes := []rune(text); len(runes) > shownQuery {
		text = string(runes[:shownQuery]) + "..."
	}
	return strconv.Quote(text)
}
