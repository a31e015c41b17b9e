package store

import (
	"context"
	"errors"
	"fmt"
)

// Replicated is a Database with members that hold the same rows.
type Replicated interface {
	// Replicas are the members that hold data and can be reached, and those that cannot,
	// each with why: ErrOwnWrites is one of the reasons.
	Replicas(ctx context.Context) (members []Replica, unreachable map[string]error, err error)
	// CatchUp returns when a member has all that was acknowledged until now.
	CatchUp(ctx context.Context, member Replica) error
	// ViewReplica is View on a member.
	ViewReplica(ctx context.Context, member Replica, read func(Reader) error) error
}

// ErrOwnWrites is why a server is no member that could be compared, and no one that is merely away.
var ErrOwnWrites = errors.New("it takes writes of its own, and is no standby of the server that the run used")

// Replica is one member.
type Replica struct {
	// Name is the member's, as the database has it.
	Name string
	// Primary is true of the one that takes writes.
	Primary bool
}

// Counting is a Database whose server tells of its locks and of those who wait for them.
type Counting interface {
	// Waits are the same names in the same order each time. It is asked several times a
	// second while work goes on.
	Waits(ctx context.Context) ([]Wait, error)
}

// Unit is what a Wait counts.
type Unit string

const (
	// Occasions is a number that only grows.
	Occasions Unit = "count"
	// Time is nanoseconds, over all sessions together, that only grow.
	Time Unit = "time"
	// Gauge is a number as it is at the moment, such as of those who wait.
	Gauge Unit = "gauge"
)

// Wait is one figure that a server tells of its locks and queues.
type Wait struct {
	// Name is in the server's own words.
	Name  string
	Unit  Unit
	Value int64
}

// Compacting is a Database with ways to give back space.
type Compacting interface {
	// Compactions are the names of the database's own commands, from the mildest on. The
	// error is a *OptionError that says why there are none.
	Compactions() ([]string, error)
	// Compact runs one of them, and returns when it is done.
	Compact(ctx context.Context, name string) error
	// FileSize is Size with what is free in the files.
	FileSize(ctx context.Context) (Size, error)
}

// Engined is a Database that can store a table in several ways.
type Engined interface {
	// Engines names the storage engines or compressors, the default first.
	Engines(ctx context.Context) ([]string, error)
	// CreateOn is Create with one of them; chosen is false if nobody asked for it or
	// there is no other.
	CreateOn(ctx context.Context, mark Marker, engine string, chosen bool) error
}

// Bulk is a Database that loads many rows at once best.
type Bulk interface {
	// BulkRows is how many rows a call of Load is best given; 0 for no wish.
	BulkRows() int
}

// Stepping is a Database that has transactions wait for their turn, and so must be told of
// those that stop while others go on.
type Stepping interface {
	// SteppedSession is Session for such transactions.
	SteppedSession(ctx context.Context, statements []Statement) (Session, error)
}

// Recording is a Database whose mark names what a setup has made in a Schema that is Open.
type Recording interface {
	// RecordMade notes what is in the schema now. Create and Drop drop nothing else.
	RecordMade(ctx context.Context) error
}

// Batching is a Transaction that does several statements in fewer round trips than one
// each.
type Batching interface {
	// Batch is DoAll.
	Batch(ctx context.Context, calls []Call) error
}

// DoAll does statements of a transaction that are known together, in as few round trips as
// it can. Each sees what those before it have done. Calls of one statement may get their
// rows in any order among each other.
func DoAll(ctx context.Context, t Transaction, calls []Call) error {
	if t, is := t.(Batching); is {
		return t.Batch(ctx, calls)
	}
	for i := range calls {
		c := &calls[i]
		err := c.Counted(func(row func(Row) error) error {
			_, err := t.Do(ctx, c.Statement, row, c.Parameters...)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Counted has do give the call's rows, and is an error also unless as many came as are
// wanted.
func (c *Call) Counted(do func(row func(Row) error) error) error {
	row, came := c.Row, 0
	if c.Want > 0 {
		row = func(r Row) error {
			came++
			return c.Row(r)
		}
	}
	if err := do(row); err != nil {
		return err
	}
	return c.Wanted(came)
}

// Wanted is an error unless as many rows came as are wanted.
func (c *Call) Wanted(came int) error {
	if c.Want > 0 && came != c.Want {
		return fmt.Errorf("a statement gave %d rows, not %d", came, c.Want)
	}
	return nil
}

// As finds an optional part of a Database, in it or in what it wraps: what has a method
// Unwrap() Database.
func As[T any](db any) (part T, ok bool) {
	for {
		if part, ok = db.(T); ok {
			return part, true
		}
		wrapper, wraps := db.(interface{ Unwrap() Database })
		if !wraps {
			return part, false
		}
		db = wrapper.Unwrap()
	}
}
