package postgres

import (
	"crypto/tls"
	"fmt"
	"maps"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"assay/driver/uri"
	"assay/store"
)

// pgx takes libpq's parameters that it does not know (PostgreSQL 18 manual, "Parameter Key Words")
// for settings, which the server refuses. This file takes them out. A parameter has its effect,
// needs none, or is refused by name if the address would mean something else without it.

// effectless are parameters that need no action for these values (none: for any). reason says what
// other values would need.
func effectless() map[string]struct {
	values []string
	reason string
} {
	type known = struct {
		values []string
		reason string
	}
	never := []string{"0", "false", "off", "no"}
	return map[string]known{
		"fallback_application_name": {nil, ""}, // assay names its connections itself
		"gssencmode":                {[]string{"disable", "prefer"}, "assay has no GSSAPI encryption; sslmode=verify-full encrypts"},
		"gsslib":                    {nil, ""}, // no GSSAPI at all
		"gssdelegation":             {never, "assay has no GSSAPI"},
		"sslcompression":            {nil, ""}, // libpq ignores it too where OpenSSL has none
		"replication":               {never, "a connection for replication takes no transactions"},
		"load_balance_hosts":        {[]string{"disable"}, "the hosts are tried in the order of the address, so that a run can be repeated"},
		"requiressl":                {never, "it is called sslmode=require"},
		"sslcrl":                    {[]string{""}, "assay does not look at lists of revoked certificates"},
		"sslcrldir":                 {[]string{""}, "assay does not look at lists of revoked certificates"},
		"requirepeer":               {[]string{""}, "assay does not ask the system who listens on a socket"},
		"sslkeylogfile":             {[]string{""}, "assay writes no file with the keys of connections"},
		"scram_client_key":          {[]string{""}, "assay logs in by a password; PGPASSFILE keeps it out of the address"},
		"scram_server_key":          {[]string{""}, "assay logs in by a password; PGPASSFILE keeps it out of the address"},
		"oauth_issuer":              {[]string{""}, "assay does not log in by OAuth"},
		"oauth_client_id":           {[]string{""}, "assay does not log in by OAuth"},
		"oauth_client_secret":       {[]string{""}, "assay does not log in by OAuth"},
		"oauth_scope":               {[]string{""}, "assay does not log in by OAuth"},
	}
}

func takeLibpq(config *pgx.ConnConfig) (without []string, err error) {
	known := effectless()
	for _, name := range slices.Sorted(maps.Keys(config.RuntimeParams)) {
		of, is := known[name]
		if !is {
			continue
		}
		value := config.RuntimeParams[name]
		delete(config.RuntimeParams, name)
		if of.values != nil && !slices.Contains(of.values, strings.ToLower(value)) {
			return nil, &store.OptionError{Option: "the address's parameter", Value: name, Reason: of.reason, Want: "an address without it"}
		}
		if value != "" {
			without = append(without, name+"="+value)
		}
	}
	for name, value := range config.RuntimeParams {
		switch value = strings.ToLower(value); {
		case strings.EqualFold(name, "client_encoding") && value == "auto":
			delete(config.RuntimeParams, name) // a tool's texts are UTF-8, whatever the locale
		case strings.EqualFold(name, parameterMessages) && hidesWarnings(value):
			return nil, &store.OptionError{Option: "the address's parameter", Value: name,
				Reason: "it hides the server's warning that a commit no longer waited for its standby", Want: "an address without it"}
		}
	}
	if err := takeTLSVersions(config); err != nil {
		return nil, err
	}
	return without, takeSocketOptions(config)
}

func takeTLSVersions(config *pgx.ConnConfig) error {
	versions := map[string]uint16{"": 0, "TLSv1": tls.VersionTLS10, "TLSv1.1": tls.VersionTLS11, "TLSv1.2": tls.VersionTLS12, "TLSv1.3": tls.VersionTLS13}
	ways := []*tls.Config{config.TLSConfig}
	for _, way := range config.Fallbacks {
		ways = append(ways, way.TLSConfig)
	}
	for name, set := range map[string]func(*tls.Config, uint16){
		"ssl_min_protocol_version": func(c *tls.Config, v uint16) { c.MinVersion = v },
		"ssl_max_protocol_version": func(c *tls.Config, v uint16) { c.MaxVersion = v },
	} {
		value, given := config.RuntimeParams[name]
		if !given {
			continue
		}
		delete(config.RuntimeParams, name)
		version, is := versions[value]
		if !is {
			return &store.OptionError{Option: name, Value: value, Want: "TLSv1, TLSv1.1, TLSv1.2, TLSv1.3"}
		}
		for _, way := range ways {
			if way != nil {
				set(way, version)
			}
		}
	}
	return nil
}

// takeSocketOptions takes TCP's parameters. As in libpq, the system's values hold for missing ones.
func takeSocketOptions(config *pgx.ConnConfig) error {
	values := map[string]int{"keepalives": 1, "keepalives_idle": 0, "keepalives_interval": 0, "keepalives_count": 0, "tcp_user_timeout": 0}
	given := false
	for name := range values {
		text, is := config.RuntimeParams[name]
		if !is {
			continue
		}
		delete(config.RuntimeParams, name)
		n, err := strconv.Atoi(text)
		if err != nil || n > 1<<30 {
			return &store.OptionError{Option: name, Value: text, Want: "a whole number, as libpq takes it"}
		}
		values[name], given = max(n, 0), true
	}
	if !given {
		return nil
	}
	alive := net.KeepAliveConfig{Enable: values["keepalives"] != 0, Idle: -1, Interval: -1, Count: -1} // -1: the system's
	for name, into := range map[string]*time.Duration{"keepalives_idle": &alive.Idle, "keepalives_interval": &alive.Interval} {
		if n := values[name]; n > 0 {
			*into = time.Duration(n) * time.Second
		}
	}
	if n := values["keepalives_count"]; n > 0 {
		alive.Count = n
	}
	dialer := &net.Dialer{KeepAliveConfig: alive, KeepAlive: -1}
	if alive.Enable {
		dialer.KeepAlive = 0
	}
	if n := values["tcp_user_timeout"]; n > 0 {
		if dialer.Control = userTimeout(n); dialer.Control == nil {
			return &store.OptionError{Option: "tcp_user_timeout", Value: strconv.Itoa(n), Want: "none on this system, which has no such limit"}
		}
	}
	config.DialFunc = dialer.DialContext
	return nil
}

// takeHostaddr takes hostaddr out of an address and returns a lookup of its numbers by name, nil
// without hostaddr. Names still verify certificates. Without names the numbers are the hosts.
func takeHostaddr(address string) (rest string, lookup func(name string) (addr string, is bool), err error) {
	u, err := url.Parse(address)
	if err != nil || !strings.Contains(u.RawQuery, "hostaddr=") {
		return address, nil, nil // what cannot be read is told by who reads it all
	}
	query := u.Query()
	addrs := strings.Split(query.Get("hostaddr"), ",")
	query.Del("hostaddr")
	for _, addr := range addrs {
		if net.ParseIP(addr) == nil {
			return "", nil, &store.OptionError{Option: "hostaddr", Value: fmt.Sprintf("%d of them", len(addrs)), Want: "IP addresses, separated by commas; host has names"}
		}
	}
	names := strings.Split(query.Get("host"), ",")
	if query.Get("host") == "" {
		names = nil
		for host := range strings.SplitSeq(u.Host, ",") {
			if name := (&url.URL{Host: host}).Hostname(); name != "" {
				names = append(names, name)
			}
		}
	}
	if names == nil {
		query.Set("host", strings.Join(addrs, ","))
	} else if len(names) != len(addrs) {
		return "", nil, &store.OptionError{Option: "hostaddr", Value: fmt.Sprintf("%d of them", len(addrs)), Want: fmt.Sprintf("as many as there are hosts, which are %d", len(names))}
	}
	u.RawQuery = uri.Query(query)
	return u.String(), func(name string) (string, bool) {
		at := slices.Index(names, name)
		if at < 0 {
			return "", false
		}
		return addrs[at], true
	}, nil
}
