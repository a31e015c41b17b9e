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
	// keywords are of libpq's other form of an address, and keywordPassword is its password. A value without
	// quotation marks, the last group, ends at a blank that has no backslash before it, which is doubled where
	// the text itself is quoted (PostgreSQL 18 manual, "Keyword/Value Connection Strings").
	keywords        = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\b(?:host|hostaddr|user|dbname|service)\s*=`) })
	keywordPassword = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(password\s*=\s*)(?:''[^']+''|'(?:[^'\\]|\\.)*'|((?:\\\\[^"]|\\.|[^\s"\\])+))`)
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
		text = keywordPassword().ReplaceAllStringFunc(text, func(found string) string {
			of := keywordPassword().FindStringSubmatch(found)
			behind := of[2][len(strings.TrimRight(of[2], `'()[]{}<>,;.:`)):]
			if behind == of[2] { // it is the password
				behind = ""
			}
			return of[1] + "xxxxx" + behind
		})
	}
	return text
}

func redactHolding(address string) string {
	if HoldsPassword(address) {
		return Redact(address)
	}
	return address
}
