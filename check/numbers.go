package check

import (
	"strconv"

	"assay/internal/quantity"
)

// Count writes a whole number with a comma after every three digits: 23,837.
func Count[T ~int | ~int64 | ~uint32 | ~uint64](n T) string {
	if n < 0 {
		return quantity.Grouped(strconv.FormatInt(int64(n), 10))
	}
	return quantity.Grouped(strconv.FormatUint(uint64(n), 10))
}

// Counted writes a number and the word in its singular or plural: "1 replica", "5,405 inserts".
func Counted[T ~int | ~int64 | ~uint32 | ~uint64](n T, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return Count(n) + " " + many
}

// CountOrNone is Count with "none" for 0, for the beginning of a sentence: "none missed a row".
func CountOrNone[T ~int | ~int64 | ~uint32 | ~uint64](n T) string {
	if n == 0 {
		return "none"
	}
	return Count(n)
}
