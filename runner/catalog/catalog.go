// Package catalog lists all drivers and workloads, and which driver serves which workload. A new
// one is a line here; nothing registers itself.
//
// It must not know how a run goes.
package catalog

import (
	"context"
	"fmt"
	"strings"

	"assay/driver/bugs"
	"assay/driver/cassandra"
	"assay/driver/etcd"
	"assay/driver/foundationdb"
	"assay/driver/mem"
	"assay/driver/mongodb"
	"assay/driver/mysql"
	"assay/driver/postgres"
	"assay/driver/redis"
	"assay/driver/rest"
	"assay/driver/sqldb"
	"assay/driver/sqlite"
	"assay/driver/uri"
	"assay/internal/spelling"
	"assay/store"
	"assay/store/bug"
	"assay/workload/availability"
	"assay/workload/bank"
	"assay/workload/bulkupdate"
	"assay/workload/candles"
	"assay/workload/churn"
	"assay/workload/definition"
	"assay/workload/entity"
	"assay/workload/isolation"
	"assay/workload/script"
	"assay/workload/smallbank"
	"assay/workload/tpcb"
	"assay/workload/tpcc"
	"assay/workload/ycsb"
)

// Driver is one protocol.
type Driver struct {
	Name       string
	Schemes    []string
	Example    string
	Summary    string
	Parameters string
	// Choices are parameters that change how a cluster fares under faults, but none of its
	// promises. Each is a list of alternatives.
	Choices [][]string
	// Missing says why this build cannot open it; empty if it can.
	Missing string
	// Open opens a database. Lacks are capabilities that no database of this driver has: a
	// workload that needs one of them is not served.
	Open  store.Opener
	Lacks store.Lacks
	// Refuses gives reasons by the names of further workloads that are not served.
	Refuses map[string]string
	// BackUp backs an embedded database up into an existing folder. Restored is the address
	// of a copy of that folder. Both are nil for other databases.
	BackUp   func(ctx context.Context, address, way, into string) (by string, err error)
	Restored func(folder string) (address string)
	// Statistics opens the database's own statistics without connecting yet. If it is nil,
	// NoStatistics says why.
	Statistics   func(ctx context.Context, target store.Target) (store.Statistics, error)
	NoStatistics string
}

// OpenStatistics opens the database's own statistics for a run of this workload. If there are
// none, it returns nil and why.
func (d Driver) OpenStatistics(ctx context.Context, workloadName string, target store.Target) (account store.Statistics, why string) {
	if d.Statistics == nil {
		return nil, d.NoStatistics
	}
	var err error
	if target.Address, _, err = bugs.Take(target.Address, bugsOf(workloadName)); err == nil {
		account, err = d.Statistics(ctx, target)
	}
	if err != nil {
		return nil, err.Error()
	}
	return account, ""
}

// Support says whether the driver serves the workload, regardless of Missing. The name must be
// in Workloads.
func (d Driver) Support(name string) definition.Support {
	w, err := WorkloadOf(name)
	if err != nil {
		return definition.Not(name, err.Error())
	}
	return d.support(w)
}

func (d Driver) support(w definition.Workload) definition.Support {
	if why := d.Refuses[w.Name]; why != "" {
		return definition.Not(w.Name, why)
	}
	return definition.SupportOf(w, withBugs(d.Open, w.Bugs), d.Lacks)
}

// URL turns libpq's keywords and values into a PostgreSQL URL, and leaves a URL as it is. Errors
// are *store.OptionError and tell no password.
func URL(address string) (string, error) { return uri.FromKeywords(address) }

// Drivers returns all drivers.
func Drivers() []Driver { return append(sqlDrivers(), otherDrivers()...) }

func sqlDrivers() []Driver {
	return []Driver{
		{
			Name: "sqlite", Schemes: []string{"sqlite"}, Example: "sqlite:PATH", Summary: "SQLite, embedded in assay",
			Parameters: "journal and synchronous, with the values of SQLite's pragmas journal_mode and synchronous",
			Open:       sqlite.Open, Lacks: sqldb.Lacks(), BackUp: sqlite.BackUp, Restored: sqlite.Restored,
			NoStatistics: "SQLite runs inside assay and keeps no account of its work",
		},
		{
			Name: "postgres", Schemes: []string{"postgres", "postgresql"}, Example: "postgres://user@host:5432/database", Summary: "PostgreSQL, and CockroachDB by its dialect",
			Parameters: "dialect (postgresql, cockroachdb); nodes (host:port,host:port: the servers behind a pooler or proxy, which assay compares); sslmode, sslrootcert, sslcert, sslkey and libpq's others (assay refuses by name one that it cannot honour); and any setting of the server, for the session. assay also reads libpq's other form (host=... dbname=...), its environment variables (PGHOST, PGPASSWORD and others), PGPASSFILE and pg_service.conf. It finds a connection pooler by itself",
			Open:       postgres.Open, Lacks: sqldb.Lacks(),
			Statistics: postgres.OpenStatistics,
		},
		{
			Name: "mysql", Schemes: []string{"mysql", "mariadb"}, Example: "mysql://user@host:3306,host2:3306/?engine=InnoDB", Summary: "MariaDB and MySQL, alone, as a Galera cluster, as a group or with replicas",
			Parameters: "socket (the path of the server's Unix socket, with localhost as the host; also in the host's place, as %2Fpath or unix(/path)), engine, dialect, balance (order, random: of several hosts), connect_timeout, statements (together, apart: how a transfer is sent), ssl-mode, ssl-ca, ssl-cert, ssl-key, ssl-passphrase, tls; and any variable of the server, for the session, except those that assay sets. The group client of ~/.my.cnf and MYSQL_PWD give what the address leaves open",
			Choices:    [][]string{{"", "balance=random"}, {"statements=together", "statements=apart"}},
			Open:       mysql.Open, Lacks: sqldb.Lacks(),
			Statistics: mysql.OpenStatistics,
		},
	}
}

func otherDrivers() []Driver {
	return []Driver{
		{
			Name: "mongodb", Schemes: []string{"mongodb", "mongodb+srv"}, Example: "mongodb://host:27017/?replicaSet=rs0", Summary: "MongoDB replica sets, sharded clusters through a mongos, and standalone servers for workloads without transactions",
			Parameters: "those of MongoDB's connection strings, such as replicaSet, w, wtimeoutMS, readConcernLevel, readPreference (without transactions), tls, tlsCAFile and tlsCertificateKeyFile; causalConsistency=true (without transactions); and shard=hashed through a mongos",
			Statistics: mongodb.OpenStatistics,
			Open:       mongodb.Open, Lacks: mongodb.Lacks(),
		},
		{
			Name: "cassandra", Schemes: []string{"cassandra"}, Example: "cassandra://host:9042,host/keyspace?consistency=quorum", Summary: "Apache Cassandra",
			Parameters: "consistency, replication (the copies of each row), tls, tlsCAFile, tlsCertFile, tlsKeyFile and tlsKeyFilePassword",
			Statistics: cassandra.OpenStatistics,
			Open:       cassandra.Open, Lacks: cassandra.Lacks(),
		},
		{
			Name: "redis", Schemes: []string{"redis", "rediss", "redis+sentinel", "rediss+sentinel", "redis+cluster", "rediss+cluster"}, Example: "redis+sentinel://host:26379,host2/NAME", Summary: "Redis, alone (redis://host), a primary that Sentinels watch, or a Redis Cluster (redis+cluster://host,host2)",
			Parameters: "prefix (of all keys); wait (how many replicas must have a write before it counts as acknowledged) and waitMS; with rediss tlsCAFile, tlsCertFile, tlsKeyFile and tlsKeyFilePassword; with Sentinels db",
			Choices:    [][]string{{"", "wait=1"}},
			Statistics: redis.OpenStatistics,
			Open:       redis.Open, Lacks: redis.Lacks(),
		},
		{
			Name: "foundationdb", Schemes: []string{"fdb"}, Example: "fdb:///etc/foundationdb/fdb.cluster", Summary: "FoundationDB, in builds with its client library (-tags foundationdb)",
			Parameters:   "prefix (of all keys) and causal_read_risky",
			NoStatistics: "FoundationDB keeps its account in a document of its own (status json), which assay does not read yet",
			Missing:      foundationdb.Missing(),
			Open:         foundationdb.Open, Lacks: foundationdb.Lacks(),
			Refuses: map[string]string{tpcc.Name: "FoundationDB's driver finds several rows by their keys at once only where the key has one column, so that each New-Order would read all stock of a warehouse"},
		},
		{
			Name: "etcd", Schemes: []string{"etcd"}, Example: "etcd://host:2379,host:2379/prefix", Summary: "etcd, of release 3.4 or later",
			Parameters: "reads (linearizable, serializable: whether a member asks the others before it answers), tls, tlsCAFile, tlsCertFile, tlsKeyFile and tlsKeyFilePassword",
			Statistics: etcd.OpenStatistics,
			Open:       etcd.Open, Lacks: etcd.Lacks(),
			Refuses: map[string]string{churn.Name: "a transaction of etcd changes at most 128 keys (--max-txn-ops), and churn's statements delete more rows"},
		},
		{
			Name: "rest", Schemes: []string{"http", "https"}, Example: "http://127.0.0.1:8080", Summary: "any of them through the web service of assay serve",
			Parameters:   "with https tlsCAFile, tlsCertFile, tlsKeyFile and tlsKeyFilePassword",
			NoStatistics: "the databases behind the service are not known to assay",
			Open:         rest.Open, Lacks: rest.Lacks(),
			Refuses: map[string]string{availability.Name: rest.Lacks()[store.Changes]},
		},
		{
			Name: "mem", Schemes: []string{"mem"}, Example: "mem://?bug=lost-ack:0.001", Summary: "a reference database in memory with bugs to switch on, to test the tester",
			Parameters:   "latency (of each operation, such as 2ms) and timeout (the probability that an operation ends unknown)",
			NoStatistics: "it runs inside assay and keeps no account of its work",
			Open:         mem.Open, Lacks: mem.Lacks(),
		},
		{
			Name: "null", Schemes: []string{"null"}, Example: "null://", Summary: "a store that answers at once and keeps nothing, for what assay itself takes; it is judged by nothing",
			NoStatistics: "it runs inside assay and keeps no account of its work",
			Open:         mem.OpenNull, Lacks: mem.NullLacks(),
			Refuses: map[string]string{smallbank.Name: mem.NullLacks()[store.Changes], tpcb.Name: mem.NullLacks()[store.Changes]},
		},
	}
}

// SchemeError means that no driver serves an address.
type SchemeError struct {
	// Scheme is the text before the colon; empty if there was no colon.
	Scheme string
	Known  []string
}

func (e *SchemeError) Error() string {
	if e.Scheme == "" {
		return "the database address has no scheme; write one of: " + strings.Join(e.Known, ", ")
	}
	return fmt.Sprintf("no driver for %q; the address begins like one of: %s%s", e.Scheme+":", strings.Join(e.Known, ", "),
		spelling.Hint(e.Scheme+":", "", Schemes()))
}

// Schemes are the schemes of all drivers, each with its colon.
func Schemes() []string {
	var all []string
	for _, d := range Drivers() {
		for _, s := range d.Schemes {
			all = append(all, s+":")
		}
	}
	return all
}

// DriverFor returns the address's driver, or a *SchemeError.
func DriverFor(address string) (Driver, error) {
	scheme, _, found := strings.Cut(address, ":")
	if !found {
		scheme = ""
	}
	var known []string
	for _, d := range Drivers() {
		for _, s := range d.Schemes {
			if s == scheme {
				return d, nil
			}
		}
		known = append(known, d.Example)
	}
	return Driver{}, &SchemeError{Scheme: scheme, Known: known}
}

// Cell says whether a driver serves a workload.
type Cell struct {
	Driver    string `json:"driver"`
	Workload  string `json:"workload"`
	Supported bool   `json:"supported"`
	Reason    string `json:"reason"`
}

// Matrix returns a cell for every driver and workload.
func Matrix() []Cell {
	var cells []Cell
	for _, d := range Drivers() {
		for _, w := range Workloads() {
			support := d.support(w)
			c := Cell{Driver: d.Name, Workload: w.Name, Supported: support.Open != nil, Reason: support.Reason}
			if d.Missing != "" && c.Supported {
				c.Supported, c.Reason = false, d.Missing
			}
			cells = append(cells, c)
		}
	}
	return cells
}

// Workloads returns all workloads.
func Workloads() []definition.Workload {
	return []definition.Workload{
		bank.Definition(), isolation.Definition(), availability.Definition(), entity.Definition(), candles.Definition(),
		bulkupdate.Definition(), churn.Definition(), ycsb.Definition(),
		smallbank.Definition(), tpcb.Definition(), tpcc.Definition(),
		script.Definition(),
	}
}

// WorkloadOf returns the workload of this name, or a *store.OptionError.
func WorkloadOf(name string) (definition.Workload, error) {
	var names []string
	for _, w := range Workloads() {
		if w.Name == name {
			return w, nil
		}
		names = append(names, w.Name)
	}
	return definition.Workload{}, &store.OptionError{Option: "workload", Value: name, Want: strings.Join(names, ", ")}
}

func bugsOf(name string) []bug.Bug {
	of, _ := WorkloadOf(name) // zero for an unknown workload
	return of.Bugs
}

// withBugs removes the parameter bug=NAME:PROBABILITY from an address before the driver sees it,
// and adds these bugs to the database.
func withBugs(open store.Opener, all []bug.Bug) store.Opener {
	if len(all) == 0 {
		return open
	}
	return func(ctx context.Context, target store.Target, schema store.Schema) (store.Database, error) {
		address, seeded, err := bugs.Take(target.Address, all)
		if err != nil {
			return nil, err
		}
		target.Address = address
		db, err := open(ctx, target, schema)
		if err != nil || len(seeded) == 0 {
			return db, err
		}
		return bugs.Over(db, schema, all, seeded, target.Seed), nil
	}
}
