package report

import (
	"math"
	"strconv"
	"strings"
	"unicode"

	"assay/check"
)

// none stands for a fact that nobody knows.
const none = "-"

// nbsp keeps a figure and its unit on one line. The terminal summary and
// Markdown turn it into a space once lines are broken.
const nbsp = "\u00a0"

// figure writes a number with at least three significant digits and all of
// its whole part: 0.0123, 7.03, 45.2, 2,263.
func figure(v float64) string {
	size := math.Abs(v)
	switch {
	case math.IsNaN(v) || math.IsInf(v, 0):
		return none
	case v == 0:
		return "0"
	case size < 0.001 || size >= 1e15:
		return strconv.FormatFloat(v, 'g', 3, 64)
	}
	// Rounding first decides how many digits are left of the point: 99.96 is
	// 100, not 100.0.
	rounded, _ := strconv.ParseFloat(strconv.FormatFloat(size, 'g', 3, 64), 64)
	decimals := max(0, 2-int(math.Floor(math.Log10(rounded))))
	return check.Grouped(strconv.FormatFloat(v, 'f', decimals, 64))
}

// short is figure without zeros at the end: 60 instead of 60.0.
func short(v float64) string {
	text := figure(v)
	if !strings.Contains(text, ".") || strings.ContainsRune(text, 'e') {
		return text
	}
	return strings.TrimRight(strings.TrimRight(text, "0"), ".")
}

// scaled writes v in the first unit in which it is below that unit's limit.
// Limits are compared after rounding, so that 999.96 ms becomes 1.00 s.
func scaled(v float64, units []unit) string {
	for i, u := range units {
		text := figure(v / u.size)
		rounded, err := strconv.ParseFloat(strings.ReplaceAll(text, ",", ""), 64)
		if i == len(units)-1 || (err == nil && math.Abs(rounded) < u.below) {
			return text + nbsp + u.name
		}
	}
	return none
}

// unit is one step of a scale: values below this many of it are written in it.
type unit struct {
	name  string
	size  float64
	below float64
}

// millis writes a time given in milliseconds.
func millis(ms float64) string {
	if math.IsNaN(ms) || math.IsInf(ms, 0) {
		return none
	}
	if ms == 0 {
		return "0" + nbsp + "ms"
	}
	return scaled(ms, []unit{{"µs", 1e-3, 1000}, {"ms", 1, 1000}, {"s", 1000, 0}})
}

// seconds writes a length of time as people say it.
func seconds(s float64) string {
	switch {
	case math.IsNaN(s) || math.IsInf(s, 0):
		return none
	case s != 0 && math.Abs(s) < 1:
		return millis(s * 1000)
	case s < 60:
		return short(s) + nbsp + "s"
	case s >= 1e15:
		return figure(s) + nbsp + "s"
	}
	whole := int64(math.Round(s))
	parts := []struct {
		name string
		n    int64
	}{{"d", whole / 86400}, {"h", whole / 3600 % 24}, {"min", whole / 60 % 60}, {"s", whole % 60}}
	var words []string
	for _, p := range parts {
		if p.n > 0 {
			words = append(words, strconv.FormatInt(p.n, 10)+nbsp+p.name)
		}
	}
	// Two units are enough: nobody needs the seconds of a day.
	return strings.Join(words[:min(2, len(words))], nbsp)
}

// size writes bytes on disk in decimal units, as disks are sold.
func size(n int64) string {
	if n > -1000 && n < 1000 {
		return strconv.FormatInt(n, 10) + nbsp + "B"
	}
	return scaled(float64(n), []unit{
		{"kB", 1e3, 1000}, {"MB", 1e6, 1000}, {"GB", 1e9, 1000}, {"TB", 1e12, 0},
	})
}

// memory writes bytes of memory in binary units, as memory is sold.
func memory(n int64) string {
	const k = 1024.0
	text := scaled(float64(n), []unit{
		{"KiB", k, 1024}, {"MiB", k * k, 1024}, {"GiB", k * k * k, 1024}, {"TiB", k * k * k * k, 0},
	})
	number, name, _ := strings.Cut(text, nbsp)
	if strings.Contains(number, ".") {
		number = strings.TrimRight(strings.TrimRight(number, "0"), ".")
	}
	return number + nbsp + name
}

// percent writes part of whole. It says 0 and 100 only where that is exactly
// so: one operation of a million that is missing must not be rounded away.
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

// plain replaces what could steer a terminal or break a line: text may come
// from a database.
func plain(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case string(r) == nbsp:
			return r
		case unicode.IsSpace(r):
			return ' '
		case unicode.IsControl(r) || unicode.Is(unicode.Cf, r):
			return '\uFFFD'
		}
		return r
	}, s)
}
