package application

import (
	"regexp"
	"sync"
)

var (
	passwords = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(://[^/\s:@'"]*:)[^@\s'"]+@`) })
	secrets   = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)([a-z_-]*(?:password|passwd|pwd|secret|token)[=:]\s*)[^\s'"&;]+`)
	})
)

// redacted is a command as it can be shown: a password in an address or behind its name is left
// out.
func redacted(command string) string {
	command = passwords().ReplaceAllString(command, "${1}xxxxx@")
	return secrets().ReplaceAllString(command, "${1}xxxxx")
}

func redactedWords(command []string) (all []string) {
	for _, word := range command {
		all = append(all, redacted(word))
	}
	return all
}
