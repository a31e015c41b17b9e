// Package mem is a reference database in memory: tables of rows in several versions, and
// statements compiled to plans. It is strictly serializable. With timeouts and latency
// asked for in its address it behaves as a database on a bad day; with bugs (driver/bugs)
// it is the patient on which the checks are tried.
//
// It must not know the load engine, the checks or any other driver.
package mem

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"assay/history"
	"assay/internal/wait"
	"assay/store"
)

// database is tables of rows in several versions. Transactions read the state as
// of their beginning, and commit only if all that they read is still current: so
// they might as well have happened in that very moment, and are strictly
// serializable (H. T. Kung, J. T. Robinson, "On Optimistic Methods for Concurrency
// Control", ACM TODS 6(2), 1981, with backward validation). It is safe for
// concurrent use.
type database struct {
	timeout float64
	latency time.Duration

	mu      sync.Mutex // for all below
	chance  *rand.Rand
	foreign bool          // somebody else's: for tests of the refusal
	marker  *store.Marker // nil while there is no schema
	lease   *lease        // nil while nobody has it
	// clock numbers the commits that wrote something.
	clock int64
	// open are the open transactions, in the order in which they began.
	open []*optimistic
	// generation counts Create and Drop. What was begun before cannot commit.
	generation int
	// relations are all tables; the first one is what a Leftover counts.
	relations []*relation
}

// lock takes the lock, checks that what is there is ours, and that there is
// something if that is required. The caller unlocks if there is no error.
func (d *database) lock(required bool) error {
	d.mu.Lock()
	var err error
	switch {
	case d.foreign:
		err = &store.ForeignError{Name: name, Hint: "open another one"}
	case required && d.marker == nil:
		err = &store.NoSchemaError{Name: name}
	default:
		return nil
	}
	d.mu.Unlock()
	return err
}

// enter takes the lock for a session's call, after the latency. If it gives a
// reply, the call does nothing and the lock is not held: the context has ended
// before, or there is no schema.
func (d *database) enter(ctx context.Context, doing string) *store.Reply {
	if err := wait.Pause(ctx, d.latency); err != nil {
		return &store.Reply{Outcome: history.Failed, Class: store.ClassTimeout, Err: fmt.Errorf("mem: %s: %w", doing, err)}
	}
	if err := d.lock(true); err != nil {
		return &store.Reply{Outcome: history.Failed, Class: store.ClassOther, Err: err, Broken: true}
	}
	return nil
}

// reset empties the tables. The caller holds the lock.
func (d *database) reset() {
	d.generation++
	d.open = nil
	for _, r := range d.relations {
		r.clear()
	}
}

// committed is the reply to what was done.
func committed() store.Reply {
	return store.Reply{Outcome: history.Committed}
}

// interrupted looks at the context now and then.
func interrupted(ctx context.Context, i int64) error {
	if i%4096 != 0 || ctx.Err() == nil {
		return nil
	}
	return fmt.Errorf("mem: read: %w", ctx.Err())
}
