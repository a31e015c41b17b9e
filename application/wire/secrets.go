package wire

import (
	"encoding/hex"
	"hash/maphash"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// secretWords are in the shapes of statements whose values may be passwords.
func secretWords() []string {
	return []string{"PASSWORD", "PASSWD", "PASSPHRASE", "PWD", "SECRET", "TOKEN", "IDENTIFIED"}
}

// secretForm is a value with a password within: of a connection's text, an address, or a statement.
var secretForm = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)(?:` + strings.Join(secretWords(), "|") + `)\w*["']?\s*(?:[=:'"$]|by\b|to\b)|://[^/\s:@]*:[^@\s]+@`)
})

// secret reports whether the values of a statement may be passwords, by its shape.
func secret(shape string) bool {
	return slices.ContainsFunc(secretWords(), func(word string) bool { return has(shape, word) })
}

// holdsSecret reports whether a value has a password within. Few values are worth the expression's time.
func holdsSecret(value string) bool {
	if digits, is := strings.CutPrefix(value, inBytes); is {
		shown, _ := hex.DecodeString(digits) // up to what is no digit
		value = string(shown)
	}
	return (secret(value) || strings.Contains(value, "://")) && secretForm().MatchString(value)
}

// conceal has each value that may be a password, or has one within, be a mark that tells only whether
// two are the same, in one process. The last three characters are those of a value that is not whole.
// all says that each may be one.
func (s *Statement) conceal(all bool) {
	if all && s.Answer != nil {
		s.Answer.hidden = true
	}
	if !all && !slices.ContainsFunc(s.Values, holdsSecret) {
		return
	}
	s.Values = slices.Clone(s.Values) // others may have them, too
	for i, v := range s.Values {
		if all && v != Null || holdsSecret(v) {
			s.Values[i] = concealed + strconv.FormatUint(maphash.String(seed(), v), 36) + cut
		}
	}
}

const concealed = "hidden "

// Concealed reports whether a value is a mark in the place of one that may be a password: it can be
// compared with other marks alone.
func Concealed(value string) bool {
	return strings.HasPrefix(value, concealed) && strings.HasSuffix(value, cut)
}

// concealError leaves the server's code alone of an error that may quote a password.
func (s *Statement) concealError() {
	if s.Error != "" && (secret(s.Shape) || slices.ContainsFunc(s.Values, Concealed)) {
		code, _, _ := strings.Cut(s.Error, " ")
		s.Error = code + " (assay leaves out the words, which may quote a password)"
	}
}
