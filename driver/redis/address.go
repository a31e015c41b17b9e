// Package redis is Redis: a single server, a primary with Sentinels, or a Redis Cluster.
//
// A row is a string under the key PREFIX:WORKLOAD:TABLE:KEY. For strings, unlike hashes, Redis can
// insert many rows or none (MSETNX) and read many in one state (MGET). Transactions are optimistic
// (manual, "Transactions", "Optimistic locking using check-and-set"). Reads are watched; MULTI, all
// writes and EXEC go together; EXEC does nothing if a watched key was written.
//
// No command is sent twice. A session is one connection, and the package speaks RESP itself.
//
// It must not know the load engine, the checks or any other driver.
package redis

import (
	"crypto/tls"
	"regexp"
	"strings"
	"sync"
	"time"

	"assay/driver/encryption"
	"assay/driver/uri"
	"assay/store"
)

// level is the only isolation level: a transaction's commands run in sequence, without commands of
// others between them (manual, "Transactions").
const level = "strict-serializable"

// Schemes of addresses.
const (
	schemePlain    = "redis"
	schemeTLS      = "rediss"
	overSentinels  = "+sentinel"
	overCluster    = "+cluster"
	schemeSentinel = schemePlain + overSentinels
	schemeCluster  = schemePlain + overCluster
)

const (
	defaultPort     = "6379"
	sentinelPort    = "26379"
	defaultPrefix   = "assay"
	defaultWait     = 1000 // milliseconds
	defaultTimeout  = 5 * time.Second
	mostDatabases   = 1 << 20
	mostReplicas    = 100
	longestWait     = 3_600_000              // milliseconds
	promptness      = 500 * time.Millisecond // of one server among several, while another may answer
	addressForm     = "redis://[USER:PASSWORD@]HOST[:PORT][/NUMBER], the same with rediss:// for TLS, or redis+sentinel://[USER:PASSWORD@]HOST[:PORT][,HOST...]/NAME with the hosts of Sentinels and the name by which they know the primary, or redis+cluster://[USER:PASSWORD@]HOST[:PORT][,HOST...] with servers of a Redis Cluster, and rediss+sentinel:// and rediss+cluster:// for TLS; special characters percent-encoded, and a password alone (redis://:PASSWORD@HOST) is the user default's"
	knownOptions    = "prefix, wait, waitMS"
	sentinelOptions = knownOptions + ", db"
)

type settings struct {
	printable string
	// hosts are host:port: the server, the Sentinels that know service, or a Redis Cluster's
	// servers.
	hosts          []string
	service        string
	sharded        bool
	user, password string
	number         int
	prefix         string
	// wait is how many replicas must confirm a write, within waitFor (manual, "WAIT").
	wait       int
	waitFor    time.Duration
	encryption *tls.Config // nil without TLS
	timeout    time.Duration
}

// prefixForm has no special characters of SCAN's patterns.
var prefixForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`) })

// parse reads the target. Its error is a *store.OptionError without a password.
func parse(target store.Target) (*settings, error) {
	s := &settings{printable: store.Redact(target.Address), prefix: defaultPrefix, timeout: target.ConnectTimeout}
	if s.timeout <= 0 {
		s.timeout = defaultTimeout
	}
	if asked := target.Isolation; asked != "" && asked != level {
		return nil, &store.OptionError{Option: "isolation", Value: asked, Want: level + ", which is all that Redis has"}
	}
	if target.Read != "" && target.Read != store.ReadPrimary {
		return nil, &store.OptionError{Option: "--read", Value: target.Read, Want: store.ReadPrimary}
	}
	scheme, _, _ := strings.Cut(target.Address, "://")
	of, encrypted := strings.CutPrefix(scheme, schemeTLS)
	if !encrypted {
		of = strings.TrimPrefix(scheme, schemePlain)
	}
	port := defaultPort
	if of == overSentinels {
		port = sentinelPort
	}
	a, err := uri.Parse(named(target.Address), addressForm, port, schemePlain, schemeTLS, schemeSentinel, schemeTLS+overSentinels, schemeCluster, schemeTLS+overCluster)
	if err != nil {
		return nil, err
	}
	s.hosts, s.user, s.password = a.Hosts, a.User, a.Password
	if s.user != "" && s.password == "" { // nobody would be authenticated, and all be done as the user default
		return nil, &store.OptionError{Option: "address", Value: s.printable, Want: "a password with the user"}
	}
	switch of {
	case "":
		err = s.direct(a)
	case overSentinels:
		err = s.watched(a)
	default:
		if s.sharded = true; a.Path != "" { // a Redis Cluster has database 0 alone
			err = &store.OptionError{Option: "address", Value: s.printable, Want: addressForm}
		}
	}
	if err == nil {
		err = s.encrypt(a, encrypted)
	}
	if err != nil {
		return nil, err
	}
	return s, s.readOptions(a.Options)
}

// named gives an address with a password alone its user, as redis-cli does ("Redis CLI", section "Host,
// port, password, and database").
func named(address string) string {
	scheme, rest, _ := strings.Cut(address, "://")
	if authority, _, _ := strings.Cut(rest, "/"); strings.HasPrefix(authority, ":") && strings.Contains(authority, "@") {
		return scheme + "://default" + rest
	}
	return address
}

func (s *settings) direct(a *uri.Address) (err error) {
	if len(s.hosts) > 1 {
		return &store.OptionError{Option: "address", Value: s.printable, Want: "one host; where there are replicas, " + schemeSentinel + ":// and the hosts of Sentinels, or " + schemeCluster + ":// and those of a Redis Cluster"}
	}
	if a.Path != "" {
		number := uri.Options{"database": a.Path}
		s.number, err = number.Integer("database", "the number of a database, such as 0", 0, 0, mostDatabases)
	}
	return err
}

// encrypt reads TLS's parameters, which are for Sentinels too.
func (s *settings) encrypt(a *uri.Address, encrypted bool) error {
	files, given, err := encryption.Take(a.Options)
	switch {
	case err != nil:
		return err
	case encrypted:
		s.encryption, err = files.Config()
	case given != "":
		err = &store.OptionError{Option: given, Value: schemePlain, Want: schemeTLS + "://, " + schemeTLS + overSentinels + ":// or " + schemeTLS + overCluster + "://, which is encrypted"}
	}
	return err
}

func (s *settings) watched(a *uri.Address) (err error) {
	if s.service = a.Path; s.service == "" {
		return &store.OptionError{Option: "address", Value: s.printable, Want: addressForm}
	}
	s.number, err = a.Options.Integer("db", "the number of a database, such as 0", 0, 0, mostDatabases)
	return err
}

func (s *settings) readOptions(given uri.Options) (err error) {
	if prefix, is := given.Take("prefix"); is {
		s.prefix = prefix
	}
	if !prefixForm().MatchString(s.prefix) {
		return &store.OptionError{Option: "prefix", Value: s.prefix, Want: "1 to 64 letters, digits, hyphens and underscores"}
	}
	if s.wait, err = given.Integer("wait", "how many replicas have a write before it counts as acknowledged, 0 to 100", 0, 0, mostReplicas); err != nil {
		return err
	}
	ms, err := given.Integer("waitMS", "how long they may take, in milliseconds, 1 to 3600000", defaultWait, 1, longestWait)
	if err != nil {
		return err
	}
	if s.wait > 0 {
		s.waitFor = time.Duration(ms) * time.Millisecond
	}
	known := knownOptions
	if s.service != "" {
		known = sentinelOptions
	}
	return given.None(known + ", with " + schemeTLS + " " + encryption.ParameterNames)
}

func parseSchema(target store.Target, of *store.Schema) (*settings, error) {
	s, err := parse(target)
	if err == nil && of.Existing {
		err = &store.OptionError{Option: "--use-existing", Value: "Redis", Want: "a database with tables"}
	}
	return s, err
}

// Lacks returns Redis's missing capabilities.
func Lacks() store.Lacks {
	const byKey = "Redis finds a value by its key alone; an index is another key, which the application keeps"
	return store.Lacks{
		store.Snapshots:       "Redis reads in one state only what is named by its keys, and SCAN gives none",
		store.Sets:            byKey,
		store.OrderedScans:    "Redis keeps keys by a hash of them and has no order of them; a sorted set of keys is one key more, which every insert of an application would have to write",
		store.Indexes:         byKey,
		store.SecondaryUnique: byKey,
		store.Lists:           "a list of Redis's is a key of its own and no part of a row",
		store.UpdateInPlace:   "a list of Redis's is a key of its own and no part of a row",
		store.Compactions:     "Redis keeps all data in memory and rewrites its files by itself",
		store.Language:        "a script's statements are SQL, or commands on documents",
		store.SQL:             "Redis has no SQL",
		store.Documents:       "Redis has keys and values, and no rows within others",
	}
}
