package store

import (
	"context"
	"encoding/json"
	"fmt"
	"sync/atomic"
	"time"
)

// Leaser is the part of a Database by which a run owns the workload's schema while it lives. Two
// runs on one schema would convict the database of each other's work.
//
// The lease is a row (document, key, file) beside the mark, with an expiry that the run keeps
// extending. It is data because data survives failovers and poolers and is the same on all nodes.
// Advisory locks do not: GET_LOCK is local to a Galera node, and PostgreSQL's end with their
// connection and do nothing in CockroachDB. The database's clock decides expiry, so clocks of
// assay's machines do not matter.
type Leaser interface {
	// Lease returns the lease, expired or not, or nil. It changes nothing.
	Lease(ctx context.Context) (*Lease, error)

	// TakeLease takes the lease for ttl if there is none or it has expired. It also replaces the
	// holder's own lease, and one with the token gone, whose process has ended (empty: no such
	// token). Otherwise it gives *HeldError. One of several concurrent callers succeeds. It makes
	// what the lease needs; a schema of our name without our mark gives *ForeignError and stays
	// untouched. Create and Drop then treat the lease as this Database's.
	TakeLease(ctx context.Context, holder Holder, ttl time.Duration, gone string) error

	// RenewLease sets the expiry of the lease with this token to ttl from now, even if it has
	// expired. Another token, alive or not, gives *HeldError; no lease, *NoSchemaError.
	RenewLease(ctx context.Context, token string, ttl time.Duration) error

	// ReleaseLease ends the lease with this token. A missing or foreign lease is no error.
	ReleaseLease(ctx context.Context, token string) error
}

// Holder says who holds a lease.
type Holder struct {
	// Token is unique to one taking of a lease: another process may judge the same run later.
	Token string `json:"token"`
	Run   string `json:"run"`
	// Host is the machine's name, for people.
	Host string `json:"host"`
	// Machine identifies a running system, and in it PID and Started a process; empty if unknown.
	Machine string `json:"machine"`
	PID     int    `json:"pid"`
	// Started is when the process began, as its system counts.
	Started string `json:"started"`
}

// Lease is a lease as the database has it.
type Lease struct {
	Holder
	// Since is by the database's clock; zero if unknown.
	Since time.Time `json:"since"`
	// Remaining is 0 or less once the lease has expired.
	Remaining time.Duration `json:"remaining_ns"`
}

// NewLease decodes the holder that a driver kept as JSON, or leaves it unknown.
func NewLease(token string, holder []byte, since time.Time, remaining time.Duration) *Lease {
	l := &Lease{Since: since.UTC(), Remaining: remaining}
	if json.Unmarshal(holder, &l.Holder) != nil {
		l.Holder = Holder{}
	}
	l.Token = token
	return l
}

// Excludes reports whether the lease keeps out this token, which may be empty. nil does not.
func (l *Lease) Excludes(token string) bool {
	return l != nil && l.Remaining > 0 && l.Token != token
}

// Admit gives *HeldError if the lease on the schema called name keeps out this token.
func (l *Lease) Admit(name, token string) error {
	if l.Excludes(token) {
		return &HeldError{Name: name, Lease: *l}
	}
	return nil
}

// MayTake is Admit for a taker who knows that the process of the token gone has ended.
func (l *Lease) MayTake(name string, holder Holder, gone string) error {
	if l != nil && l.Token == gone {
		return nil
	}
	return l.Admit(name, holder.Token)
}

// MayRenew gives *HeldError for another token, alive or not, and *NoSchemaError for no lease.
func (l *Lease) MayRenew(name, token string) error {
	switch {
	case l == nil:
		return &NoSchemaError{Name: name}
	case l.Token != token:
		return &HeldError{Name: name, Lease: *l}
	}
	return nil
}

// Taken is the holder for whom a Database last took the lease. It is safe for concurrent use.
type Taken struct{ holder atomic.Pointer[Holder] }

// Set records the holder.
func (t *Taken) Set(h Holder) { t.holder.Store(&h) }

// Holder returns the last one recorded.
func (t *Taken) Holder() Holder {
	if h := t.holder.Load(); h != nil {
		return *h
	}
	return Holder{}
}

// HeldError means that another run holds the lease. Nothing was changed.
type HeldError struct {
	// Name is the schema, database, file or prefix.
	Name  string
	Lease Lease
	// Open means that the expired holder seems to have the database open, which prevents a new
	// one.
	Open bool
}

func (e *HeldError) Error() string {
	text := fmt.Sprintf("%s is in use by run %s (host %s, process %d)", e.Name, e.Lease.Run, e.Lease.Host, e.Lease.PID)
	if e.Lease.Run == "" {
		text = e.Name + " is in use by another run"
	}
	if !e.Lease.Since.IsZero() {
		text += ", which has held its lease since " + e.Lease.Since.UTC().Format("2006-01-02 15:04:05 UTC")
	}
	if e.Open {
		return text + " and has let it expire, while a connection to it is still open: that process is stopped or does not come to answer, or another has it open; " +
			"let it go on or end it, or name another database"
	}
	if e.Lease.Remaining <= 0 {
		return text
	}
	return fmt.Sprintf("%s; wait until that run has ended, or name another database; if its assay was killed, the lease expires in %v",
		text, (e.Lease.Remaining + time.Second - 1).Truncate(time.Second))
}
