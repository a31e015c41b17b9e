package store

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"assay/internal/spelling"
)

// Target says where the database is and how to talk to it.
type Target struct {
	// Address is the database's URL, password included. Never print or log it; use Redact.
	Address        string
	ConnectTimeout time.Duration
	// Isolation names one of the database's levels; empty means the driver's default.
	Isolation string
	// Read names the member that answers reads where the workload lets the user choose; empty is
	// ReadPrimary. A driver without that choice returns *OptionError for others.
	Read string
	// Schema names a form of the tables, as the workload's package defines it; empty is its
	// default. A driver without that form returns *OptionError.
	Schema   string
	Records  RecordShape
	Existing bool
	// Shared means that processes of other machines, whose clocks may differ, write as well.
	Shared bool
	// Written and ReadOnly are the tables of an Existing schema that the run writes, and those
	// that it only reads, named as in statements.
	Written, ReadOnly []string
	// Seed feeds the driver's random choices (timeouts of driver/mem, bugs of driver/bugs).
	Seed uint64
}

// DefaultConnectTimeout replaces a ConnectTimeout of 0.
const DefaultConnectTimeout = 10 * time.Second

// FirstContact is how long the first contact may take.
func (t Target) FirstContact() time.Duration {
	if t.ConnectTimeout <= 0 {
		return DefaultConnectTimeout
	}
	return t.ConnectTimeout
}

// RecordShape is the shape of one table's records; zero is the workload's default.
type RecordShape struct {
	// Table and Key name the table and its key column. The key is a text of at most KeyLength
	// characters if Texts is true, otherwise an Integer.
	Table, Key string
	Texts      bool
	KeyLength  int
	// Prefix begins the names of the Fields fields, of at most Length characters each.
	Prefix         string
	Fields, Length int
}

// Readers are the values of Target.Read.
func Readers() []string { return []string{ReadPrimary, ReadSecondaryPreferred, ReadNearest} }

// Which member answers reads, in MongoDB's words (manual, "Read Preference").
const (
	ReadPrimary            = "primary"
	ReadSecondaryPreferred = "secondary-preferred"
	ReadNearest            = "nearest"
)

// Marker is how assay recognizes its schema. A driver stores it in what it creates and looks for
// it before it drops or changes anything.
type Marker struct {
	Run      string    `json:"run"`
	Workload string    `json:"workload"`
	Version  string    `json:"version"`
	Created  time.Time `json:"created"`
	// Rows is how many rows (accounts) loading was to create.
	Rows   int64 `json:"rows"`
	Loaded bool  `json:"loaded"`
}

// Leftover is what an earlier run left under our mark.
type Leftover struct {
	Marker Marker
	Rows   int64
}

// Product is what the database says of itself.
type Product struct {
	// Name is the product's own: "PostgreSQL", "MongoDB", "SQLite".
	Name    string `json:"name"`
	Version string `json:"version"`
	// Settings decide what a result means: isolation level, durability, write concern,
	// replication. They never hold an address or a password.
	Settings []Setting `json:"settings"`
	// Changed are the server's non-default settings; nil if it does not tell.
	Changed  []Setting `json:"changed,omitzero"`
	Topology Topology  `json:"topology"`
	// Embedded is true if the database shares assay's process and so its processor time.
	Embedded bool `json:"embedded"`
}

// Setting is a name and a value.
type Setting struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

const longestChanged = 200

// Changed returns non-default settings by name, without ports, paths, logs and secrets.
func Changed(values map[string]string) []Setting {
	all := []Setting{}
	of := []string{"password", "passphrase", "secret", "port", "socket", "bind", "bindip", "dbpath", "datadir", "basedir", "tmpdir", "dir", "directory", "directories", "path",
		"host", "hostname", "address", "addresses", "conninfo", "command", "keyfile", "hba", "ident", "timezone", "datestyle"}
	first, last := []string{"log", "lc", "ssl", "tls", "net", "systemlog", "processmanagement", "security", "report"}, []string{"file", "name", "id", "uuid", "basename"}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		words := strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return strings.ContainsRune("_-. ", r) })
		switch {
		case len(words) == 0 || len(values[name]) > longestChanged:
		case slices.ContainsFunc(words, func(w string) bool { return slices.Contains(of, w) }):
		case slices.Contains(first, words[0]) || slices.Contains(last, words[len(words)-1]):
		default:
			all = append(all, Setting{name, values[name]})
		}
	}
	return all
}

// SettingBugs lists seeded bugs (driver/bugs). Findings then say nothing of the product.
const SettingBugs = "seeded bugs"

// SettingUnjudged names the setting that says why nothing can be judged.
const SettingUnjudged = "not judged"

// SettingStoredAs begins settings of tables stored in an unusual way, for package durability.
const SettingStoredAs = "stored as "

// SettingAltering names the setting that lists what can alter rows of existing tables;
// SettingAttached lists what else hangs on them.
const (
	SettingAltering = "altering existing tables"
	SettingAttached = "attached to existing tables"
)

// SettingLedBy names the setting with the program that leads the nodes, such as Patroni, unless
// the database chooses its primary itself.
const SettingLedBy = "led by"

// SettingManagerVersion names the setting with that program's version.
const SettingManagerVersion = "version of the manager"

// SettingGroupSize is the number of members of a MySQL group. SettingReplicas counts the replicas
// of a MySQL or MariaDB primary, SettingConfirming the replicas that can confirm commits.
const (
	SettingGroupSize  = "members of the group"
	SettingReplicas   = "replicas"
	SettingConfirming = "replicas that confirm"
)

// SettingTimestamps says whose clock orders Cassandra's writes; TimestampsCoordinated is the nodes'.
const (
	SettingTimestamps     = "timestamps"
	TimestampsCoordinated = "of the coordinating node"
)

// StrikesPrefix and a bug's name are the key in Size.Rows of how often the bug took effect.
const StrikesPrefix = "strikes of "

// Topology is the size of the installation; zero means unknown.
type Topology struct {
	Nodes            int   `json:"nodes,omitempty"`
	Shards           int   `json:"shards,omitempty"`
	Replicas         int   `json:"replicas,omitempty"`
	Arbiters         int   `json:"arbiters,omitempty"`
	CPUsPerNode      int   `json:"vcpu_per_node,omitempty"`
	MemoryPerNode    int64 `json:"ram_bytes_per_node,omitempty"`
	DiskBytesPerNode int64 `json:"disk_bytes_per_node,omitempty"`
}

// Size is the space on disk in bytes, by the database's account.
type Size struct {
	Bytes int64 `json:"bytes"`
	// Tables and Indexes are 0 if the database cannot tell them apart.
	Tables  int64            `json:"tables_bytes"`
	Indexes int64            `json:"indexes_bytes"`
	Rows    map[string]int64 `json:"rows,omitempty"`
	// Measured says what Bytes counts if it is not space on disk.
	Measured string `json:"measured,omitempty"`
}

// UnreachableError means that no connection could be made in time.
type UnreachableError struct {
	Address string
	Err     error
}

func (e *UnreachableError) Error() string {
	return fmt.Sprintf("cannot reach %s: %v; check that the server runs and that the address is right", e.Address, e.Err)
}

func (e *UnreachableError) Unwrap() error { return e.Err }

// BlockedError means that the database was reached, but something that others can end held it up.
type BlockedError struct {
	Address string
	// By is what holds up Doing.
	Doing, By string
	For       time.Duration
}

func (e *BlockedError) Error() string {
	return fmt.Sprintf("%s did not go on while %s, for %v: %s; then run again", e.Address, e.Doing, e.For.Round(time.Second), e.By)
}

// AuthError means that the database was reached and refused the user.
type AuthError struct {
	Address string
	User    string
	// Reason is the server's, without any secret.
	Reason string
}

func (e *AuthError) Error() string {
	return fmt.Sprintf("%s refused user %q: %s; check the user and the password (ASSAY_DB keeps it off the command line)", e.Address, e.User, e.Reason)
}

// LevelError means that transactions run at another isolation level than asked for: the server,
// or something on the way, changed it.
type LevelError struct{ Asked, InForce string }

func (e *LevelError) Error() string {
	return fmt.Sprintf("the server says that transactions run at %s, not at %s, which assay asked for; a proxy, a pooler or the server's "+
		"configuration changes the level: connect without it, or ask for the level in force with --isolation", e.InForce, e.Asked)
}

// KeepsLevel is a *LevelError unless the level in force is the one asked for, in any case.
func KeepsLevel(asked, inForce string) error {
	inForce = strings.ToLower(strings.ReplaceAll(inForce, "-", " "))
	if asked = strings.ToLower(asked); asked == "" || inForce == "" || inForce == asked {
		return nil
	}
	return &LevelError{Asked: asked, InForce: inForce}
}

// ForeignError means that a schema (database, file) of assay's name exists without assay's mark,
// or holds what others made. It was not touched.
type ForeignError struct {
	Name string
	// Hint says what the user can do, in this database's words.
	Hint string
	// Others names what others made in or on a schema that assay made, each with its kind; empty
	// if the schema is not assay's.
	Others []string
	// Lost says how a mark of assay's may have been lost; empty if it was not.
	Lost string
}

const mostOthers = 5

func (e *ForeignError) Error() string {
	if len(e.Others) > 0 {
		named := strings.Join(e.Others[:min(mostOthers, len(e.Others))], "; ")
		if more := len(e.Others) - mostOthers; more > 0 {
			named += fmt.Sprintf("; and %d more", more)
		}
		return fmt.Sprintf("%s is assay's, and what assay did not make is in it or depends on it: %s; nothing was changed; %s", e.Name, named, e.Hint)
	}
	if e.Lost != "" {
		return fmt.Sprintf("%s exists without assay's mark: %s; it was left untouched; %s", e.Name, e.Lost, e.Hint)
	}
	return fmt.Sprintf("%s exists and was not made by assay; it was left untouched; %s", e.Name, e.Hint)
}

// OptionError means an unknown or impossible option, such as an unknown isolation level.
type OptionError struct {
	Option, Value string
	// Reason says what is wrong, without any secret; empty if Want makes it clear.
	Reason string
	// Want lists what would be accepted.
	Want string
}

func (e *OptionError) Error() string {
	reason := ""
	if e.Reason != "" {
		reason = ": " + e.Reason
	}
	list := strings.NewReplacer(" and ", ",", " or ", ",").Replace(e.Want)
	possible := strings.FieldsFunc(list, func(r rune) bool { return strings.ContainsRune(",:;=()", r) })
	for i := range possible {
		possible[i] = strings.TrimSpace(possible[i])
	}
	return fmt.Sprintf("%s %q is not possible here%s; possible: %s%s", e.Option, e.Value, reason, e.Want,
		spelling.Hint(e.Value, "", possible))
}

// NoSchemaError means that there is nothing of ours to read.
type NoSchemaError struct {
	Name string
}

func (e *NoSchemaError) Error() string {
	return fmt.Sprintf("%s does not exist or holds nothing of assay's; was it dropped since the run?", e.Name)
}

// IncompleteError means that a read gave other rows than the database counts in the same state.
// Rows not read are then not known to be lost.
type IncompleteError struct {
	Table         string
	Read, Counted int64
}

func (e *IncompleteError) Error() string {
	return fmt.Sprintf("reading back was incomplete: %s gave %d rows, the database counts %d in the same state; look for a setting that limits or filters what a query returns, and read again (assay check --db)",
		e.Table, e.Read, e.Counted)
}

// Complete gives *IncompleteError if the two numbers of a table's rows differ.
func Complete(table string, read, counted int64) error {
	if read != counted {
		return &IncompleteError{Table: table, Read: read, Counted: counted}
	}
	return nil
}
