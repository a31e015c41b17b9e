// Package mem is a reference database in memory: the rows of package ordered, whose keys and
// values are in a B-tree. It is strictly serializable. With timeouts and latency
// asked for in its address it behaves as a database on a bad day; with bugs (driver/bugs)
// it is the patient on which the checks are tried.
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

// database is keys and values. It is safe for concurrent use.
type database struct {
	timeout float64
	latency time.Duration
	// tables are numbers of tables and indexes, by what their keys begin with.
	tables map[string]byte

	mu      sync.Mutex // for all below
	chance  *rand.Rand
	foreign bool          // somebody else's: for tests of the refusal
	marker  *store.Marker // nil while there is no schema
	lease   *store.Lease  // nil while nobody has it
	expires time.Time     // the lease, by the process's own clock
	// tree is another one after Create and Drop.
	tree *btree.BTreeG[entry]
	// bytes are the bytes of the entries, and reserved the most that they were since a compaction.
	bytes, reserved int64
	// clock numbers the commits. log has the keys that they have written while a transaction
	// was open, in their order, and is shortened when it is longer than longest.
	clock   int64
	log     []change
	longest int
	open    []*transaction
	// seed is of the digests of keys.
	seed maphash.Seed
}

// change is a key that a commit has written.
type change struct {
	at  int64
	key []byte
}

// reset empties the tables. The caller holds the lock.
func (d *database) reset() {
	d.tree = btree.NewBTreeGOptions(before, btree.Options{NoLocks: true})
	d.bytes, d.reserved, d.log, d.open = 0, 0, nil, nil
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

// Database is a schema on a database in memory of its own. It is a store.Database.
type Database struct {
	*ownership.Schema[ownership.Direct]
	d      *database
	schema store.Schema
	layout ordered.Layout
	forms  ordered.Forms
	// shared are the plans of the session that was opened last; the database's lock guards them.
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

// noSQL is why there are no statements of a user's.
const noSQL = "the reference database has no SQL"

// Lacks are the capabilities that the reference database does not have.
func Lacks() store.Lacks {
	return store.Lacks{store.SQL: noSQL, store.Language: noSQL, store.Documents: "the reference database keeps no rows within rows"}
}

// Open opens a schema on a new, empty database: two that are opened so share nothing. The
// address is mem:// with the optional parameters timeout (a probability) and latency (a
// duration, such as 2ms). It returns *store.OptionError.
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

// limits are none.
func limits() ordered.Limits {
	return ordered.Limits{Value: math.MaxInt, Changed: math.MaxInt, Part: math.MaxInt}
}

// execution does statements in a transaction.
func (s *Database) execution(t *transaction) ordered.Execution {
	return ordered.Execution{Forms: s.forms, Keys: t, Limits: limits()}
}

// insert adds rows in a transaction.
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

// View implements store.Database. Others go on meanwhile, and what they write is not
// seen.
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

// reader reads the state as of when it began.
type reader struct{ ordered.Execution }

func (r *reader) Read(_ context.Context, of store.Statement, row func(store.Row) error, parameters ...store.Value) error {
	p, err := ordered.Compile(r.Forms, &of, true)
	if err != nil {
		return fmt.Errorf("mem: %w", err)
	}
	_, err = r.Do(p, parameters, row)
	return err
}
