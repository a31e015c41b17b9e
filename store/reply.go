package store

import (
	"context"

	"assay/history"
	"assay/load"
)

// Reply is how one attempt of an operation ended, as a driver's session says. A
// workload whose operations give more back embeds it in a Reply of its own.
type Reply struct {
	// Outcome is Unknown unless the driver knows better.
	Outcome history.Outcome
	// Duplicate is true, with Failed, if what was to be inserted was already
	// there under its key: this attempt had no effect, an earlier one had.
	Duplicate bool
	// Confirmed is true, of a refusal by a key that is there, if the database answers for that
	// row as for one that it has acknowledged with the guarantee that was asked for. A driver
	// says so only with the page of the manual.
	Confirmed bool
	// Broken is true if the session cannot be used any more and is to be
	// replaced. After Unknown it is replaced in any case.
	Broken bool
	// Class is a short stable word for the error, empty if there was none; see
	// the constants. Never data or an address.
	Class string
	// Err is the error itself, for logs; without secrets.
	Err error
	// Violated is, with Failed, the constraint that refused it.
	Violated Violation
	// Affected is, with Committed, how many rows a Run has changed, as the database counts
	// them.
	Affected int64
}

// Answer is what the reply says to the load engine, for an operation of this
// kind.
func (r *Reply) Answer(kind uint8) load.Answer {
	return load.Answer{Kind: kind, Outcome: r.Outcome, Class: r.Class, Disconnected: r.Broken, Said: Said(r.Err)}
}

// Conflict reports whether the database has refused the attempt to keep its transaction
// apart from another one.
func (r *Reply) Conflict() bool {
	switch r.Class {
	case ClassSerialization, ClassDeadlock, ClassLockTimeout:
		return r.Outcome == history.Failed
	}
	return false
}

// Unrefused is the outcome of an operation that no rule can refuse, so that no driver may
// say Rejected: what was said so is unknown.
func (r *Reply) Unrefused() history.Outcome {
	if r.Outcome == history.Rejected {
		return history.Unknown
	}
	return r.Outcome
}

// Repeated completes the answer to an attempt, counted from 1, of an operation that has
// the same id in each of its attempts. unsure is whether an earlier attempt is unknown;
// what is returned is the same for the next attempt.
//
// A duplicate after an attempt that is unknown ends the repeating: the row is there. It is
// as durable as the database says of that state, which is no acknowledgement with the
// guarantee that was asked for unless it is Confirmed: the operation stays unknown. At a
// first attempt nobody but this operation uses its id, so something between here and the
// database has sent it twice: this says nothing against the database, and the row may be
// there. After attempts that all failed a duplicate stays failed, and the judge will find
// the row: what had certainly no effect has left one.
func (r *Reply) Repeated(answer *load.Answer, attempt int, unsure bool) bool {
	switch {
	case r.Outcome == history.Committed:
	case r.Duplicate && unsure:
		answer.Done, answer.Confirmed = true, r.Confirmed
		if !r.Confirmed {
			answer.Class = ClassMet
		}
	case r.Duplicate && attempt == 1:
		answer.Outcome = history.Unknown
	}
	return unsure || answer.Outcome == history.Unknown
}

// Error classes that all drivers and workloads share; each may add its own. They
// are kept in histories and reports, so their texts stay as they are.
const (
	// ClassDuplicate is said of every insert, of a transfer or of something else.
	ClassDuplicate = "duplicate transfer id"
	// ClassMet: the attempt found what an earlier one without an answer has left. The
	// operation is not repeated, and stays unknown.
	ClassMet           = "met its own row"
	ClassSerialization = "serialization failure"
	ClassDeadlock      = "deadlock"
	ClassLockTimeout   = "lock timeout"
	ClassConnect       = "cannot connect"
	ClassLost          = "connection lost"
	ClassTimeout       = "timeout"
	ClassNotPrimary    = "not primary"
	ClassReadOnly      = "read only"
	ClassShutdown      = "server shutting down"
	ClassOther         = "other error"
	// ClassConstraint says that a constraint refused a statement.
	ClassConstraint = "constraint violated"
	// ClassBeyond says that the client has done as many operations or attempts
	// as can be numbered; nothing was sent.
	ClassBeyond = "beyond the last number"
)

// Connection is one client's session on a database, which it replaces when it cannot be
// used any more. It is used by one goroutine.
type Connection[N interface{ Close() }] struct {
	// Open opens a session.
	Open      func(ctx context.Context) (N, error)
	session   N
	connected bool
}

// Connect opens a client's first session.
func Connect[N interface{ Close() }](ctx context.Context, open func(context.Context) (N, error)) (Connection[N], error) {
	c := Connection[N]{Open: open}
	_, err := c.Session(ctx)
	return c, err
}

// Session returns the session, a new one if there is none that can be used.
func (c *Connection[N]) Session(ctx context.Context) (N, error) {
	if c.connected {
		return c.session, nil
	}
	session, err := c.Open(ctx)
	if err == nil {
		c.session, c.connected = session, true
	}
	return session, err
}

// Unsent is the reply to an attempt for which no session could be opened.
func Unsent(err error) Reply {
	return Reply{Outcome: history.Failed, Class: ClassConnect, Err: err, Broken: true}
}

// After gives the session up if it cannot be used after an attempt that ended so.
func (c *Connection[N]) After(outcome history.Outcome, broken bool) {
	if broken || outcome == history.Unknown {
		c.Close()
	}
}

// Close closes the session, if there is one.
func (c *Connection[N]) Close() {
	if c.connected {
		c.session.Close()
		c.connected = false
	}
}

// Inquire has run make the inquiry of a batch that has ended so, if it is to be made.
func (b *Batch) Inquire(r Reply, run func(Call) Reply) Reply {
	if b.Inquiry == nil || r.Violated != Floor && r.Violated != Absent {
		return r
	}
	if told := run(*b.Inquiry); told.Outcome != history.Committed {
		r.Class, r.Err, r.Violated, r.Broken = told.Class, told.Err, NoViolation, told.Broken
	}
	return r
}
