// Package spelling describes which known word a user may have meant by one that is
// not known.
//
// It does not depend on what the words stand for.
package spelling

import (
	"strings"

	"github.com/agnivade/levenshtein"
)

// Nearest returns the known word that is the fewest edits away from text, the
// first of several; found is false if none is near enough: two edits for words
// of five letters and more, one for shorter ones, two swapped letters being one, capitals and small letters
// being the same. The word itself is no answer.
func Nearest(text string, known []string) (nearest string, found bool) {
	small := strings.ToLower(text)
	least := 3
	if len(text) < 5 {
		least = 2
	}
	for _, word := range known {
		lower := strings.ToLower(word)
		d := levenshtein.ComputeDistance(small, lower)
		if swapped(small, lower) {
			d = 1
		}
		if d < least && d < len(lower)-1 && word != text {
			nearest, least, found = word, d, true
		}
	}
	return nearest, found
}

// swapped reports whether two neighbouring letters in the wrong order are all
// the difference: one mistake of a typist, and two edits.
func swapped(a, b string) bool {
	if len(a) != len(b) {
		return false
	}
	for i := 0; i+1 < len(a); i++ {
		if a[i] != b[i] {
			return a[i] == b[i+1] && a[i+1] == b[i] && a[i+2:] == b[i+2:]
		}
	}
	return false
}

// Hint is "; did you mean X?" with the word that Nearest finds, written behind
// prefix, or nothing.
func Hint(text, prefix string, known []string) string {
	if nearest, found := Nearest(text, known); found {
		return "; did you mean " + prefix + nearest + "?"
	}
	return ""
}
