package mysql

import (
	"crypto/tls"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"assay/driver/uri"
	"assay/store"
)

const defaultPort = "3306"

const wantAddress = "mysql://USER:PASSWORD@HOST:PORT,HOST:PORT/?OPTION=VALUE, or mysql://USER@localhost/?socket=PATH, with characters such as @ : / # ? % in the password percent-encoded"

type settings struct {
	printable      string // of the address
	user, password string
	hosts          []string // host:port or the path of a socket, each once, in the order of the address
	database       string   // in which connections begin that are not sessions
	connectTimeout time.Duration

	engine  string // as given; "" for InnoDB
	dialect string // as given; "" for what the server is
	// statements is statementsTogether, statementsApart, or "" for the server's better way.
	statements string
	anyHost    bool // a session begins at a host drawn by chance
	seed       uint64
	encryption encryptionSettings
	variables  []variable
	isolation  string // in SQL's words, "" for the server's default
}

// The statements of a batch go as one text, or each by itself.
const (
	statementsTogether = "together"
	statementsApart    = "apart"
)

type variable struct{ name, value string }

// Isolation levels of MySQL's manual ("Transaction Isolation Levels").
const (
	readUncommitted = "READ UNCOMMITTED"
	readCommitted   = "READ COMMITTED"
	repeatableRead  = "REPEATABLE READ"
	serializable    = "SERIALIZABLE"
)

func levels() []string { return []string{readUncommitted, readCommitted, repeatableRead, serializable} }

// parse reads the target. Errors are *store.OptionError without a password.
func parse(target store.Target) (*settings, error) {
	s := &settings{printable: store.Redact(target.Address), connectTimeout: target.FirstContact(), seed: target.Seed}
	plain, named := plainForm(target.Address)
	a, err := uri.Parse(plain, wantAddress, defaultPort, "mysql", "mariadb")
	if err != nil {
		return nil, err
	}
	s.user, s.password, s.hosts, s.database = a.User, a.Password, a.Hosts, a.Path
	if err := errors.Join(s.fillIn(a, a.WithPassword, named), s.takeSocket(a.Options)); err != nil {
		return nil, err
	}
	if err := s.readOptions(a.Options); err != nil {
		return nil, err
	}
	s.isolation, err = isolationLevel(target.Isolation)
	return s, err
}

// Access is a parsed address, for other code that speaks the protocol.
type Access struct {
	// Hosts are host:port, or the path of a socket.
	Hosts                    []string
	User, Password, Database string
	// TLS is nil if connections need no encryption.
	TLS *tls.Config
	// ConnectTimeout is how long one host may take to answer before the next is asked.
	ConnectTimeout time.Duration
}

// AccessOf reads an address. Errors are *store.OptionError.
func AccessOf(address string) (Access, error) {
	s, err := parse(store.Target{Address: address})
	if err != nil {
		return Access{}, err
	}
	a := Access{Hosts: s.hosts, User: s.user, Password: s.password, Database: s.database, ConnectTimeout: s.connectTimeout}
	if s.encryption.mode != sslPreferred {
		a.TLS = s.encryption.config
	}
	return a, nil
}

var (
	variableName  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z][a-z0-9_]*$`) })
	decimal       = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^-?[0-9]+(\.[0-9]+)?$`) })
	variableValue = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_.,:+-]*$`) })
)

const ownOptions = "engine, dialect, balance, connect_timeout, socket, statements, ssl-mode, ssl-ca, ssl-cert, ssl-key, tls"

// readOptions takes other options for variables of the server, which refuses unknown ones.
func (s *settings) readOptions(options uri.Options) error {
	balance, err := options.Choose("balance", "order", "random")
	if err != nil {
		return err
	}
	s.anyHost = balance == "random"
	if s.statements, err = options.Choose("statements", statementsTogether, statementsApart); err != nil {
		return err
	}
	if s.dialect, err = options.Choose(dialectOption, dialectNames()...); err != nil {
		return err
	}
	if s.encryption, err = readEncryption(options); err != nil {
		return err
	}
	seconds, err := options.Integer("connect_timeout", "whole seconds, 1 to 3600: how long one host may take to answer before the next is asked", 0, 1, 3600)
	if err != nil {
		return err
	}
	if seconds > 0 {
		s.connectTimeout = time.Duration(seconds) * time.Second
	}
	s.engine, _ = options.Take("engine")
	for name, value := range options {
		if want, ours := ownVariables()[name]; ours {
			return &store.OptionError{Option: "the address's option", Value: name, Want: "no such option: " + want}
		}
		if !variableName().MatchString(name) || !variableValue().MatchString(value) {
			return &store.OptionError{Option: "the address's option", Value: name,
				Want: ownOptions + ", or a session variable of the server, such as innodb_lock_wait_timeout=5; --timeout limits an attempt"}
		}
		s.variables = append(s.variables, variable{name, value})
	}
	slices.SortFunc(s.variables, func(a, b variable) int { return strings.Compare(a.name, b.name) })
	return nil
}

// isolationLevel is the level in SQL's words, or "" for the server's default.
func isolationLevel(name string) (string, error) {
	level := strings.ToUpper(strings.TrimSpace(strings.NewReplacer("-", " ", "_", " ").Replace(name)))
	if level != "" && !slices.Contains(levels(), level) {
		return "", &store.OptionError{Option: "isolation level", Value: name, Want: strings.ToLower(strings.Join(levels(), ", "))}
	}
	return level, nil
}

func (s *settings) given(name string) string {
	for _, v := range s.variables {
		if v.name == name {
			return v.value
		}
	}
	return ""
}

func (v variable) assignment() string {
	if decimal().MatchString(v.value) {
		return fmt.Sprintf("%s = %s", v.name, v.value)
	}
	return fmt.Sprintf("%s = '%s'", v.name, v.value) // variableValue has nothing to escape
}
