package store

import (
	"errors"
	"net/url"
	"slices"
	"strings"
)

// Redact returns a printable form of an address: "xxxxx" replaces the password and query
// parameters that may be secret. An address that cannot be parsed is reduced to its scheme,
// because it may hold a password anywhere.
func Redact(address string) string {
	scheme, rest, found := strings.Cut(address, ":")
	if !found {
		return "(no scheme)"
	}
	if strings.ContainsAny(scheme, "= ") { // libpq's keywords and values
		return "(unreadable)"
	}
	if !strings.HasPrefix(rest, "//") {
		return address // sqlite:PATH has no place for a password
	}
	authority, tail := cutAny(rest[2:], "/?#")
	if at := strings.LastIndexByte(authority, '@'); at >= 0 {
		user, _, hasPassword := strings.Cut(authority[:at], ":")
		if hasPassword {
			user += ":xxxxx"
		}
		authority = user + authority[at:]
	}
	// A password with an unescaped "/", "?" or "#" ends up in the tail, or in place of a port.
	if strings.Contains(tail, "@") || !portsAreNumbers(authority) {
		return scheme + "://(unreadable)"
	}
	path, query, hasQuery := strings.Cut(tail, "?")
	if hasQuery {
		path += "?" + redactQuery(query)
	}
	return scheme + "://" + authority + path
}

// Said makes an error printable: one bounded line without possible secrets. nil stays nil.
func Said(err error) error {
	if err == nil {
		return nil
	}
	return said{err}
}

type said struct{ error }

const mostSaid = 400

func (s said) Unwrap() error { return s.error }

func (s said) Error() string {
	words := strings.Fields(s.error.Error())
	for i, w := range words {
		if strings.Contains(w, "://") {
			words[i] = Redact(w)
		}
		name := strings.ToLower(strings.Trim(w, `'"():=`))
		speaks := strings.HasSuffix(name, "password") || strings.HasSuffix(name, "secret") || strings.HasSuffix(name, "token") || name == "identified"
		for n := i + 1; speaks && n < len(words) && n < i+4; n++ {
			if strings.ContainsAny(words[n][:1], `'"`) {
				words[n] = "xxxxx"
			}
		}
	}
	text := strings.Join(words, " ")
	if len(text) > mostSaid {
		text = strings.ToValidUTF8(text[:mostSaid], "") + "..."
	}
	return text
}

// HoldsPassword reports whether an address holds a password, even in a wrong place.
func HoldsPassword(address string) bool {
	_, rest, found := strings.Cut(address, "://")
	if !found {
		return false
	}
	if at := strings.LastIndexByte(rest, '@'); at >= 0 {
		if _, password, _ := strings.Cut(rest[:at], ":"); password != "" {
			return true
		}
	}
	_, query, _ := strings.Cut(rest, "?")
	for part := range strings.SplitSeq(query, "&") {
		if name, value, _ := strings.Cut(part, "="); value != "" && NamesPassword(name) {
			return true
		}
	}
	return false
}

// NamesPassword reports whether a parameter of this name has a password or another secret as its
// value.
func NamesPassword(name string) bool {
	lower := strings.ToLower(name)
	return strings.Contains(lower, "pass") || strings.Contains(lower, "secret") || strings.Contains(lower, "token")
}

// RootCause returns an error's innermost cause, without a library's words around it.
func RootCause(err error) error {
	for inner := errors.Unwrap(err); inner != nil; inner = errors.Unwrap(err) {
		err = inner
	}
	return err
}

// MalformedReason says why a library could not read an address, without any part of it that may
// hold a password; empty if that cannot be told apart. err must be the error inside the library's
// quotation of the address.
func MalformedReason(address string, err error) string {
	if strings.HasSuffix(Redact(address), "://(unreadable)") {
		return "a port is no number, or the password has a character that must be written as %40 (@), %3A (:), %2F (/), %3F (?) or %23 (#)"
	}
	if parse := (*url.Error)(nil); err == nil || errors.As(err, &parse) || HoldsPassword(address) && quotesPassword(err.Error(), address) {
		return ""
	}
	return err.Error()
}

// quotesPassword reports whether a text has the address's password, escaped or not.
func quotesPassword(text, address string) bool {
	_, rest, _ := strings.Cut(address, "://")
	user := rest[:max(strings.LastIndexByte(rest, '@'), 0)]
	_, password, _ := strings.Cut(user, ":")
	_, query, _ := strings.Cut(rest, "?")
	secrets := []string{password}
	for part := range strings.SplitSeq(query, "&") {
		if name, value, _ := strings.Cut(part, "="); secret(name) {
			secrets = append(secrets, value)
		}
	}
	for _, s := range secrets {
		plain, err := url.PathUnescape(s)
		if err != nil {
			plain = s
		}
		if s != "" && (strings.Contains(text, s) || strings.Contains(text, plain)) {
			return true
		}
	}
	return false
}

// Redacted reports whether Redact changed this address, so that it cannot be used to connect.
func Redacted(address string) bool {
	return strings.Contains(address, ":xxxxx@") || strings.Contains(address, "=xxxxx") ||
		strings.HasSuffix(address, "(unreadable)")
}

func redactQuery(query string) string {
	parts := strings.Split(query, "&")
	for i, part := range parts {
		name, _, _ := strings.Cut(part, "=")
		if plain, err := url.QueryUnescape(name); err != nil || secret(plain) {
			parts[i] = name + "=xxxxx"
		}
	}
	return strings.Join(parts, "&")
}

func portsAreNumbers(authority string) bool {
	hosts := authority[strings.LastIndexByte(authority, '@')+1:]
	for _, host := range strings.Split(hosts, ",") {
		host = host[strings.LastIndexByte(host, ']')+1:] // past an IPv6 address
		_, port, _ := strings.Cut(host, ":")
		if strings.Trim(port, "0123456789") != "" {
			return false
		}
	}
	return true
}

// keyFiles are parameters that name a key's file, which is no secret.
func keyFiles() []string {
	return []string{"sslkey", "ssl-key", "tlskeyfile", "tlscertificatekeyfile", "sslclientcertificatekeyfile"}
}

func secret(name string) bool {
	name = strings.ToLower(name)
	if slices.Contains(keyFiles(), name) {
		return false
	}
	return NamesPassword(name) || strings.Contains(name, "key") || strings.Contains(name, "authmechanismproperties")
}

func cutAny(s, chars string) (before, rest string) {
	if i := strings.IndexAny(s, chars); i >= 0 {
		return s[:i], s[i:]
	}
	return s, ""
}
