package uri

import (
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"sync"

	"assay/store"
)

// keyword matches libpq's other form of addresses: host=... port=... dbname=...
var keyword = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\s*[A-Za-z_]+\s*=`) })

// FromKeywords turns libpq's keyword and value form into a URL (PostgreSQL manual, "Connection
// Strings") and returns other addresses unchanged. Its error shows no part of the address.
func FromKeywords(address string) (string, error) {
	if !keyword().MatchString(address) {
		return address, nil
	}
	values, ok := readKeywords(address)
	if !ok {
		return "", &store.OptionError{Option: "address", Value: "(unreadable)",
			Want: "host=HOST port=PORT dbname=DATABASE user=USER ..., values with spaces in single quotes, and in them \\' and \\\\; or a URL"}
	}
	u := url.URL{Scheme: "postgres"}
	host, port := values["host"], values["port"]
	hosts, ports := strings.Split(host, ","), strings.Split(port, ",")
	if host != "" && len(ports) != 1 && len(ports) != len(hosts) {
		return "", &store.OptionError{Option: "port", Value: fmt.Sprintf("%d of them", len(ports)),
			Want: fmt.Sprintf("one, or as many as there are hosts, which are %d", len(hosts))}
	}
	if host != "" && !strings.Contains(host, "/") {
		u.Host = joinPorts(hosts, ports)
		delete(values, "host")
		delete(values, "port")
	}
	user, password := values["user"], values["password"]
	if _, has := values["password"]; user != "" && has {
		u.User = url.UserPassword(user, password)
	} else if user != "" {
		u.User = url.User(user)
	}
	if user != "" {
		delete(values, "user")
		delete(values, "password")
	}
	u.Path = "/" + values["dbname"]
	if strings.Contains(values["dbname"], "/") { // a path has one part
		u.Path = "/"
	} else {
		delete(values, "dbname")
	}
	query := url.Values{}
	for name, value := range values {
		query.Set(name, value)
	}
	u.RawQuery = Query(query)
	return u.String(), nil
}

// joinPorts: a single port belongs to all hosts. Otherwise each host has one.
func joinPorts(hosts, ports []string) string {
	joined := make([]string, len(hosts))
	for i, h := range hosts {
		if strings.Contains(h, ":") {
			h = "[" + h + "]"
		}
		port := ports[0]
		if len(ports) > 1 {
			port = ports[i]
		}
		if port != "" {
			h += ":" + port
		}
		joined[i] = h
	}
	return strings.Join(joined, ",")
}

// readKeywords reads as libpq does: the last value of a keyword counts.
func readKeywords(text string) (values map[string]string, ok bool) {
	values = map[string]string{}
	for text = strings.TrimSpace(text); text != ""; text = strings.TrimSpace(text) {
		name, rest, found := strings.Cut(text, "=")
		if name = strings.TrimSpace(name); !found || name == "" || strings.ContainsAny(name, " \t\r\n'\\") {
			return nil, false
		}
		value, after, ok := readKeywordValue(strings.TrimLeft(rest, " \t\r\n"))
		if !ok {
			return nil, false
		}
		values[name], text = value, after
	}
	return values, true
}

// readKeywordValue reads a quoted value, or one up to a space. A backslash escapes the next
// character.
func readKeywordValue(text string) (value, rest string, ok bool) {
	quoted := strings.HasPrefix(text, "'")
	if quoted {
		text = text[1:]
	}
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\' && i+1 < len(text):
			i++
			b.WriteByte(text[i])
		case quoted && c == '\'':
			return b.String(), text[i+1:], true
		case !quoted && strings.IndexByte(" \t\r\n", c) >= 0:
			return b.String(), text[i:], true
		default:
			b.WriteByte(c)
		}
	}
	return b.String(), "", !quoted
}
