package statement

import "strings"

// marks are what a text has beside a password, in lower case: words of the statements and
// functions that take one, and names of settings that hold one.
func marks() []string {
	return []string{"password", "passwd", "passphrase", "pwd", "identified", "secret", "credential", "crypt", "pgp_", "hmac", "dblink", "api_key", "apikey",
		"auth_token", "access_token"}
}

var firstLetters = func() (set [256]bool) {
	for _, m := range marks() {
		set[m[0]], set[m[0]-'a'+'A'] = true, true
	}
	return set
}()

// mark is where a mark is in a text, and where it ends; -1 if there is none.
func mark(text string) (at, end int) {
	for i := 0; i < len(text); i++ {
		if !firstLetters[text[i]] {
			continue
		}
		for _, m := range marks() {
			if len(text)-i >= len(m) && strings.EqualFold(text[i:i+len(m)], m) {
				return i, i + len(m)
			}
		}
	}
	return -1, -1
}

func marked(text string) bool {
	at, _ := mark(text)
	return at >= 0
}

// HoldsSecret reports whether a statement carries a password or the like: one that gives or sets
// it, a call of a function that takes it, and a string or an address that has it. A query or
// a change of rows is not one for the name of a column alone: what it compares or writes
// there is a value like others. Of a statement that it does not know it errs on the side of
// yes.
func HoldsSecret(text string, d Dialect) bool {
	if addressWithPassword(text) {
		return true
	}
	if !marked(text) {
		return false
	}
	s := scanner{text: text, dialect: d}
	var words []token // of one statement, without comments
	for {
		t, found := s.next()
		switch {
		case !found:
			return secretStatement(text, words)
		case t.kind == comment:
			if holdsSecretValue(text[t.start:t.end]) {
				return true
			}
		case t.kind == sign && text[t.start] == ';':
			if secretStatement(text, words) {
				return true
			}
			words = words[:0]
		default:
			words = append(words, t)
		}
	}
}

func secretStatement(all string, tokens []token) bool {
	plain := ofRows(all, tokens)
	for i, t := range tokens {
		own := all[t.start:t.end]
		switch {
		case !plain && marked(own):
			return true
		case t.kind == text && holdsSecretValue(own):
			return true
		case t.kind == text && i > 0 && tokens[i-1].kind == word && strings.EqualFold(all[tokens[i-1].start:tokens[i-1].end], "password"):
			return true // as a statement gives it that this is not, such as one with a mistake
		case (t.kind == word || t.kind == quoted) && i+1 < len(tokens) && all[tokens[i+1].start] == '(' && takesSecret(strings.Trim(own, "\"`")) && !namesTable(all, tokens[:i]):
			return true
		}
	}
	return false
}

// ofRows reports whether a statement is about rows or about tables, and so names columns.
func ofRows(all string, tokens []token) bool {
	var first []string
	for _, t := range tokens {
		if own := all[t.start:t.end]; t.kind != sign {
			if first = append(first, strings.ToLower(own)); len(first) == 6 {
				break
			}
		}
	}
	if len(first) == 0 {
		return true
	}
	switch first[0] {
	case "select", "insert", "update", "delete", "replace", "with", "values", "table", "merge", "explain", "declare", "truncate", "analyze", "vacuum", "lock",
		"prepare", "execute":
		return !strings.Contains(strings.ToLower(all), "set_config")
	case "create", "alter", "drop":
		for _, w := range first[1:] {
			switch w {
			case "or", "replace", "temp", "temporary", "unlogged", "unique", "global", "local", "materialized":
				continue
			case "table", "index", "view", "type", "sequence":
				return true
			}
			return false
		}
	}
	return false
}

// takesSecret reports whether a function has a password or a key among what it is given.
func takesSecret(name string) bool {
	name = strings.ToLower(name)
	switch name {
	case "crypt", "encrypt", "decrypt", "encrypt_iv", "decrypt_iv", "aes_encrypt", "aes_decrypt", "des_encrypt", "des_decrypt", "hmac":
		return true
	}
	return strings.Contains(name, "password") || strings.HasPrefix(name, "dblink") || strings.HasPrefix(name, "pgp_")
}

// namesTable reports whether the name that follows these tokens is one of a table or the like,
// whose columns are then in parentheses.
func namesTable(all string, before []token) bool {
	n := len(before)
	for n >= 2 && all[before[n-1].start] == '.' {
		n -= 2
	}
	if n == 0 {
		return false
	}
	switch strings.ToLower(all[before[n-1].start:before[n-1].end]) {
	case "into", "insert", "ignore", "replace", "table", "exists", "on", "references", "with", "recursive", "as", "view", "index", "key":
		return true
	}
	return false
}

// MayHoldSecret reports whether a password or the like may be in a value, or in a message of a
// server: beside a word for it, as in password=x, "secret": "x" or password 'x', or in an address.
func MayHoldSecret(value string) bool {
	return addressWithPassword(value) || holdsSecretValue(value)
}

func holdsSecretValue(value string) bool {
	for {
		at, end := mark(value)
		if at < 0 {
			return false
		}
		named := strings.ToLower(value[at:end])
		value = value[end:]
		rest := strings.TrimLeft(value, " \t\r\n\\\"'`")
		spaced := strings.TrimLeft(value, " \t\r\n")
		switch {
		case rest != "" && (rest[0] == '=' || rest[0] == ':'),
			len(spaced) < len(value) && spaced != "" && (spaced[0] == '\'' || spaced[0] == '$'),
			named == "identified":
			return true
		case rest != "" && rest[0] == '(' && named != "secret" && named != "credential":
			return true // a call within a text that is executed
		}
	}
}

// addressWithPassword reports whether an address with a password is in a text,
// scheme://user:password@host.
func addressWithPassword(text string) bool {
	for {
		_, rest, is := strings.Cut(text, "://")
		if !is {
			return false
		}
		end := strings.IndexAny(rest, "/ \t\r\n'\"")
		if end < 0 {
			end = len(rest)
		}
		user, _, named := strings.Cut(rest[:end], "@")
		// A password may have any of the characters above in it, so that an @ may come later.
		if named && strings.Contains(user, ":") || !named && strings.Contains(rest[:end], ":") && strings.Contains(rest, "@") {
			return true
		}
		text = rest
	}
}
