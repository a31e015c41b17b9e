package sqldb

import "context"

// Server is a Namespace's protocol. Its methods are safe for concurrent use.
type Server interface {
	// Use lends a connection to a server that takes writes and sees everything committed on any
	// server. work leaves it outside of any transaction, or closed.
	Use(ctx context.Context, work func(Conn) error) error
	// Kind classifies an error.
	Kind(err error) ErrorKind
	// Snapshot begins a read-only transaction on one state. An audit's level must show a state
	// between two commits.
	Snapshot(audit bool) []string
	// SessionName identifies a run's sessions for Catalog.Sessions.
	SessionName(run string) string
	// Measure updates the server's statistics of table sizes.
	Measure(ctx context.Context, c Conn) error
	// Connect opens a session's connection for these statements. Without a schema of assay's it
	// returns *store.NoSchemaError. If Schema.Reads is set, reads may go to another server.
	Connect(ctx context.Context, statements []Statement) (Connection, error)
	// Replicate returns when everything made is on all servers that sessions use.
	Replicate(ctx context.Context) error
}

// ErrorKind is a Namespace's view of an error.
type ErrorKind uint8

const (
	// OtherError is any other error.
	OtherError ErrorKind = iota
	// NotThere: a table, schema or session is missing.
	NotThere
	// Clash: a concurrent change conflicts; a retry may succeed.
	Clash
	// NotAllowed: the user lacks a privilege.
	NotAllowed
	// NoWrites: the server takes no writes.
	NoWrites
	// TimedOut: a time limit of the server ended the statement.
	TimedOut
	// InUse: something depends on the object to drop.
	InUse
)

// Catalog is a product's SQL for schemas.
type Catalog struct {
	// Noun is the product's word for a schema.
	Noun string
	// Owner asks for the owner of schema $1 and for this user. The owner is empty if there is
	// none, or if this user has the owner's rights. OwnerAdvice says what to do about another
	// owner. Both are empty if schemas have no owner.
	Owner       string
	OwnerAdvice func(schema, owner, user string) string
	// Foreign advises on a schema that is not assay's, Advice on errors of a kind.
	Foreign string
	Advice  map[ErrorKind]string
	// Inspect counts in schema $1: everything but the lease, and the schema itself if an empty
	// one is somebody's; possible tables of the mark; possible tables of the lease.
	Inspect string
	// Begin begins a transaction that can make schemas and tables. It is empty if each
	// statement that makes one commits. With Stepwise, tables are nevertheless made and dropped
	// one at a time; only the lease's table is made in a transaction.
	Begin    string
	Stepwise bool
	// Make makes the schema and Mark the table assay_mark, unless they exist. ReadMark is the
	// mark as text; InsertMark and UpdateMark write $1. Drop drops the empty schema.
	Make, Mark, Drop                 []string
	ReadMark, InsertMark, UpdateMark string
	// Tables lists the tables of schema $1 without mark and lease. Cases says that unquoted
	// names keep their capital letters.
	Tables string
	// Others lists kind, name and place (a table or the schema) of everything in schema $1 except
	// the tables in $2, separated by commas. It includes what uses something in the schema, or is
	// dropped with it. Names are as in statements. Columns, constraints and privileges that an
	// administrator adds to a table are no objects of their own. OtherHint says what to do.
	Others, OtherHint string
	// Kinds are the kinds of Others that need a DROP, in order. Unchecked, until Checked, lets
	// tables be dropped in any order; both are empty if one DROP takes several tables.
	Kinds              []string
	Unchecked, Checked string
	// Use makes unqualified names mean the schema's; empty if connections begin so.
	Use   string
	Cases bool
	// Moment is the type of the lease's moments and Now the server's clock. After is the moment
	// %s microseconds from now, Microseconds the moment %s in microseconds since 1970.
	Moment, Now, After, Microseconds string
	// Refresh updates the planner's statistics of the table that follows.
	Refresh string
	// Size asks for the bytes of table %[2]s in schema %[1]s, the bytes of its indexes, and its
	// rows.
	Size string
	// Stored lists way of storage and name of schema $1's tables without mark and lease, in
	// order: all, or those stored in an unusual way. It is empty if there is only one way.
	Stored string
	// Located asks for schema, name and kind (empty: plain table) of the table called $1;
	// LocatedHint says what to do if there is none. Columns lists the Fields of table $2 in
	// schema $1. Keys lists its primary key, in order, and must work for a reading user.
	// Attached lists its store.Attachments; empty if there can be none.
	Located, LocatedHint, Columns, Keys, Attached string
	// Sessions lists ids and states of the sessions named $1 (Server.SessionName) on the
	// connection's server. EndSession ends session %s of the name $1.
	Sessions, EndSession string
}

func (c *Catalog) stepwise() bool { return c.Begin == "" || c.Stepwise }
