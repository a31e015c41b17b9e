// Package catalog holds the explicit tables of what assay has: drivers,
// workloads and which driver serves which workload. A new driver or workload
// is one line here; nothing registers itself.
//
// It must not know how a run goes.
package catalog

import (
	"context"
	"fmt"
	"strings"

	"assay/driver/cassandra"
	"assay/driver/foundationdb"
	"assay/driver/mem"
	"assay/driver/mongodb"
	"assay/driver/mysql"
	"assay/driver/postgres"
	"assay/driver/rest"
	"assay/driver/sqlite"
	"assay/spelling"
	"assay/workload"
	"assay/workload/availability"
	"assay/workload/bank"
	"assay/workload/bulkupdate"
	"assay/workload/candles"
	"assay/workload/churn"
	"assay/workload/entity"
	"assay/workload/isolation"
)

// The names of the workloads.
const (
	Bank         = "bank"
	Isolation    = "isolation"
	Availability = "availability"
	Entity       = "entity"
	Candles      = "candles"
	BulkUpdate   = "bulkupdate"
	Churn        = "churn"
)

// Workload is one workload that can be run.
type Workload struct {
	Name    string
	Summary string
}

// Workloads returns all workloads.
func Workloads() []Workload {
	return []Workload{
		{Name: Bank, Summary: "money transfers between accounts; the ledger is checked to the last transfer"},
		{Name: Isolation, Summary: "small transactions over shared lists, registers, groups and pairs; anomalies are named"},
		{Name: Availability, Summary: "inserts and reads at a set rate under a client policy, while nodes fail; hangs, outages and losses are told"},
		{Name: Entity, Summary: "entities of seven fields written and read by id, directly or through assay serve; every read is compared"},
		{Name: Candles, Summary: "a day of trade candles under three more indexes; rate of writing, time of queries, size on disk, every answer checked"},
		{Name: BulkUpdate, Summary: "all documents of a user updated at once, by more and more workers; task times, lock waits, every document checked"},
		{Name: Churn, Summary: "rows deleted and filled in again; size on disk over time, and what a repair gives back"},
	}
}

// Driver is one protocol.
type Driver struct {
	Name string
	// Schemes are the URL schemes that it serves, without the colon.
	Schemes []string
	// Example is an address as a user would write it.
	Example string
	Summary string
	// Missing says why this build cannot open it at all; empty if it can.
	Missing string
	// Bank opens the database for the bank workload. It is nil if the
	// database cannot honour it; then NoBank says why.
	Bank   func(ctx context.Context, target workload.Target) (bank.Store, error)
	NoBank string
	// Isolation and NoIsolation are the same for the isolation workload.
	Isolation   func(ctx context.Context, target workload.Target) (isolation.Store, error)
	NoIsolation string
	// RewritesLists is true if the isolation workload's appends read a list and
	// write it anew, in the transaction.
	RewritesLists bool
	// Availability and NoAvailability are the same for workload availability.
	Availability   func(ctx context.Context, target workload.Target) (availability.Store, error)
	NoAvailability string
	// Entity and NoEntity are the same for workload entity.
	Entity   func(ctx context.Context, target workload.Target) (entity.Store, error)
	NoEntity string
	// Candles and NoCandles are the same for workload candles.
	Candles   func(ctx context.Context, target workload.Target) (candles.Store, error)
	NoCandles string
	// BulkUpdate and NoBulkUpdate are the same for workload bulkupdate.
	BulkUpdate   func(ctx context.Context, target workload.Target) (bulkupdate.Store, error)
	NoBulkUpdate string
	// Churn and NoChurn are the same for workload churn.
	Churn   func(ctx context.Context, target workload.Target) (churn.Store, error)
	NoChurn string
}

// onlyEntities is why a service serves no other workload.
const onlyEntities = "the service behind the address has two calls, to write an entity and to read one"

// Drivers returns all drivers.
func Drivers() []Driver {
	return []Driver{
		{Name: "sqlite", Schemes: []string{"sqlite"}, Example: "sqlite:PATH",
			Summary: "SQLite, embedded in assay", Bank: sqlite.OpenBank, Isolation: sqlite.OpenIsolation, Availability: sqlite.OpenAvailability, Entity: sqlite.OpenEntity, Candles: sqlite.OpenCandles, BulkUpdate: sqlite.OpenBulkUpdate, Churn: sqlite.OpenChurn},
		{Name: "postgres", Schemes: []string{"postgres", "postgresql"}, Example: "postgres://user@host:5432/database",
			Summary: "PostgreSQL, and CockroachDB by its dialect", Bank: postgres.OpenBank, Isolation: postgres.OpenIsolation, Availability: postgres.OpenAvailability, Entity: postgres.OpenEntity, Candles: postgres.OpenCandles, BulkUpdate: postgres.OpenBulkUpdate, Churn: postgres.OpenChurn},
		{Name: "mysql", Schemes: []string{"mysql", "mariadb"}, Example: "mysql://user@host:3306,host2:3306/?engine=InnoDB",
			Summary: "MariaDB and MySQL, alone or as a Galera cluster", Bank: mysql.OpenBank, Isolation: mysql.OpenIsolation, Availability: mysql.OpenAvailability, Entity: mysql.OpenEntity, Candles: mysql.OpenCandles, BulkUpdate: mysql.OpenBulkUpdate, Churn: mysql.OpenChurn},
		{Name: "mongodb", Schemes: []string{"mongodb", "mongodb+srv"}, Example: "mongodb://host:27017/?replicaSet=rs0",
			Summary: "MongoDB replica sets, and sharded clusters through a mongos", Bank: mongodb.OpenBank, Isolation: mongodb.OpenIsolation, Availability: mongodb.OpenAvailability, Entity: mongodb.OpenEntity, Candles: mongodb.OpenCandles, BulkUpdate: mongodb.OpenBulkUpdate, Churn: mongodb.OpenChurn},
		{Name: "cassandra", Schemes: []string{"cassandra"}, Example: "cassandra://host:9042,host/keyspace?consistency=quorum",
			Summary: "Apache Cassandra", Availability: cassandra.OpenAvailability, Entity: cassandra.OpenEntity, Candles: cassandra.OpenCandles,
			NoChurn:      "CQL has no way to give space back: compaction and the removal of what was deleted are asked for by nodetool",
			NoBulkUpdate: "Cassandra has no update of all rows of a partition: each row must be named by its whole key, and a batch of such updates is another thing",
			NoBank:       "Cassandra has no transaction over several partitions: a transfer could be half done",
			NoIsolation:  "Cassandra has no transaction over several rows: a lightweight transaction is one condition in one partition"},
		{Name: "foundationdb", Schemes: []string{"fdb"}, Example: "fdb:///etc/foundationdb/fdb.cluster",
			Summary: "FoundationDB, in builds with its client library (-tags foundationdb)", Missing: foundationdb.Missing(), Bank: foundationdb.OpenBank, Isolation: foundationdb.OpenIsolation, RewritesLists: true, Availability: foundationdb.OpenAvailability, Entity: foundationdb.OpenEntity, Candles: foundationdb.OpenCandles, BulkUpdate: foundationdb.OpenBulkUpdate,
			NoChurn: "FoundationDB gives space back by itself and has no repair to be asked for; it tells the size of its disks, not that of a range exactly"},
		{Name: "rest", Schemes: []string{"http", "https"}, Example: "http://127.0.0.1:8080",
			Summary: "any of them through the web service of assay serve", Entity: rest.OpenEntity,
			NoBank: onlyEntities, NoIsolation: onlyEntities, NoAvailability: onlyEntities, NoCandles: onlyEntities, NoBulkUpdate: onlyEntities, NoChurn: onlyEntities},
		{Name: "mem", Schemes: []string{"mem"}, Example: "mem://?bug=lost-ack:0.001",
			Summary: "a reference database in memory with bugs to switch on, to test the tester", Bank: mem.OpenBank, Isolation: mem.OpenIsolation, Availability: mem.OpenAvailability, Entity: mem.OpenEntity, Candles: mem.OpenCandles, BulkUpdate: mem.OpenBulkUpdate, Churn: mem.OpenChurn},
	}
}

// SchemeError means that no driver serves an address.
type SchemeError struct {
	// Scheme is what stood before the colon; empty if there was no colon.
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

// Schemes are what addresses begin with, each with its colon.
func Schemes() []string {
	var all []string
	for _, d := range Drivers() {
		for _, s := range d.Schemes {
			all = append(all, s+":")
		}
	}
	return all
}

// DriverFor returns the driver that serves the address, or a *SchemeError.
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
	// Reason says why not; empty if supported.
	Reason string `json:"reason"`
}

// Matrix returns a cell for every driver and workload.
func Matrix() []Cell {
	var cells []Cell
	for _, d := range Drivers() {
		row := []Cell{
			{Driver: d.Name, Workload: Bank, Supported: d.Bank != nil, Reason: d.NoBank},
			{Driver: d.Name, Workload: Isolation, Supported: d.Isolation != nil, Reason: d.NoIsolation},
			{Driver: d.Name, Workload: Availability, Supported: d.Availability != nil, Reason: d.NoAvailability},
			{Driver: d.Name, Workload: Entity, Supported: d.Entity != nil, Reason: d.NoEntity},
			{Driver: d.Name, Workload: Candles, Supported: d.Candles != nil, Reason: d.NoCandles},
			{Driver: d.Name, Workload: BulkUpdate, Supported: d.BulkUpdate != nil, Reason: d.NoBulkUpdate},
			{Driver: d.Name, Workload: Churn, Supported: d.Churn != nil, Reason: d.NoChurn},
		}
		for _, c := range row {
			if d.Missing != "" && c.Supported {
				c.Supported, c.Reason = false, d.Missing
			}
			cells = append(cells, c)
		}
	}
	return cells
}
