package workload

import (
	"net/url"
	"slices"
	"strings"
)

// Redact returns the address in a form that can be printed: the password, and
// query parameters whose name speaks of a secret, are replaced by "xxxxx". An
// address that cannot be parsed is reduced to its scheme, because it may hold
// a password in a place where nobody looks for one.
func Redact(address string) string {
	scheme, rest, found := strings.Cut(address, ":")
	if !found {
		return "(no scheme)"
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
	// A password with an unescaped "/", "?" or "#" ends up in the tail, or
	// where a port should be.
	if strings.Contains(tail, "@") || !portsAreNumbers(authority) {
		return scheme + "://(unreadable)"
	}
	path, query, hasQuery := strings.Cut(tail, "?")
	if hasQuery {
		path += "?" + redactQuery(query)
	}
	return scheme + "://" + authority + path
}

// Redacted reports whether Redact took something out of this address, so that
// it cannot be used to connect.
func Redacted(address string) bool {
	return strings.Contains(address, ":xxxxx@") || strings.Contains(address, "=xxxxx") ||
		strings.HasSuffix(address, "://(unreadable)")
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

// keyFiles are the parameters that name the file of a key, which is no secret:
// what is in it never gets into an address.
func keyFiles() []string {
	return []string{"sslkey", "ssl-key", "tlskeyfile", "tlscertificatekeyfile", "sslclientcertificatekeyfile"}
}

func secret(name string) bool {
	name = strings.ToLower(name)
	if slices.Contains(keyFiles(), name) {
		return false
	}
	for _, word := range []string{"pass", "secret", "token", "key", "authmechanismproperties"} {
		if strings.Contains(name, word) {
			return true
		}
	}
	return false
}

func cutAny(s, chars string) (before, rest string) {
	if i := strings.IndexAny(s, chars); i >= 0 {
		return s[:i], s[i:]
	}
	return s, ""
}
