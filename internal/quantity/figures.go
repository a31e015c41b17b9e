package quantity

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// None stands for an unknown figure.
const None = "-"

// Known writes a value, or None for nil.
func Known[V any](v *V, format func(V) string) string {
	if v == nil {
		return None
	}
	return format(*v)
}

// AtLeast precedes a figure that was cut and is a lower bound.
const AtLeast = "at least "

// Lasted writes milliseconds, which may have been cut; negative ones are unknown.
func Lasted(ms float64, cut bool) string {
	switch {
	case ms < 0:
		return None
	case cut:
		return AtLeast + Milliseconds(ms)
	}
	return Milliseconds(ms)
}

// Figure writes three significant digits or more, and the whole integer part: 0.0123, 45.2,
// 2,263.
func Figure(v float64) string {
	size := math.Abs(v)
	switch {
	case math.IsNaN(v) || math.IsInf(v, 0):
		return None
	case v == 0:
		return "0"
	case size < 0.001 || size >= 1e15:
		return strconv.FormatFloat(v, 'g', 3, 64)
	}
	// Rounding first decides how many digits are left of the point: 99.96 is 100, not 100.0.
	rounded, _ := strconv.ParseFloat(strconv.FormatFloat(size, 'g', 3, 64), 64)
	decimals := max(0, 2-int(math.Floor(math.Log10(rounded))))
	return Grouped(strconv.FormatFloat(v, 'f', decimals, 64))
}

// Short is Figure without zeros at the end: 60 instead of 60.0.
func Short(v float64) string {
	text := Figure(v)
	if !strings.Contains(text, ".") || strings.ContainsRune(text, 'e') {
		return text
	}
	return strings.TrimRight(strings.TrimRight(text, "0"), ".")
}

// scaled picks the first unit whose limit exceeds the rounded v: 999.96 ms becomes 1.00 s.
func scaled(v float64, units []scaleUnit) string {
	for i, u := range units {
		text := Figure(v / u.size)
		rounded, err := strconv.ParseFloat(strings.ReplaceAll(text, ",", ""), 64)
		if i == len(units)-1 || (err == nil && math.Abs(rounded) < u.below) {
			return text + " " + u.name
		}
	}
	return None
}

// scaleUnit is one step of a scale, for values of less than below units.
type scaleUnit struct {
	name  string
	size  float64
	below float64
}

// Milliseconds writes a time given in milliseconds.
func Milliseconds(ms float64) string {
	if math.IsNaN(ms) || math.IsInf(ms, 0) {
		return None
	}
	if ms == 0 {
		return "0 ms"
	}
	return scaled(ms, []scaleUnit{{"µs", 1e-3, 1000}, {"ms", 1, 1000}, {"s", 1000, 0}})
}

// Seconds writes a length of time as people say it.
func Seconds(s float64) string {
	switch {
	case math.IsNaN(s) || math.IsInf(s, 0):
		return None
	case s != 0 && math.Abs(s) < 1:
		return Milliseconds(s * 1000)
	case s < 60:
		return Short(s) + " s"
	case s >= 1e15:
		return Figure(s) + " s"
	}
	whole := int64(math.Round(s))
	parts := []struct {
		name string
		n    int64
	}{{"d", whole / 86400}, {"h", whole / 3600 % 24}, {"min", whole / 60 % 60}, {"s", whole % 60}}
	var words []string
	for _, p := range parts {
		if p.n > 0 {
			words = append(words, strconv.FormatInt(p.n, 10)+" "+p.name)
		}
	}
	// Two units are enough: no reader needs the seconds of a day.
	return strings.Join(words[:min(2, len(words))], " ")
}

// Duration writes a time for flags and faults, without units that are 0: 1m instead of 1m0s.
func Duration(d time.Duration) string {
	text := d.String()
	for _, unit := range []string{"m0s", "h0m"} {
		if n := len(text) - len(unit); n > 0 && text[n:] == unit {
			text = text[:n+1]
		}
	}
	return text
}

// Bytes writes bytes on disk in decimal units, as disks are sold.
func Bytes(n int64) string {
	if n > -1000 && n < 1000 {
		return strconv.FormatInt(n, 10) + " B"
	}
	return scaled(float64(n), []scaleUnit{
		{"kB", 1e3, 1000}, {"MB", 1e6, 1000}, {"GB", 1e9, 1000}, {"TB", 1e12, 0},
	})
}

// Memory writes bytes of memory in binary units, as memory is sold.
func Memory(n int64) string {
	const k = 1024.0
	text := scaled(float64(n), []scaleUnit{
		{"KiB", k, 1024}, {"MiB", k * k, 1024}, {"GiB", k * k * k, 1024}, {"TiB", k * k * k * k, 0},
	})
	number, name, _ := strings.Cut(text, " ")
	if strings.Contains(number, ".") {
		number = strings.TrimRight(strings.TrimRight(number, "0"), ".")
	}
	return number + " " + name
}

// Grouped puts commas into the integer part of a decimal number.
func Grouped(number string) string {
	sign := ""
	if strings.HasPrefix(number, "-") {
		sign, number = "-", number[1:]
	}
	whole, fraction, found := strings.Cut(number, ".")
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if found {
		whole += "." + fraction
	}
	return sign + whole
}
