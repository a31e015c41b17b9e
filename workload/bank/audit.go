package bank

import "context"

// Auditor is a Store that can read accounts in one transaction while transfers
// go on, at an isolation level that promises a snapshot or more, whatever the
// level of the transfers is. A Store without it has no audits, and the report
// says so.
type Auditor interface {
	// Audit reads these accounts, at most MaxAudited, in one read-only
	// transaction, one statement an account where the level promises that they
	// agree, into states, in the order of ids. An error means that nothing is
	// known; an account that is not there has the zero State.
	Audit(ctx context.Context, ids []int64, states []State) error
	// AuditAll reads all accounts in one read-only transaction.
	AuditAll(ctx context.Context) (Totals, error)
}

// MaxAudited is the most accounts of one Audit.
const MaxAudited = 16

// Totals is what AuditAll read.
type Totals struct {
	// Accounts is how many there were, Balance the sum of their balances and
	// Versions that of their versions.
	Accounts, Balance, Versions int64
}

// Replica is one member that holds a copy of the data.
type Replica struct {
	// Name is printable and tells the members apart, such as host:port.
	Name string
	// Primary is true for the member that takes writes.
	Primary bool
}

// Replicated is a Store whose database keeps copies that can be read one by
// one. A Store without it, or with fewer than two Replicas, has no check of
// replicas.
type Replicated interface {
	// Replicas lists the members that hold data, the primary among them, and
	// says of those that cannot be reached why (the error's text, by name).
	Replicas(ctx context.Context) (members []Replica, unreachable map[string]error, err error)
	// CatchUp returns when this member has applied all that the primary had
	// committed at the call; ctx bounds it.
	CatchUp(ctx context.Context, member Replica) error
	// ReadReplica is Store.Read, from this member itself, and from no other.
	ReadReplica(ctx context.Context, member Replica, account func(Account) error, entry func(Entry) error) error
}
