package report

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"assay/internal/quantity"
)

const none = quantity.None

// nbsp keeps a figure and its unit on one line. Terminal and Markdown replace it by a space after
// lines are broken.
const nbsp = "\u00a0"

func figure(v float64) string            { return quantity.Figure(v) }
func short(v float64) string             { return quantity.Short(v) }
func millis(ms float64) string           { return unbroken(quantity.Milliseconds(ms)) }
func lasted(ms float64, cut bool) string { return unbroken(quantity.Lasted(ms, cut)) }
func seconds(s float64) string           { return unbroken(quantity.Seconds(s)) }
func size(n int64) string                { return unbroken(quantity.Bytes(n)) }
func memory(n int64) string              { return unbroken(quantity.Memory(n)) }

func unbroken(text string) string { return strings.ReplaceAll(text, " ", nbsp) }

// percent says 0 and 100 only if that is exact: one missing operation of a million must show.
func percent(part, whole int64) string {
	if whole <= 0 {
		return none
	}
	share := float64(part) / float64(whole) * 100
	switch {
	case part == 0:
		return "0" + nbsp + "%"
	case part == whole:
		return "100" + nbsp + "%"
	case share < 0.01:
		return "<0.01" + nbsp + "%"
	case share > 99.99:
		return ">99.99" + nbsp + "%"
	}
	return strconv.FormatFloat(share, 'f', 2, 64) + nbsp + "%"
}

// plain removes control characters and line breaks: text from a database could steer a terminal.
func plain(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case string(r) == nbsp:
			return r
		case unicode.IsSpace(r):
			return ' '
		case unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == '\uFFFE' || r == '\uFFFF': // XML cannot hold the last two
			return '\uFFFD'
		}
		return r
	}, s)
}

// CommandLine quotes a command's words for a shell.
func CommandLine(args []string) string {
	plain := func(c rune) bool {
		return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.ContainsRune("-_./,:+", c)
	}
	words := slices.Clone(args)
	for i, word := range words {
		if word == "" || strings.ContainsFunc(word, func(c rune) bool { return !plain(c) }) {
			words[i] = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
		}
	}
	return strings.Join(words, " ")
}

// cut shortens text to at most this many letters.
func cut(text string, most int) string {
	runes := []rune(plain(text))
	if len(runes) <= most {
		return string(runes)
	}
	return string(runes[:most-1]) + "…"
}

// tenth rounds to a tenth of a pixel, which is not seen.
func tenth(v float64) float64 { return math.Round(v*10)/10 + 0 } // 0 instead of -0
