package mysql

import (
	"cmp"
	"fmt"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"assay/workload"
)

const (
	defaultPort           = "3306"
	defaultConnectTimeout = 10 * time.Second
	// maxHosts bounds an address; Galera clusters have a handful of nodes.
	maxHosts = 64
)

const wantAddress = "mysql://USER:PASSWORD@HOST:PORT,HOST:PORT/?OPTION=VALUE, with characters such as @ : / # ? % in the password percent-encoded"

// settings is what an address and a target ask for.
type settings struct {
	printable      string // of the address
	user, password string
	hosts          []string // host:port, each once, in the order of the address
	database       string   // in which connections begin that are not sessions
	connectTimeout time.Duration

	engine  string // as given; "" for InnoDB
	dialect string // as given; "" for what the server is
	// statements is how a transfer is sent: statementsTogether, statementsApart,
	// or "" for what suits the server.
	statements string
	anyHost    bool // a session begins at a host drawn by chance
	seed       uint64
	encryption encryptionSettings
	variables  []variable
	isolation  string // in SQL's words, "" for the server's default
}

// How the statements of a transfer can be sent: as one text, or each by itself.
const (
	statementsTogether = "together"
	statementsApart    = "apart"
)

// variable is a session variable of the server, set for each connection.
type variable struct{ name, value string }

// The isolation levels that MySQL's manual has ("Transaction Isolation Levels").
const (
	readUncommitted = "READ UNCOMMITTED"
	readCommitted   = "READ COMMITTED"
	repeatableRead  = "REPEATABLE READ"
	serializable    = "SERIALIZABLE"
)

func levels() []string { return []string{readUncommitted, readCommitted, repeatableRead, serializable} }

// parse reads the target. Errors are *workload.OptionError and hold no
// password.
func parse(target workload.Target) (*settings, error) {
	s := &settings{printable: workload.Redact(target.Address), connectTimeout: target.ConnectTimeout, seed: target.Seed}
	if s.connectTimeout <= 0 {
		s.connectTimeout = defaultConnectTimeout
	}
	// The password of an address that is not as it should be may be in any of
	// its parts, so nothing of it is told.
	malformed := &workload.OptionError{Option: "address", Value: "mysql://(unreadable)", Want: wantAddress}
	scheme, rest, found := strings.Cut(target.Address, "://")
	if !found || scheme != "mysql" && scheme != "mariadb" || strings.Contains(rest, "#") {
		return nil, malformed
	}
	rest, query, _ := strings.Cut(rest, "?")
	authority, path, _ := strings.Cut(rest, "/")
	if !s.readAuthority(authority) || strings.ContainsAny(path, "/@") {
		return nil, malformed
	}
	var err error
	if s.database, err = url.PathUnescape(path); err != nil {
		return nil, malformed
	}
	values, err := url.ParseQuery(query)
	if err != nil {
		return nil, malformed
	}
	if err := s.readOptions(values); err != nil {
		return nil, err
	}
	s.isolation, err = isolationLevel(target.Isolation)
	return s, err
}

// readAuthority reads user, password and hosts; ok is false if they cannot be
// used.
func (s *settings) readAuthority(authority string) (ok bool) {
	at := strings.LastIndexByte(authority, '@')
	if at >= 0 {
		user, password, _ := strings.Cut(authority[:at], ":")
		if strings.ContainsAny(authority[:at], "@") || strings.Contains(password, ":") {
			return false
		}
		var errs [2]error
		s.user, errs[0] = url.PathUnescape(user)
		s.password, errs[1] = url.PathUnescape(password)
		if errs != [2]error{} {
			return false
		}
	}
	for text := range strings.SplitSeq(authority[at+1:], ",") {
		host, ok := readHost(text)
		if !ok || len(s.hosts) == maxHosts {
			return false
		}
		if !slices.Contains(s.hosts, host) {
			s.hosts = append(s.hosts, host)
		}
	}
	return true
}

// hostName is a name or an IPv4 address.
var hostName = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9.])?$`)

// readHost reads HOST, HOST:PORT or the same with an IPv6 address in brackets,
// as host:port.
func readHost(text string) (host string, ok bool) {
	port := defaultPort
	if inside, bracketed := strings.CutPrefix(text, "["); bracketed {
		address, after, closed := strings.Cut(inside, "]")
		if !closed || net.ParseIP(address) == nil || after != "" && !strings.HasPrefix(after, ":") {
			return "", false
		}
		host, port = address, cmp.Or(strings.TrimPrefix(after, ":"), port)
	} else {
		name, given, _ := strings.Cut(text, ":")
		if !hostName.MatchString(name) {
			return "", false
		}
		host, port = name, cmp.Or(given, port)
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return "", false
	}
	return net.JoinHostPort(host, port), true
}

var (
	variableName  = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)
	decimal       = regexp.MustCompile(`^-?[0-9]+(\.[0-9]+)?$`)
	variableValue = regexp.MustCompile(`^[A-Za-z0-9_.,:+-]*$`)
)

// ownOptions are the options of an address that are assay's.
const ownOptions = "engine, dialect, balance, connect_timeout, statements, ssl-mode, ssl-ca, ssl-cert, ssl-key, tls"

// ownVariables are those that a transfer relies on.
func ownVariables() map[string]string {
	return map[string]string{
		"autocommit": "transactions begin and end by name", "completion_type": "COMMIT begins nothing new",
		"sql_mode": "what does not fit is refused (strict mode)", "check_constraint_checks": "no account is overdrawn",
		"tx_isolation": "--isolation", "transaction_isolation": "--isolation", "foreign_key_checks": "assay has none",
		"wsrep_on": "what is written is replicated", "sql_log_bin": "what is written is replicated",
	}
}

// readOptions reads the address's options. What is none of assay's own is a
// variable of the server's, which refuses what it does not know.
func (s *settings) readOptions(values url.Values) error {
	for name := range values {
		if len(values[name]) > 1 {
			return &workload.OptionError{Option: "the address's option", Value: name, Want: "each option once"}
		}
	}
	choose := func(name string, possible ...string) (string, error) {
		value := values.Get(name)
		if values.Has(name) && !slices.Contains(possible, value) {
			return "", &workload.OptionError{Option: name, Value: value, Want: strings.Join(possible, ", ")}
		}
		values.Del(name)
		return value, nil
	}
	balance, err := choose("balance", "order", "random")
	if err != nil {
		return err
	}
	s.anyHost = balance == "random"
	if s.statements, err = choose("statements", statementsTogether, statementsApart); err != nil {
		return err
	}
	if s.dialect, err = choose(dialectOption, dialectNames()...); err != nil {
		return err
	}
	if s.encryption, err = readEncryption(values, choose); err != nil {
		return err
	}
	if values.Has("connect_timeout") {
		seconds, err := strconv.Atoi(values.Get("connect_timeout"))
		if err != nil || seconds < 1 || seconds > 3600 {
			return &workload.OptionError{Option: "connect_timeout", Value: values.Get("connect_timeout"),
				Want: "whole seconds, 1 to 3600: how long one host may take to answer before the next is asked"}
		}
		s.connectTimeout = time.Duration(seconds) * time.Second
		values.Del("connect_timeout")
	}
	s.engine = values.Get("engine")
	values.Del("engine")
	for name := range values {
		value := values.Get(name)
		if want, ours := ownVariables()[name]; ours {
			return &workload.OptionError{Option: "the address's option", Value: name, Want: "no such option: " + want}
		}
		if !variableName.MatchString(name) || !variableValue.MatchString(value) {
			return &workload.OptionError{Option: "the address's option", Value: name,
				Want: ownOptions + ", or a session variable of the server, such as innodb_lock_wait_timeout=5; --timeout limits an attempt"}
		}
		s.variables = append(s.variables, variable{name, value})
	}
	slices.SortFunc(s.variables, func(a, b variable) int { return strings.Compare(a.name, b.name) })
	return nil
}

// isolationLevel returns the words that SQL has for the level, "" for the
// server's default.
func isolationLevel(name string) (string, error) {
	level := strings.ToUpper(strings.TrimSpace(strings.NewReplacer("-", " ", "_", " ").Replace(name)))
	if level != "" && !slices.Contains(levels(), level) {
		return "", &workload.OptionError{Option: "isolation level", Value: name, Want: strings.ToLower(strings.Join(levels(), ", "))}
	}
	return level, nil
}

// given is the value that the address gives a variable, empty if it does not.
func (s *settings) given(name string) string {
	for _, v := range s.variables {
		if v.name == name {
			return v.value
		}
	}
	return ""
}

// assignment is the variable as SET takes it.
func (v variable) assignment() string {
	if decimal.MatchString(v.value) {
		return fmt.Sprintf("%s = %s", v.name, v.value)
	}
	return fmt.Sprintf("%s = '%s'", v.name, v.value) // variableValue has nothing to escape
}
