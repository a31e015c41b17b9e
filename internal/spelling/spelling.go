// Package spelling suggests the known word that a user may have meant by an unknown one.
//
// It does not depend on the words' meaning.
package spelling

import (
	"strings"

	"github.com/agnivade/levenshtein"
)

// Nearest returns the first known word with the fewest edits from text: at most one, or two for
// words of five letters or more. Swapped letters are one edit, and case does not matter. text
// itself is no answer.
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

// swapped reports whether two neighbouring letters in the wrong order are the only difference:
// one mistake of a typist, and two edits.
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

// Hint is "; did you mean X?" with prefix and the word of Nearest, or empty.
func Hint(text, prefix string, known []string) string {
	if nearest, found := Nearest(text, known); found {
		return "; did you mean " + prefix + nearest + "?"
	}
	return ""
}
