package store

import (
	"context"
	"errors"
	"fmt"
)

// Replicated is a Database with members that hold the same rows.
type Replicated interface {
	// Replicas returns data members, and why others cannot be reached or compared (ErrOwnWrites).
	Replicas(ctx context.Context) (members []Replica, unreachable map[string]error, err error)
	// CatchUp waits until a member has all that was acknowledged before the call.
	CatchUp(ctx context.Context, member Replica) error
	// ViewReplica is View on a member.
	ViewReplica(ctx context.Context, member Replica, read func(Reader) error) error
}

// ErrOwnWrites says why a server cannot be compared as a member: it is not merely away.
var ErrOwnWrites = errors.New("it takes writes of its own, and is no standby of the server that the run used")

// Replica is one member.
type Replica struct {
	Name    string
	Primary bool
}

// Counting is a Database whose server reports its locks and who waits for them.
type Counting interface {
	// Waits returns the same names in the same order. It is called several times a second.
	Waits(ctx context.Context) ([]Wait, error)
}

// Unit says what a Wait counts.
type Unit string

const (
	// Occasions is a number that only grows.
	Occasions Unit = "count"
	// Time is nanoseconds summed over all sessions, which only grow.
	Time  Unit = "time"
	Gauge Unit = "gauge"
)

// Wait is one figure of a server's locks and queues.
type Wait struct {
	// Name is in the server's words.
	Name  string
	Unit  Unit
	Value int64
}

// Compacting is a Database with commands that give back space.
type Compacting interface {
	// Compactions are the database's commands, the mildest first; *OptionError if there are none.
	Compactions() ([]string, error)
	// Compact runs one of them to its end.
	Compact(ctx context.Context, name string) error
	// FileSize is Size plus the free space in the files.
	FileSize(ctx context.Context) (Size, error)
}

// Engined is a Database that can store a table in several ways.
type Engined interface {
	// Engines names the storage engines or compressors, the default first.
	Engines(ctx context.Context) ([]string, error)
	// CreateOn is Create with one of them. chosen is false if the user had or made no choice.
	CreateOn(ctx context.Context, mark Marker, engine string, chosen bool) error
}

// Bulk is a Database that loads best in large batches.
type Bulk interface {
	// BulkRows is the preferred number of rows per Load; 0 for no wish.
	BulkRows() int
}

// Stepping is a Database that must know of transactions that stop while others go on, since its
// transactions wait for their turn.
type Stepping interface {
	// SteppedSession is Session for such transactions.
	SteppedSession(ctx context.Context, statements []Statement) (Session, error)
}

// Recording is a Database whose mark names what a setup has made in an Open Schema.
type Recording interface {
	// RecordMade records what is in the schema. Create and Drop drop nothing else.
	RecordMade(ctx context.Context) error
}

// Batching is a Transaction that needs fewer round trips for several statements together.
type Batching interface {
	// Batch does what DoAll promises.
	Batch(ctx context.Context, calls []Call) error
}

// DoAll does several known statements of a transaction, in few round trips where t is Batching.
// Each sees the effects of those before it. Calls of the same statement may get their rows
// interleaved.
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

// Counted passes the call's rows through do, and fails if their number is not Want.
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

// Wanted fails if the call wants another number of rows.
func (c *Call) Wanted(came int) error {
	if c.Want > 0 && came != c.Want {
		return fmt.Errorf("a statement gave %d rows, not %d", came, c.Want)
	}
	return nil
}

// As finds an optional part of a Database, in it or in what its Unwrap() Database returns.
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
