// Package mem is the reference database, in memory: package ordered's rows in a B-tree. It is
// strictly serializable. Its address can ask for timeouts and latency. With bugs (driver/bugs) it
// is the database on which the checks are tried.
//
// It must not know the load engine, the checks or any other driver.
package mem

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"math"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/tidwall/btree"

	"assay/driver/ordered"
	"assay/driver/ownership"
	"assay/driver/rows"
	"assay/history"
	"assay/internal/wait"
	"assay/store"
)

// database is safe for concurrent use.
type database struct {
	timeout float64
	latency time.Duration
	// tables numbers tables and indexes by the prefixes of their keys.
	tables map[string]byte

	mu      sync.Mutex // for all below
	chance  *rand.Rand
	foreign bool          // somebody else's: for tests of the refusal
	marker  *store.Marker // nil while there is no schema
	lease   *store.Lease  // nil while nobody has it
	expires time.Time     // the lease, by the process's own clock
	// tree is replaced by Create and Drop.
	tree *btree.BTreeG[entry]
	// bytes is the size of all entries, and reserved its maximum since the last compaction.
	bytes, reserved int64
	// clock counts the commits. log has the keys of commits that happened while a transaction
	// was open, in order. It is shortened when it grows beyond longest.
	clock   int64
	log     []change
	longest int
	open    []*transaction
	seed    maphash.Seed
}

type change struct {
	at  int64
	key []byte
}

func (d *database) reset() {
	d.tree = btree.NewBTreeGOptions(before, btree.Options{NoLocks: true})
	d.bytes, d.reserved, d.log, d.open = 0, 0, nil, nil
}

// lock refuses somebody else's database and, if required, a missing schema. The caller unlocks
// after success.
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

// enter waits for the latency and takes the lock. If it returns a reply, the lock is free and the
// call has failed: the context has ended, or there is no schema.
func (d *database) enter(ctx context.Context, doing string, latency time.Duration) *store.Reply {
	if err := wait.Pause(ctx, latency); err != nil {
		reply := ended(doing, err)
		return &reply
	}
	if err := d.lock(true); err != nil {
		return &store.Reply{Outcome: history.Failed, Class: store.ClassOther, Err: err, Broken: true}
	}
	return nil
}

// Database is a store.Database on memory of its own.
type Database struct {
	*ownership.Schema[ownership.Direct]
	d      *database
	schema store.Schema
	layout ordered.Layout
	forms  ordered.Forms
	// shared are the last session's plans, guarded by the database's lock.
	shared struct {
		statements []store.Statement
		plans      []*ordered.Plan
	}
}

var (
	_ store.Opener     = Open
	_ store.Replicated = (*Database)(nil)
	_ store.Compacting = (*Database)(nil)
	_ store.Engined    = (*Database)(nil)
)

const noSQL = "the reference database has no SQL"

// Lacks returns the reference database's missing capabilities.
func Lacks() store.Lacks {
	return store.Lacks{store.SQL: noSQL, store.Language: noSQL, store.Documents: "the reference database keeps no rows within rows"}
}

// Open opens a schema on a new, empty database that no other Open shares. The address is mem://
// with the optional parameters timeout (a probability) and latency (a duration, such as 2ms). It
// returns *store.OptionError.
func Open(_ context.Context, target store.Target, schema store.Schema) (store.Database, error) {
	if schema.Reads && target.Read != "" && target.Read != store.ReadPrimary {
		return nil, &store.OptionError{Option: "--read", Value: target.Read, Want: store.ReadPrimary}
	}
	d, err := open(target)
	if err != nil {
		return nil, err
	}
	d.seed = maphash.MakeSeed()
	d.reset()
	s := &Database{d: d, schema: schema}
	s.Schema = ownership.New(s, schema)
	d.tables = map[string]byte{}
	for _, t := range schema.Tables {
		d.tables[string(s.layout.Key(t.Name))] = byte(len(d.tables))
		for _, index := range t.Indexes {
			d.tables[string(s.layout.Key(index.Name))] = byte(len(d.tables))
		}
	}
	s.forms = ordered.NewForms(s.layout, &s.schema)
	return s, nil
}

func (s *Database) Lacks() store.Lacks { return Lacks() }

func (s *Database) Levels() []store.Level { return []store.Level{{Name: level}} }

func (s *Database) Promises() store.Promises {
	return store.Promises{Model: "strict-serializable", Reads: store.Linearizable, Scans: store.Linearizable, Atomic: true}
}

func limits() ordered.Limits {
	return ordered.Limits{Value: math.MaxInt, Changed: math.MaxInt, Part: math.MaxInt}
}

func (s *Database) execution(t *transaction) ordered.Execution {
	return ordered.Execution{Forms: s.forms, Keys: t, Limits: limits()}
}

func (s *Database) insert(x *ordered.Execution, of *store.Rows) (err error) {
	f := s.forms[of.Table]
	wrong := f.Parts(of, limits(), func(part []rows.Row) bool {
		err = x.Add(f, part)
		return err == nil
	})
	return errors.Join(wrong, err)
}

func (s *Database) Load(ctx context.Context, of store.Rows) error {
	return s.locked(true, func() error {
		var t transaction
		t.begin(ctx, s.d)
		x := s.execution(&t)
		if err := s.insert(&x, &of); err != nil {
			return fmt.Errorf("mem: load %s: %w", of.Table, err)
		}
		t.commit()
		return nil
	})
}

// View implements store.Database on a snapshot; others go on writing.
func (s *Database) View(ctx context.Context, read func(store.Reader) error) error {
	t := &transaction{}
	err := s.locked(true, func() error {
		t.begin(ctx, s.d)
		t.tree = s.d.tree.Copy()
		return nil
	})
	if err != nil {
		return err
	}
	return read(&reader{s.execution(t)})
}

func (s *Database) Audit(ctx context.Context, read func(store.Reader) error) error {
	return s.View(ctx, read)
}

type reader struct{ ordered.Execution }

func (r *reader) Read(_ context.Context, of store.Statement, row func(store.Row) error, parameters ...store.Value) error {
	p, err := ordered.Compile(r.Forms, &of, true)
	if err != nil {
		return fmt.Errorf("mem: %w", err)
	}
	_, err = r.Do(p, parameters, row)
	return err
}
