package check

import (
	"strconv"

	"assay/internal/quantity"
)

// Count writes a whole number with a comma between each three digits, as all
// reports and all evidence do: 23,837.
func Count[T ~int | ~int64 | ~uint32 | ~uint64](n T) string {
	if n < 0 {
		return quantity.Grouped(strconv.FormatInt(int64(n), 10))
	}
	return quantity.Grouped(strconv.FormatUint(uint64(n), 10))
}

// Counted puts a number before a word, in the form that belongs to it: "1
// replica", "5,405 inserts".
func Counted[T ~int | ~int64 | ~uint32 | ~uint64](n T, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return Count(n) + " " + many
}

// CountOrNone is Count with "none" for 0, for where a sentence begins with what
// went wrong: "none missed a row".
func CountOrNone[T ~int | ~int64 | ~uint32 | ~uint64](n T) string {
	if n == 0 {
		return "none"
	}
	return Count(n)
}
