package mongodb

import (
	"context"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// notTold is a concern that no address names, and of which the server does not say what it is.
const notTold = "not told"

// inherited are the concerns of operations that name none: those that somebody has set
// (setDefaultRWConcern), or the server's own. Since MongoDB 5.0 these are w: majority, but w: 1
// with so many arbiters that the data nodes are no more than a majority (MongoDB manual 6.0,
// "Default MongoDB Read Concerns/Write Concerns"). The server reckons itself, and tells.
type inherited struct {
	write, read string
	journal     *bool
}

// inherit asks the server which concerns it gives to operations that name none (MongoDB manual
// 6.0, "getDefaultRWConcern"). Of a write concern that the answer lacks the server takes w: 1. A
// user without the action getDefaultRWConcern is not told.
func (a *application) inherit(ctx context.Context, of *connection) error {
	if of.standalone { // which has no such command, and nobody to wait for
		a.inherits = inherited{write: "1", read: "local"}
		return nil
	}
	a.inherits = inherited{write: notTold, read: notTold}
	answer, err := of.admin.RunCommand(ctx, bson.D{{Key: "getDefaultRWConcern", Value: 1}}).Raw()
	if _, answered := serverCode(err); answered {
		return nil
	} else if err != nil {
		return failed("ask for the default concerns", err)
	}
	a.inherits = inheritedFrom(answer)
	return nil
}

func inheritedFrom(answer bson.Raw) inherited {
	of := inherited{write: "1", read: "local"}
	w := answer.Lookup("defaultWriteConcern", "w")
	if name, is := w.StringValueOK(); is {
		of.write = name
	} else if n, is := w.AsInt64OK(); is {
		of.write = fmt.Sprint(n)
	}
	if j, is := answer.Lookup("defaultWriteConcern", "j").BooleanOK(); is {
		of.journal = &j
	}
	if level, is := answer.Lookup("defaultReadConcern", "level").StringValueOK(); is {
		of.read = level
	}
	return of
}

// inForceWrite is who acknowledges a write, and whether that waits for the journal; nil if
// neither the address nor the server says so. A write concern without w has the inherited one
// (MongoDB manual 6.0, "Write Concern").
func (a *application) inForceWrite() (by string, journal *bool) {
	w := a.options.WriteConcern
	switch {
	case w == nil:
		return a.inherits.write, a.inherits.journal
	case w.W == nil:
		return a.inherits.write, w.Journal
	}
	return fmt.Sprint(w.W), w.Journal
}

// inForceRead is the read concern of reads.
func (a *application) inForceRead() string {
	if c := a.options.ReadConcern; c != nil {
		return c.Level
	}
	return a.inherits.read
}
