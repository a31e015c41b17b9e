//go:build foundationdb

package foundationdb

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/apple/foundationdb/bindings/go/src/fdb"

	"assay/driver/ordered"
	"assay/internal/wait"
	"assay/store"
)

func keyRange(begin, end []byte) fdb.KeyRange {
	return fdb.KeyRange{Begin: fdb.Key(begin), End: fdb.Key(end)}
}

func (p *database) foreign() error {
	return &store.ForeignError{Name: p.layout.Name,
		Hint: "choose another one with ?prefix=NAME in the address, or clear its keys yourself"}
}

// readMark returns nil if there is no key under the prefix but the lease's, and
// *store.ForeignError if there are others and no mark.
func (p *database) readMark(t *transaction) (*store.Marker, error) {
	value, err := t.Get(fdb.Key(p.layout.Mark())).Get()
	if err != nil {
		return nil, err
	}
	if value != nil {
		mark, ok := ordered.DecodeMark(value)
		if !ok {
			return nil, p.foreign()
		}
		return &mark, nil
	}
	// Only now: this conflicts with whoever makes the first key.
	keys, err := t.GetRange(keyRange(p.layout.Bounds()), fdb.RangeOptions{Limit: 2}).GetSliceWithError()
	if err != nil {
		return nil, err
	}
	for _, kv := range keys {
		if !bytes.Equal(kv.Key, p.layout.Lease()) {
			return nil, p.foreign()
		}
	}
	return nil, nil
}

// clear clears everything under the prefix but the lease.
func (p *database) clear(t *transaction) {
	begin, end := p.layout.Bounds()
	t.ClearRange(keyRange(begin, p.layout.Lease()))
	t.ClearRange(keyRange(append(p.layout.Lease(), 0), end))
}

// removable gives *store.HeldError if another holds the lease, and
// *store.ForeignError for a key under the prefix that is in none of our tables.
func (p *database) removable(t *transaction) error {
	if err := p.admit(t); err != nil {
		return err
	}
	for _, gap := range p.layout.Gaps(p.tables) {
		keys, err := t.GetRange(keyRange(gap[0], gap[1]), fdb.RangeOptions{Limit: 1}).GetSliceWithError()
		if err != nil {
			return err
		}
		if len(keys) > 0 {
			return &store.ForeignError{Name: p.layout.Name, Others: []string{"key " + fdb.Printable(keys[0].Key)},
				Hint: "clear it or move it, or choose another prefix with ?prefix=NAME in the address"}
		}
	}
	return nil
}

// Blocked implements store.Administration: no transaction waits for another.
func (p *database) Blocked(context.Context) (string, error) { return "", nil }

// Removable implements store.Administration.
func (p *database) Removable(ctx context.Context) error {
	_, err := p.look(ctx, "look for what others have made", func(t *transaction) (*store.Marker, error) {
		mark, err := p.readMark(t)
		if err == nil && mark != nil {
			err = p.removable(t)
		}
		return mark, err
	})
	return err
}

// ours is readMark, with *store.NoSchemaError if there is nothing.
func (p *database) ours(t *transaction) (*store.Marker, error) {
	mark, err := p.readMark(t)
	if err == nil && mark == nil {
		err = &store.NoSchemaError{Name: p.layout.Name}
	}
	return mark, err
}

// The pauses between attempts to prepare or to settle.
const (
	firstPause = 10 * time.Millisecond
	lastPause  = time.Second
)

// change does work and commits it, again and again until it is certain that it
// was done, ctx ends, or an error comes that will not pass. It is for what
// prepares a run or ends it and has the same effect however often it is done;
// the transactions that are measured never come here. It returns the version
// of the commit.
//
// After commit_unknown_result "it is guaranteed that the transaction is not
// in-flight anymore" (manual, "Developer Guide", "The commit_unknown_result
// Error"). After cluster_version_changed it may be: but all that is done here
// has read the mark's key, which Create, FinishLoad and Drop write and a barrier
// conflicts with, so that what is late comes to nothing before the first session
// is opened.
func (p *database) change(ctx context.Context, doing string, work func(t *transaction) error) (int64, error) {
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		version, err := p.attempt(ctx, work)
		if err == nil {
			return version, nil
		}
		if !repeatable(codeOf(err)) {
			return 0, told(ctx, doing, err)
		}
		if err := wait.Pause(ctx, pause); err != nil {
			return 0, explain(ctx, doing, err)
		}
	}
}

func (p *database) attempt(ctx context.Context, work func(t *transaction) error) (int64, error) {
	t, err := begin(ctx, p.db)
	if err != nil {
		return 0, err
	}
	defer t.end()
	if err := work(t); err != nil {
		return 0, err
	}
	if err := t.commit(); err != nil {
		return 0, err
	}
	return t.GetCommittedVersion()
}

// told explains what does not explain itself.
func told(ctx context.Context, doing string, err error) error {
	var foreign *store.ForeignError
	var missing *store.NoSchemaError
	var held *store.HeldError
	if errors.As(err, &foreign) || errors.As(err, &missing) || errors.As(err, &held) {
		return err
	}
	return explain(ctx, doing, err)
}

// Create clears the prefix, but for the lease, and sets the mark, in one
// transaction. Clearing a range costs the same whatever it holds.
func (p *database) Create(ctx context.Context, mark store.Marker) error {
	value, err := ordered.EncodeMark(mark)
	if err != nil {
		return fmt.Errorf("foundationdb: create: %w", err)
	}
	_, err = p.change(ctx, "create", func(t *transaction) error {
		if _, err := p.readMark(t); err != nil {
			return err
		}
		if err := p.removable(t); err != nil {
			return err
		}
		p.clear(t)
		t.Set(fdb.Key(p.layout.Mark()), value)
		return nil
	})
	return err
}

// FinishLoad sets Marker.Loaded. There is nothing to build.
func (p *database) FinishLoad(ctx context.Context) error {
	_, err := p.change(ctx, "finish loading", func(t *transaction) error {
		mark, err := p.ours(t)
		if err != nil {
			return err
		}
		mark.Loaded = true
		value, err := ordered.EncodeMark(*mark)
		if err != nil {
			return err
		}
		t.Set(fdb.Key(p.layout.Mark()), value)
		return nil
	})
	return err
}

// Drop clears the prefix, with the lease, if it carries the mark or nothing but a
// lease.
func (p *database) Drop(ctx context.Context) error {
	_, err := p.change(ctx, "drop", func(t *transaction) error {
		if _, err := p.readMark(t); err != nil {
			return err
		}
		if err := p.removable(t); err != nil {
			return err
		}
		t.ClearRange(keyRange(p.layout.Bounds()))
		return nil
	})
	return err
}

// Find looks for the mark and counts the rows of the first table.
func (p *database) Find(ctx context.Context) (*store.Leftover, error) {
	mark, err := p.look(ctx, "find", p.readMark)
	if mark == nil || err != nil {
		return nil, err
	}
	rows, _, err := p.count(ctx, p.tables[0])
	if err != nil {
		return nil, explain(ctx, "find", err)
	}
	return &store.Leftover{Marker: *mark, Rows: rows}, nil
}

// Mark looks for the mark.
func (p *database) Marker(ctx context.Context) (*store.Marker, error) {
	return p.look(ctx, "find", p.readMark)
}

// look reads the mark in a transaction of its own.
func (p *database) look(ctx context.Context, doing string, read func(*transaction) (*store.Marker, error)) (*store.Marker, error) {
	t, err := begin(ctx, p.db)
	if err != nil {
		return nil, explain(ctx, doing, err)
	}
	defer t.end()
	mark, err := read(t)
	if err != nil {
		return nil, told(ctx, doing, err)
	}
	return mark, nil
}

// Settle commits a barrier: a transaction that writes nothing and conflicts
// with the mark's key, of which every transaction of a session says that it
// has read it (transaction.guard).
//
// After it nothing of ours can take effect any more. A commit that was
// abandoned has a read version from before the barrier's commit, since it was
// cancelled before the barrier began (transaction.commit), and the client does
// what it is told in the order of the calls; what a dead process left behind is
// older still. If it reaches the database before the barrier, it is there for
// whoever reads after it. If it comes later, it is refused as a conflict, or,
// after the five seconds for which conflicts are remembered, as too old
// (manual, "Developer Guide", "Conflict Detection"). So there is nothing to be
// gained by waiting those five seconds. The client library makes sure by the
// same means that what it calls commit_unknown_result is not in flight
// (NativeAPI.actor.cpp, tryCommit and commitDummyTransaction).
func (p *database) Settle(ctx context.Context) error {
	version, err := p.change(ctx, "settle", func(t *transaction) error {
		return t.AddWriteConflictKey(fdb.Key(p.layout.Mark()))
	})
	if err != nil {
		return fmt.Errorf("a commit that was abandoned may still be in flight: %w", err)
	}
	if version <= 0 {
		return errors.New("foundationdb: settle: the barrier was taken for a transaction that only reads, and proves nothing")
	}
	return nil
}

// statusKey is the special key whose value is the machine-readable status
// (manual, "Developer Guide", "Special keys").
const statusKey = "\xff\xff/status/json"

// Describe reads the machine-readable status.
func (p *database) Describe(ctx context.Context) (store.Product, error) {
	t, err := begin(ctx, p.db)
	if err != nil {
		return store.Product{}, explain(ctx, "describe", err)
	}
	defer t.end()
	text, err := t.Get(fdb.Key(statusKey)).Get()
	if err != nil {
		return store.Product{}, explain(ctx, "describe", err)
	}
	found, err := product(text)
	if err != nil {
		return store.Product{}, fmt.Errorf("foundationdb: describe: %w", err)
	}
	if p.riskyReads {
		found = withRiskyReads(found)
	}
	return found, nil
}

// measured says what Size tells.
const measured = "keys and values of one copy, without the storage engine's own use of the disk"

// Size counts the rows of each table and the bytes of their keys and values. The
// estimate that FoundationDB has of a range is not asked for: it is some tenth
// above what is there, and no use of a disk either.
func (p *database) Size(ctx context.Context) (store.Size, error) {
	if _, err := p.look(ctx, "size", p.ours); err != nil {
		return store.Size{}, err
	}
	// An empty schema takes something as well.
	size := store.Size{Rows: map[string]int64{}, Measured: measured, Bytes: int64(len(p.layout.Mark()))}
	for i, table := range p.tables {
		rows, bytes, err := p.count(ctx, table)
		if err != nil {
			return store.Size{}, explain(ctx, "size", err)
		}
		size.Rows[table] = rows
		size.Bytes += bytes
		switch {
		case p.indexes == 0:
		case i >= len(p.tables)-p.indexes:
			size.Indexes += bytes
		default:
			size.Tables += bytes
		}
	}
	if p.indexes > 0 {
		size.Bytes = size.Tables + size.Indexes
	}
	return size, nil
}

// Close closes nothing: the connection is the process's (connect).
func (p *database) Close() error { return nil }
