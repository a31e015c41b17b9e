package sqldb

import "context"

// Server is what a Namespace needs of a protocol. Its methods are safe for
// concurrent use.
type Server interface {
	// Use lends a connection to a server that takes writes, which sees what was
	// committed before on any server. work leaves it outside of any transaction, or
	// closed.
	Use(ctx context.Context, work func(Conn) error) error
	// Kind is what a Namespace has to know of an error.
	Kind(err error) ErrorKind
	// Snapshot are the statements that begin a read-only transaction of one state;
	// that of an audit is at a level that shows a state between two commits.
	Snapshot(audit bool) []string
	// SessionName is by what Catalog.Sessions knows the sessions of a run.
	SessionName(run string) string
	// Measure brings up to date what the server knows of the sizes of tables.
	Measure(ctx context.Context, c Conn) error
	// Connect opens the connection of one session, which will use these statements. Without
	// a schema of ours it gives *store.NoSchemaError. Of a Schema with Reads what reads may
	// go to another server.
	Connect(ctx context.Context, statements []Statement) (Connection, error)
	// Replicate returns when what was made is on all servers that sessions go to.
	Replicate(ctx context.Context) error
}

// ErrorKind is what a Namespace has to know of an error.
type ErrorKind uint8

const (
	// OtherError is none of the following.
	OtherError ErrorKind = iota
	// NotThere: there is no such table, schema or session.
	NotThere
	// Clash: another changed the same at the same time; it can be tried again.
	Clash
	// NotAllowed: the user lacks a privilege.
	NotAllowed
	// NoWrites: the server takes no writes.
	NoWrites
	// InUse: something depends on what was to be dropped.
	InUse
)

// Catalog is how a product keeps schemas, in its SQL.
type Catalog struct {
	// Noun is what the product calls a schema.
	Noun string
	// Owner asks of the schema $1 whose it is, empty if this user has the owner's rights or
	// there is none, and who this user is. OwnerAdvice is what to do where it is another's.
	// Empty where schemas have no owner.
	Owner       string
	OwnerAdvice func(schema, owner, user string) string
	// Foreign is what to do about one that is not ours, and Advice about errors of
	// these kinds.
	Foreign string
	Advice  map[ErrorKind]string
	// Inspect counts, in the schema of the name $1: all there is but the lease, and
	// the schema itself where an empty one is somebody's; the tables that can hold
	// the marker; those that can hold the lease.
	Inspect string
	// Begin begins a transaction in which schema and tables can be made. It is empty
	// where each statement that makes one is a transaction of its own. Stepwise is
	// whether what is more than the lease's table is made and dropped a statement at a
	// time nevertheless.
	Begin    string
	Stepwise bool
	// Make makes the schema, and Mark the table assay_mark, unless they are there;
	// its column mark is read as text by ReadMark; InsertMark and UpdateMark write $1 to
	// its only row. Drop drops the schema, which is empty then.
	Make, Mark, Drop                 []string
	ReadMark, InsertMark, UpdateMark string
	// Tables lists the tables of the schema $1 but for those of the marker and the lease.
	// Cases is whether names keep their capital letters without quotes.
	Tables string
	// Others lists, as kind, name and what it is on, all that is in the schema $1 but for
	// the tables of the names in $2, which are separated by commas, and all that uses
	// something in it or goes with it. Name is as statements have it. What an administrator
	// adds to a table itself, such as a column, a constraint or a privilege, is no object of
	// its own. OtherHint is what to do about it.
	Others, OtherHint string
	// Kinds are those kinds of Others that DROP is told of, in the order of dropping; others
	// go with them. Unchecked lets tables be dropped in any order until Checked; both are
	// empty where several are dropped by one statement.
	Kinds              []string
	Unchecked, Checked string
	// Use has names without a qualifier lie in the schema; empty where connections begin so.
	Use   string
	Cases bool
	// Moment is the type of the lease's moments, Now the server's clock, After the
	// moment that many (%s) microseconds from now, and Microseconds a moment %s in
	// microseconds since 1970.
	Moment, Now, After, Microseconds string
	// Refresh, before a table's name, brings the planner's statistics up to date.
	Refresh string
	// Size asks for the bytes of a table, of its indexes, and its rows; %[1]s is the
	// schema, %[2]s the table.
	Size string
	// Stored lists, of the tables of the schema $1 but for those of the marker and the
	// lease, how each is stored and its name, in their order: all of them, or those that
	// are stored in another way than is usual. Empty where there is one way only.
	Stored string
	// Located asks where a table is that statements call $1: its schema, its name, and what
	// it is if it is no plain table; LocatedHint is what to do if it gives no row. Columns
	// lists the columns of the table $2 in the schema $1, as Field has them. Keys lists those of
	// its primary key, in order, as a user sees them who may only read. Attached lists what hangs
	// on it, and whether that alters rows (store.Attachment); empty where nothing can.
	Located, LocatedHint, Columns, Keys, Attached string
	// Sessions lists the ids and the states of the sessions of the name $1
	// (Server.SessionName) on the connection's server; EndSession ends that of the
	// name $1 with the id %s.
	Sessions, EndSession string
}

func (c *Catalog) stepwise() bool { return c.Begin == "" || c.Stepwise }
