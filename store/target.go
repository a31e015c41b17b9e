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
	// Address is the database's URL, password included. It must not be printed
	// or logged; Redact makes a printable form.
	Address string
	// ConnectTimeout bounds the first contact; see FirstContact.
	ConnectTimeout time.Duration
	// Isolation names one of the database's own isolation levels; empty means
	// the driver's default.
	Isolation string
	// Read names the member that answers reads where the workload lets the user
	// choose: ReadPrimary (also if empty), ReadSecondaryPreferred or
	// ReadNearest. A driver whose database has no such choice returns
	// *OptionError for any but ReadPrimary.
	Read string
	// Schema names the form of the tables where the workload lets the user choose,
	// as the workload's package has it; empty for its default. A driver that does not
	// have the form returns *OptionError.
	Schema string
	// Records is the shape of the workload's records, where it lets the user choose.
	Records RecordShape
	// Existing has the workload use tables that are there already; see Schema.
	Existing bool
	// Written and ReadOnly are, of an Existing schema, the tables that the run writes, and
	// those that it reads alone, as its statements call them.
	Written, ReadOnly []string
	// Seed feeds whatever the driver draws by chance (the timeouts
	// of driver/mem, the bugs of driver/bugs).
	Seed uint64
}

// DefaultConnectTimeout is used where a target says nothing.
const DefaultConnectTimeout = 10 * time.Second

// FirstContact is how long the first contact may take.
func (t Target) FirstContact() time.Duration {
	if t.ConnectTimeout <= 0 {
		return DefaultConnectTimeout
	}
	return t.ConnectTimeout
}

// RecordShape is how records of one table are; the zero value is the workload's default.
type RecordShape struct {
	// Table and Key are what the table and the column of the key are called; the key is a
	// text of at most KeyLength characters if Texts is true, and else an Integer.
	Table, Key string
	Texts      bool
	KeyLength  int
	// Prefix begins the names of the fields, of which there are Fields of at most Length
	// characters each.
	Prefix         string
	Fields, Length int
}

// Readers are who may answer reads.
func Readers() []string { return []string{ReadPrimary, ReadSecondaryPreferred, ReadNearest} }

// Which member answers reads; the words are MongoDB's (manual, "Read
// Preference").
const (
	ReadPrimary            = "primary"
	ReadSecondaryPreferred = "secondary-preferred"
	ReadNearest            = "nearest"
)

// Marker is how assay knows a schema as its own. A driver stores it inside what
// it creates and looks for it before it drops or changes anything.
type Marker struct {
	// Run identifies the run that created the schema.
	Run string `json:"run"`
	// Workload is the workload's name.
	Workload string `json:"workload"`
	// Version is assay's version.
	Version string `json:"version"`
	// Created is when, in UTC.
	Created time.Time `json:"created"`
	// Rows is the number of rows (accounts) that loading was to create.
	Rows int64 `json:"rows"`
	// Loaded is true once loading has finished.
	Loaded bool `json:"loaded"`
}

// Leftover describes what an earlier run left behind under our mark.
type Leftover struct {
	Marker Marker
	// Rows is how many rows (accounts) are there.
	Rows int64
}

// Product is what the database says of itself.
type Product struct {
	// Name is the product's own name: "PostgreSQL", "MongoDB", "SQLite".
	Name string `json:"name"`
	// Version is as the server gives it.
	Version string `json:"version"`
	// Settings are those that decide what a result means: isolation level,
	// durability, write concern, replication. Never an address or a password.
	Settings []Setting `json:"settings"`
	// Changed are those of the server that are not its defaults; nil if it does not tell.
	Changed []Setting `json:"changed,omitzero"`
	// Topology is what is known of the machines; zero fields are unknown.
	Topology Topology `json:"topology"`
	// Embedded is true if the database runs inside the assay process, so that
	// assay's own use of the processor cannot be told from the database's.
	Embedded bool `json:"embedded"`
}

// Setting is one name and value, kept in order.
type Setting struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// longestChanged bounds the value of a setting that is kept.
const longestChanged = 200

// Changed are a server's settings that are not its defaults, in order of their names, but for those that
// are of the place alone (ports, paths, logs) or may be secret.
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

// SettingBugs names the setting that lists the bugs that the database was opened
// with on purpose (driver/bugs). What is found then says nothing of the product.
const SettingBugs = "seeded bugs"

// SettingUnjudged names the setting that says why nothing that the database answers
// can be judged.
const SettingUnjudged = "not judged"

// SettingStoredAs begins the names of settings that list tables which the server stores in
// a way of which its other settings do not speak, as package durability reads them.
const SettingStoredAs = "stored as "

// SettingAltering names the setting that lists what hangs on tables which were there before and
// can change what is read of what was written; SettingAttached lists the rest.
const (
	SettingAltering = "altering existing tables"
	SettingAttached = "attached to existing tables"
)

// SettingLedBy names the setting that is the program by which the nodes are led, such as
// Patroni, where it is not the database itself that chooses its primary.
const SettingLedBy = "led by"

// SettingGroupSize is how many members a group of MySQL's has, SettingReplicas how many replicas a
// primary of MySQL's or MariaDB's, and SettingConfirming how many of these can confirm a commit.
const (
	SettingGroupSize  = "members of the group"
	SettingReplicas   = "replicas"
	SettingConfirming = "replicas that confirm"
)

// StrikesPrefix and the name of a seeded bug are the name under which Size.Rows has
// how often the bug has taken effect.
const StrikesPrefix = "strikes of "

// Topology is the size of the installation as far as the database tells; zero
// means unknown.
type Topology struct {
	Nodes            int   `json:"nodes,omitempty"`
	Shards           int   `json:"shards,omitempty"`
	Replicas         int   `json:"replicas,omitempty"`
	Arbiters         int   `json:"arbiters,omitempty"`
	CPUsPerNode      int   `json:"vcpu_per_node,omitempty"`
	MemoryPerNode    int64 `json:"ram_bytes_per_node,omitempty"`
	DiskBytesPerNode int64 `json:"disk_bytes_per_node,omitempty"`
}

// Size is what the data takes on disk, asked of the database, in bytes.
type Size struct {
	// Bytes is tables and indexes together.
	Bytes int64 `json:"bytes"`
	// Tables and Indexes are its parts, where the database can tell them
	// apart; both are 0 where it cannot.
	Tables  int64 `json:"tables_bytes"`
	Indexes int64 `json:"indexes_bytes"`
	// Rows counts the rows by the name of their table.
	Rows map[string]int64 `json:"rows,omitempty"`
	// Measured says what Bytes is where it is not the use of the disk; empty
	// where it is.
	Measured string `json:"measured,omitempty"`
}

// UnreachableError means that no connection could be made in time.
type UnreachableError struct {
	// Address is printable.
	Address string
	Err     error
}

func (e *UnreachableError) Error() string {
	return fmt.Sprintf("cannot reach %s: %v; check that the server runs and that the address is right", e.Address, e.Err)
}

func (e *UnreachableError) Unwrap() error { return e.Err }

// BlockedError means that the database was reached and kept from going on by something that
// others can end.
type BlockedError struct {
	// Address is printable.
	Address string
	// Doing is what was being done, and By what keeps it from going on.
	Doing, By string
	// For is how long it was waited for.
	For time.Duration
}

func (e *BlockedError) Error() string {
	return fmt.Sprintf("%s did not go on while %s, for %v: %s; then run again", e.Address, e.Doing, e.For.Round(time.Second), e.By)
}

// AuthError means that the database was reached and refused the user.
type AuthError struct {
	// Address is printable.
	Address string
	// User is the user's name, if one was given.
	User string
	// Reason is the server's, without any secret.
	Reason string
}

func (e *AuthError) Error() string {
	return fmt.Sprintf("%s refused user %q: %s; check the user and the password (ASSAY_DB keeps it off the command line)", e.Address, e.User, e.Reason)
}

// LevelError means that the server runs a session's transactions at another isolation level
// than the run is judged by: something on the way, or in the server, has changed it.
type LevelError struct{ Asked, InForce string }

func (e *LevelError) Error() string {
	return fmt.Sprintf("the server says that transactions run at %s, not at %s, which assay asked for; a proxy, a pooler or the server's "+
		"configuration changes the level: connect without it, or ask for the level in force with --isolation", e.InForce, e.Asked)
}

// KeepsLevel is a *LevelError unless the level that a server says is in force is the one that
// was asked for, in whatever case.
func KeepsLevel(asked, inForce string) error {
	inForce = strings.ToLower(strings.ReplaceAll(inForce, "-", " "))
	if asked = strings.ToLower(asked); asked == "" || inForce == "" || inForce == asked {
		return nil
	}
	return &LevelError{Asked: asked, InForce: inForce}
}

// ForeignError means that a schema (database, file) of the name that assay
// uses exists and does not carry assay's mark. It was not touched.
type ForeignError struct {
	// Name is the schema, database or file.
	Name string
	// Hint says what the user can do, in this database's words.
	Hint string
	// Others is what others have made inside of a schema that assay made, or on what is in
	// it, each with its kind and its name; empty if the schema itself is not assay's.
	Others []string
	// Lost is how a mark of assay's may have been lost, if it may.
	Lost string
}

// mostOthers is how many of Others an error names.
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

// OptionError means that the user asked for something that does not exist:
// an unknown option in an address, an isolation level that the database lacks.
type OptionError struct {
	// Option and Value are what was given.
	Option, Value string
	// Reason says what is wrong with it, without any secret; empty if that is
	// clear from Want.
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
	// Name is the schema, database or file that was looked for.
	Name string
}

func (e *NoSchemaError) Error() string {
	return fmt.Sprintf("%s does not exist or holds nothing of assay's; was it dropped since the run?", e.Name)
}

// IncompleteError means that reading back gave other rows than the database itself
// counts in the same state. What was not read is then not known to be lost.
type IncompleteError struct {
	// Table is its full name, or that of a collection.
	Table         string
	Read, Counted int64
}

func (e *IncompleteError) Error() string {
	return fmt.Sprintf("reading back was incomplete: %s gave %d rows, the database counts %d in the same state; look for a setting that limits or filters what a query returns, and read again (assay check --db)",
		e.Table, e.Read, e.Counted)
}

// Complete gives *IncompleteError unless as many rows of a table were read as the database
// counts.
func Complete(table string, read, counted int64) error {
	if read != counted {
		return &IncompleteError{Table: table, Read: read, Counted: counted}
	}
	return nil
}
