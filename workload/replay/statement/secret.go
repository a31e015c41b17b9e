package statement

import "strings"

// marks are what a text has beside a password, in lower case: words of the statements and
// functions that take one, names of columns that hold one, and parts of addresses.
func marks() []string {
	return []string{"password", "passwd", "passphrase", "pwd", "identified", "secret", "credential", "crypt", "pgp_sym", "dblink", "api_key", "apikey",
		"auth_token", "access_token"}
}

var firstLetters = func() (set [256]bool) {
	for _, m := range marks() {
		set[m[0]], set[m[0]-'a'+'A'] = true, true
	}
	set[':'] = true // of ://user:password@
	return set
}()

// MayHoldSecret reports whether a password or the like may be in a text: in a statement, in a
// parameter, or in a message about one. It errs on the side of yes: a statement that names a
// column called password may hold one.
func MayHoldSecret(text string) bool {
	for i := 0; i < len(text); i++ {
		if !firstLetters[text[i]] {
			continue
		}
		if text[i] == ':' {
			if addressWithPassword(text[i:]) {
				return true
			}
			continue
		}
		for _, m := range marks() {
			if len(text)-i >= len(m) && strings.EqualFold(text[i:i+len(m)], m) {
				return true
			}
		}
	}
	return false
}

// addressWithPassword reports whether a text goes on as an address does behind its scheme,
// ://user:password@host.
func addressWithPassword(rest string) bool {
	rest, is := strings.CutPrefix(rest, "://")
	if !is {
		return false
	}
	end := strings.IndexAny(rest, "/ \t\r\n'\"")
	if end < 0 {
		end = len(rest)
	}
	user, _, named := strings.Cut(rest[:end], "@")
	// A password may have any of the characters above in it, so that an @ may come later.
	return named && strings.Contains(user, ":") || !named && strings.Contains(rest[:end], ":") && strings.Contains(rest, "@")
}
