package application

import (
	"path"
	"regexp"
	"strings"
	"sync"
)

const secretWords = `password|passwd|passphrase|pwd|secret|token`

var (
	passwords = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(://[^/\s:@'"]*:)[^@\s'"]+@`) })
	secrets   = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)([a-z_-]*(?:pass["']?=|pass["']:|(?:` + secretWords + `)["']?[=:])\s*)('[^']*'|"[^"]*"|[^\s'"&;]+)`)
	})
	mongoForm = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^mongo(?:sh|dump|restore|export|import|stat|top|files)?$`)
	})
	secretName = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)^--?(?:[a-z_-]*(?:` + secretWords + `)[a-z_-]*|(?:[a-z_-]*[_-])?pass)$`)
	})
	secretless = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)^--?(?:no|skip|without)-`) })
	shellWords = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?:[^\s'"]|'[^']*'|"[^"]*")+|['"]`) })
)

const leftOut = "xxxxx"

// redacted is a command as it can be shown: a password in an address, behind its name or behind its
// option is left out.
func redacted(command string) string {
	command = passwords().ReplaceAllString(command, "${1}"+leftOut+"@")
	command = secrets().ReplaceAllString(command, "${1}"+leftOut)
	return withoutOptions(command)
}

// withoutOptions is redacted of what is behind options.
func withoutOptions(command string) string {
	var options passwordOptions
	return shellWords().ReplaceAllStringFunc(command, func(word string) string {
		word = options.word(word)
		if end := len(word) - 1; end > 1 && strings.Contains(`'"`, word[:1]) && word[0] == word[end] && strings.Contains(word, " ") {
			return word[:1] + withoutOptions(word[1:end]) + word[end:] // a command within
		}
		return word
	})
}

func redactedWords(command []string) (all []string) {
	var options passwordOptions
	for _, word := range command {
		if word = options.word(word); word != leftOut {
			word = redacted(word)
		}
		all = append(all, word)
	}
	return all
}

// passwordOptions goes over the words of a command line.
type passwordOptions struct {
	// option is that of the program by which it takes a password, and joined is true if this comes
	// in the same word.
	option       string
	joined, next bool
}

// word is a word as it can be shown.
func (p *passwordOptions) word(word string) string {
	bare := strings.Trim(word, `'"();`)
	if p.next {
		p.next = false
		if bare != "" && !strings.HasPrefix(bare, "-") {
			return leftOut
		}
	}
	switch program := path.Base(bare); {
	case word == "|" || word == "&&" || word == "||" || word == ";":
		p.option = ""
	case strings.HasPrefix(program, "mysql") || strings.HasPrefix(program, "mariadb"):
		p.option, p.joined = "-p", true
	case program == "sshpass" || mongoForm().MatchString(program):
		p.option, p.joined = "-p", false
	case program == "redis-cli" || program == "valkey-cli":
		p.option, p.joined = "-a", false
	case secretName().MatchString(bare) && !secretless().MatchString(bare):
		p.next = true
	case p.option != "" && bare == p.option:
		p.next = !p.joined
	case p.option != "" && strings.HasPrefix(bare, p.option):
		return p.option + leftOut
	}
	return word
}
