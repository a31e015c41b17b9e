package availability

import (
	"context"

	"assay/history"
	"assay/load"
	"assay/workload"
)

// The kinds of operations in the history.
const (
	// KindInsert inserted a row. It has no Values: the key follows from the
	// client, the operation and the attempt, the value from the key.
	KindInsert uint8 = 1
	// KindGet read the row of a key that had been acknowledged before. Its
	// Values are the key and how many nanoseconds before the read it was
	// acknowledged, and if a row was found its key and value.
	KindGet uint8 = 2
	// KindProbe read a key that cannot exist, nothing having been acknowledged
	// yet. Its Values are as those of KindGet.
	KindProbe uint8 = 3
)

// connection is one client's session, replaced when needed.
type connection struct {
	store   Store
	session Session
}

// open makes sure that there is a session.
func (c *connection) open(ctx context.Context) (failed Reply, ok bool) {
	if c.session != nil {
		return Reply{}, true
	}
	session, err := c.store.Session(ctx)
	if err != nil { // nothing was sent
		return Reply{Reply: workload.Reply{Outcome: history.Failed, Class: workload.ClassConnect, Err: err, Broken: true}}, false
	}
	c.session = session
	return Reply{}, true
}

// after gives a session up that cannot be trusted any more.
func (c *connection) after(r Reply) {
	if r.Broken || r.Outcome == history.Unknown {
		c.Close()
	}
}

// Close implements load.Client.
func (c *connection) Close() {
	if c.session != nil {
		c.session.Close()
		c.session = nil
	}
}

// writer is one client that inserts.
type writer struct {
	connection
	policy Policy
	seed   uint64
	number int
	recent *recent
	// unsure is true if an earlier attempt under the same key is unknown.
	unsure bool
}

var _ load.Client = (*writer)(nil)

// Attempt implements load.Client.
func (w *writer) Attempt(ctx context.Context, seq uint64, attempt int) load.Answer {
	again := w.policy == PolicyIdempotent && attempt > 1
	if !again {
		w.unsure = false
	}
	key, ok := w.policy.key(w.number, seq, attempt)
	if !ok {
		return load.Answer{Kind: KindInsert, Outcome: history.Failed, Class: workload.ClassBeyond}
	}
	reply, ok := w.open(ctx)
	if ok {
		reply = w.session.Insert(ctx, Row{Key: key, Value: Value(w.seed, key)})
	}
	answer := reply.Answer(KindInsert)
	switch {
	case reply.Outcome == history.Rejected:
		// No driver may say so: there is no rule that could refuse a row.
		answer.Outcome = history.Unknown
	case reply.Duplicate && w.unsure:
		answer.Done = true
	case reply.Duplicate && !again:
		// Nobody but this attempt uses its key, so something between here and
		// the database has sent it twice. This says nothing against the
		// database, and the row is there.
		answer.Outcome = history.Unknown
	}
	// What is left is a duplicate after attempts that all failed: one that had
	// certainly no effect has left a row. It stays failed, and the judge will
	// find the row.
	if answer.Outcome == history.Unknown {
		w.unsure = true
	}
	if answer.Outcome == history.Committed || answer.Done {
		w.recent.add(key)
	}
	w.after(Reply{Reply: workload.Reply{Broken: reply.Broken, Outcome: answer.Outcome}})
	return answer
}
