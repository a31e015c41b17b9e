package store

import (
	"context"

	"assay/history"
	"assay/load"
)

// Reply is how one attempt of an operation ended, as the driver's session says.
type Reply struct {
	// Outcome is Unknown unless the driver knows better.
	Outcome history.Outcome
	// Duplicate is true, with Failed, if the key was there: an earlier attempt had effect.
	Duplicate bool
	// Confirmed is true, with Duplicate, if the database answers for that row as for an
	// acknowledged one, with the guarantee asked for. A driver needs a page of the manual to say
	// so.
	Confirmed bool
	// Broken is true if the session must be replaced. After Unknown it is replaced anyway.
	Broken bool
	// Class is a short stable word for the error (a Class constant), empty without one. It holds
	// no data or address.
	Class string
	// Err is for logs, without secrets.
	Err error
	// Violated is, with Failed, the constraint that refused the attempt.
	Violated Violation
	// Affected is, with Committed, how many rows a Run changed by the database's count.
	Affected int64
}

// Answer translates the reply for the load engine.
func (r *Reply) Answer(kind uint8) load.Answer {
	return load.Answer{Kind: kind, Outcome: r.Outcome, Class: r.Class, Disconnected: r.Broken, Said: Said(r.Err)}
}

// Conflict reports whether the database refused the attempt for the sake of isolation.
func (r *Reply) Conflict() bool {
	switch r.Class {
	case ClassSerialization, ClassDeadlock, ClassLockTimeout:
		return r.Outcome == history.Failed
	}
	return false
}

// Unrefused is the outcome if no rule can refuse the operation: Rejected becomes Unknown.
func (r *Reply) Unrefused() history.Outcome {
	if r.Outcome == history.Rejected {
		return history.Unknown
	}
	return r.Outcome
}

// Repeated completes the answer to an attempt, counted from 1, of an operation that keeps its id
// over all attempts. unsure says whether an earlier attempt is unknown; the result is unsure for
// the next one.
//
// A duplicate after an unknown attempt ends the repeating: the row is there. The operation stays
// unknown unless Confirmed, because the database need not keep that row as an acknowledged one. A
// duplicate at the first attempt means that something on the way sent the operation twice, since
// only it uses the id: the outcome is Unknown. A duplicate after attempts that all failed stays
// failed, and the judge will find the row that should not be there.
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

// Error classes that drivers and workloads share; each may add its own. Histories and reports
// keep their texts, so these never change.
const (
	// ClassDuplicate applies to every insert, not only to transfers.
	ClassDuplicate = "duplicate transfer id"
	// ClassMet means that the attempt found the row of an earlier one without an answer. The
	// operation is not repeated and stays unknown.
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
	ClassConstraint    = "constraint violated"
	// ClassBeyond means that the client's numbers are used up; nothing was sent.
	ClassBeyond = "beyond the last number"
)

// Connection is one client's session, replaced when it breaks. One goroutine uses it.
type Connection[N interface{ Close() }] struct {
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

// Session returns the session, and opens one if there is none.
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

// After gives up the session if it cannot be used after such an attempt.
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

// Inquire runs the batch's Inquiry if a reply like this calls for it.
func (b *Batch) Inquire(r Reply, run func(Call) Reply) Reply {
	if b.Inquiry == nil || r.Violated != Floor && r.Violated != Absent {
		return r
	}
	if told := run(*b.Inquiry); told.Outcome != history.Committed {
		r.Class, r.Err, r.Violated, r.Broken = told.Class, told.Err, NoViolation, told.Broken
	}
	return r
}
