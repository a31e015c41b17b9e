package store

import (
	"context"
	"encoding/json"
	"fmt"
	"sync/atomic"
	"time"
)

// Leaser is the part of a Database by which a run owns the workload's schema while
// it lives, so that two runs on one database do not convict it of each other's
// work.
//
// The lease is a row (document, key, file) of its own beside the mark, with an
// expiry that the run keeps moving on. It is data, and no advisory lock of the
// database's: data survives a failover and a connection pooler and is the same on
// all nodes, while GET_LOCK is local to a Galera node, an advisory lock of
// PostgreSQL's is gone with its connection and has no effect in CockroachDB, and
// other databases have none. Whether it has expired is judged by the database's
// clock, so that the clocks of the machines that assay runs on do not matter.
type Leaser interface {
	// Lease returns the lease that is there, expired or not, or nil if there is
	// none. It changes nothing.
	Lease(ctx context.Context) (*Lease, error)

	// TakeLease gives the lease to the holder for so long from now, if there is
	// none, or it has expired, or it is the holder's own already, or its token is
	// gone, whose process is known to have ended (empty: none is). Else it gives
	// *HeldError. Of several that try at the same time one succeeds. It makes what
	// it needs to keep the lease; something of our name without our mark gives
	// *ForeignError and stays untouched. From then on the lease counts as this
	// Database's in Create and Drop.
	TakeLease(ctx context.Context, holder Holder, ttl time.Duration, gone string) error

	// RenewLease moves the expiry of the lease with this token to so long from
	// now, also if it has expired meanwhile. If another has it, alive or not,
	// that gives *HeldError; if there is none, *NoSchemaError.
	RenewLease(ctx context.Context, token string, ttl time.Duration) error

	// ReleaseLease ends the lease with this token. One that is not there, or is
	// another's, is left alone without an error.
	ReleaseLease(ctx context.Context, token string) error
}

// Holder says who holds a lease.
type Holder struct {
	// Token is unique to one taking of a lease; the same run may be judged by
	// another process later.
	Token string `json:"token"`
	// Run identifies the run.
	Run string `json:"run"`
	// Host is the name of the machine, for people.
	Host string `json:"host"`
	// Machine identifies a running system and its table of processes: within it,
	// PID and Started identify a process. Empty if that cannot be known.
	Machine string `json:"machine"`
	PID     int    `json:"pid"`
	// Started is when the process began, as its system counts.
	Started string `json:"started"`
}

// Lease is a lease as the database has it.
type Lease struct {
	Holder
	// Since is when it was taken, by the database's clock; zero if that is not
	// known.
	Since time.Time `json:"since"`
	// Remaining is the time until it expires; 0 or less if it has.
	Remaining time.Duration `json:"remaining_ns"`
}

// NewLease is the lease of a holder that a driver has kept as the JSON of Holder.
// What cannot be read is the lease of an unknown holder.
func NewLease(token string, holder []byte, since time.Time, remaining time.Duration) *Lease {
	l := &Lease{Since: since.UTC(), Remaining: remaining}
	if json.Unmarshal(holder, &l.Holder) != nil {
		l.Holder = Holder{}
	}
	l.Token = token
	return l
}

// Excludes reports whether the lease keeps out whoever has this token, empty for
// none. A nil lease keeps nobody out.
func (l *Lease) Excludes(token string) bool {
	return l != nil && l.Remaining > 0 && l.Token != token
}

// Admit gives *HeldError if the lease, of what is called name, keeps out whoever has
// this token. It, and the two below, are what drivers say of a lease that they have
// read.
func (l *Lease) Admit(name, token string) error {
	if l.Excludes(token) {
		return &HeldError{Name: name, Lease: *l}
	}
	return nil
}

// MayTake is Admit for one that takes the lease, whose process of this token is gone.
func (l *Lease) MayTake(name string, holder Holder, gone string) error {
	if l != nil && l.Token == gone {
		return nil
	}
	return l.Admit(name, holder.Token)
}

// MayRenew gives *HeldError if the lease has another token, alive or not, and
// *NoSchemaError if there is none.
func (l *Lease) MayRenew(name, token string) error {
	switch {
	case l == nil:
		return &NoSchemaError{Name: name}
	case l.Token != token:
		return &HeldError{Name: name, Lease: *l}
	}
	return nil
}

// Taken is the holder for whom a Database has taken the lease last, for drivers; the
// zero Holder before. It is safe for concurrent use.
type Taken struct{ holder atomic.Pointer[Holder] }

// Set enters the holder.
func (t *Taken) Set(h Holder) { t.holder.Store(&h) }

// Holder is the last one entered.
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
	// Open says that the lease has expired and that its holder, as far as can be told,
	// still has the database open, so that nobody can make it anew.
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
