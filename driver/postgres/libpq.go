package postgres

import (
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

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
		"hostaddr":                  {[]string{""}, "the host may be a number itself"},
		"ssl_min_protocol_version":  {[]string{"", "tlsv1", "tlsv1.1", "tlsv1.2"}, "assay takes TLS 1.2 and later"},
		"ssl_max_protocol_version":  {[]string{"", "tlsv1.3"}, "assay takes TLS 1.2 and later"},
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
	return without, takeSocketOptions(config)
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
