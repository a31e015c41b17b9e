package sqldb

import (
	"regexp"
	"strconv"
	"strings"
)

const shownQuery = 80

// WithoutLiterals is the quoted beginning of somebody's statement, without its texts and numbers,
// which may be data or a password.
func WithoutLiterals(text string) string {
	literals := regexp.MustCompile(`(?s)'(?:[^']|'')*(?:'|$)|"(?:[^"]|"")*(?:"|$)|\$(\w*)\$.*|\b[0-9][0-9.]*\b`)
	text = strings.Join(strings.Fields(literals.ReplaceAllString(text, "?")), " ")
	if runes := []rune(text); len(runes) > shownQuery {
		text = string(runes[:shownQuery]) + "..."
	}
	return strconv.Quote(text)
}
