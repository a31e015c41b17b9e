package store

import (
	"regexp"
	"strings"
	"sync"
)

var (
	// quotedAddress is an address between quotation marks, in which a password may have blanks, and
	// bareAddress is one up to a blank.
	quotedAddress = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`"[A-Za-z][A-Za-z0-9+.-]*://(?:[^"\\\n]|\\.)*"`)
	})
	bareAddress = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[A-Za-z][A-Za-z0-9+.-]*://[^\s"]+`) })
	// keywords are of libpq's other form of an address, and keywordPassword is its password.
	keywords        = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\b(?:host|hostaddr|user|dbname|service)\s*=`) })
	keywordPassword = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(password\s*=\s*)(?:''[^']+''|'(?:[^'\\]|\\.)*'|[^\s"',;&]+)`)
	})
)

// RedactText returns a text in which each address that holds a password is as Redact has it. libpq's
// keywords and values lose their password, too. What has no password stays as it is.
func RedactText(text string) string {
	text = quotedAddress().ReplaceAllStringFunc(text, func(found string) string {
		return `"` + redactHolding(found[1:len(found)-1]) + `"`
	})
	text = bareAddress().ReplaceAllStringFunc(text, func(found string) string {
		address := strings.TrimRight(found, `'()[]{}<>,;.:`) // what the text has behind it
		return redactHolding(address) + found[len(address):]
	})
	if keywords().MatchString(text) {
		text = keywordPassword().ReplaceAllString(text, "${1}xxxxx")
	}
	return text
}

func redactHolding(address string) string {
	if HoldsPassword(address) {
		return Redact(address)
	}
	return address
}
