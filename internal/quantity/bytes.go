// Package quantity reads sizes as users give them (400MiB, 1.5GB, 500kB), and writes figures,
// times and sizes with their units (1.48 ms, 2,263, 31.5 MB).
//
// It imports no other package of assay and sets no limits to sizes.
package quantity

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// unit is a power of two (IEC 80000-13) or of ten (SI) of bytes.
type unit struct {
	name  string
	bytes int64
}

func binary() []unit { return []unit{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}} }

// all ends with B, because every other name ends in it.
func all() []unit {
	return append(binary(), unit{"GB", 1e9}, unit{"MB", 1e6}, unit{"kB", 1e3}, unit{"B", 1})
}

// Parse reads bytes from 0 to less than 2^60, such as 400MiB, 1.5GiB or 20MB, rounded to a whole
// number. A bare number is bytes. No space may precede the unit, and case matters.
func Parse(text string) (bytes int64, err error) {
	number, factor := text, int64(1)
	for _, u := range all() {
		if rest, found := strings.CutSuffix(text, u.name); found {
			number, factor = rest, u.bytes
			break
		}
	}
	bytes, err = parse(number, factor)
	if err != nil {
		return 0, fmt.Errorf("%q is not a size, such as 400MiB", text)
	}
	return bytes, nil
}

func parse(number string, factor int64) (int64, error) {
	n, err := strconv.ParseFloat(number, 64)
	if err != nil || !(n >= 0 && n*float64(factor) < 1<<60) {
		return 0, strconv.ErrRange
	}
	return int64(math.Round(n * float64(factor))), nil
}

// Format writes bytes in the first unit that gives a whole number, powers of two first: 1MiB,
// 1500kB, 1025B. Parse reads it back exactly.
func Format(bytes int64) string { return format(bytes, all()) }

// FormatBinary is Format with powers of two alone, or a bare number such as 1025.
func FormatBinary(bytes int64) string { return format(bytes, binary()) }

func format(n int64, units []unit) string {
	for _, u := range units {
		if n > 0 && n%u.bytes == 0 {
			return strconv.FormatInt(n/u.bytes, 10) + u.name
		}
	}
	return strconv.FormatInt(n, 10)
}

func bits() []unit { return []unit{{"Gbit", 1e9}, {"Mbit", 1e6}, {"kbit", 1e3}, {"bit", 1}} }

// ParseBits is Parse for bits, such as 1Gbit, 100Mbit or 500kbit. A bare number is refused.
func ParseBits(text string) (n int64, err error) {
	for _, u := range bits() {
		if rest, found := strings.CutSuffix(text, u.name); found {
			if n, err := parse(rest, u.bytes); err == nil {
				return n, nil
			}
			break
		}
	}
	return 0, fmt.Errorf("%q is not a number of bits, such as 1Gbit", text)
}

// FormatBits is Format for bits.
func FormatBits(n int64) string { return format(n, bits()) }
