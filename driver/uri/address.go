// Package uri reads the addresses of databases, of the form
//
//	SCHEME://[USER[:PASSWORD]@]HOST[:PORT][,HOST...][/PATH][?OPTION=VALUE&...]
//
// with special characters percent-encoded. The driver decides what path and options mean.
// MongoDB's and PostgreSQL's libraries read addresses themselves.
//
// It must not know any driver.
package uri

import (
	"cmp"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"assay/store"
)

// MostHosts bounds the hosts of an address.
const MostHosts = 64

// Address is a parsed address with its parts decoded.
type Address struct {
	User, Password string
	// WithPassword is true if a colon follows the user, even before an empty password.
	WithPassword bool
	// Hosts are distinct HOST:PORT, at least one, in the address's order. An IPv6 address is in
	// brackets.
	Hosts []string
	// Path follows the first slash. It may be empty and has no other slash.
	Path    string
	Options Options
}

// Parse reads an address that has one of the schemes. Its error is a *store.OptionError that asks
// for form. The error shows no part of the address, since each may hold the password.
func Parse(text, form, defaultPort string, schemes ...string) (*Address, error) {
	malformed := &store.OptionError{Option: "address", Value: schemes[0] + "://(unreadable)", Want: form}
	scheme, rest, found := strings.Cut(text, "://")
	if !found || !slices.Contains(schemes, scheme) || strings.Contains(rest, "#") {
		return nil, malformed
	}
	rest, query, _ := strings.Cut(rest, "?")
	authority, path, _ := strings.Cut(rest, "/")
	a := new(Address)
	if strings.ContainsAny(path, "/@") || strings.Contains(query, "@") || !a.readAuthority(authority, defaultPort) {
		return nil, malformed
	}
	var err error
	if a.Path, err = url.PathUnescape(path); err != nil {
		return nil, malformed
	}
	if a.Options, err = ReadOptions(query); err != nil {
		return nil, err
	}
	return a, nil
}

func (a *Address) readAuthority(authority, defaultPort string) (ok bool) {
	at := strings.LastIndexByte(authority, '@')
	if at >= 0 {
		user, password, with := strings.Cut(authority[:at], ":")
		a.WithPassword = with
		var errs [2]error
		a.User, errs[0] = url.PathUnescape(user)
		a.Password, errs[1] = url.PathUnescape(password)
		if errs != [2]error{} || user == "" || strings.Contains(authority[:at], "@") {
			return false
		}
	}
	for text := range strings.SplitSeq(authority[at+1:], ",") {
		host, ok := readHost(text, defaultPort)
		if !ok || len(a.Hosts) == MostHosts {
			return false
		}
		if !slices.Contains(a.Hosts, host) {
			a.Hosts = append(a.Hosts, host)
		}
	}
	return true
}

var hostName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9.])?$`) })

func readHost(text, defaultPort string) (host string, ok bool) {
	name, port, _ := strings.Cut(text, ":")
	if inside, bracketed := strings.CutPrefix(text, "["); bracketed {
		var closed bool
		name, port, closed = strings.Cut(inside, "]")
		if !closed || net.ParseIP(name) == nil || port != "" && !strings.HasPrefix(port, ":") {
			return "", false
		}
		port = strings.TrimPrefix(port, ":")
	} else if !hostName().MatchString(name) {
		return "", false
	}
	n, err := strconv.ParseUint(cmp.Or(port, defaultPort), 10, 16)
	if err != nil || n == 0 {
		return "", false
	}
	return net.JoinHostPort(name, strconv.FormatUint(n, 10)), true
}
