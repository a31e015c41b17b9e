package mem

import (
	"context"
	"fmt"

	"assay/driver/rows"
	"assay/store"
)

// Database is a schema on a database in memory of its own. It is a store.Database.
type Database struct {
	d         *database
	taken     *store.Taken
	schema    store.Schema
	tables    map[string]*rows.Table
	relations map[string]*relation
	// shared are the plans of the session that was opened last; the database's lock guards them.
	shared struct {
		statements []store.Statement
		plans      []*rows.Plan
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
	s := &Database{d: d, taken: new(store.Taken), schema: schema, tables: rows.Tables(&schema), relations: map[string]*relation{}}
	for i := range schema.Tables {
		r := newRelation(d, s.tables[schema.Tables[i].Name])
		d.relations = append(d.relations, r)
		s.relations[r.Name] = r
	}
	return s, nil
}

func (s *Database) Lacks() store.Lacks { return Lacks() }

func (s *Database) Levels() []store.Level { return []store.Level{{Name: level}} }

func (s *Database) Promises() store.Promises {
	return store.Promises{Model: "strict-serializable", Reads: store.Linearizable, Scans: store.Linearizable, Atomic: true}
}

func (s *Database) Load(_ context.Context, of store.Rows) error {
	return s.locked(true, func() error {
		var n steps
		n.x.begin(s.d, false, false)
		if err := n.insert(s, &of); err != nil {
			n.x.abort()
			return fmt.Errorf("mem: load %s: %w", of.Table, err)
		}
		n.x.commit()
		return nil
	})
}

// View implements store.Database. Others go on meanwhile, and what they write is not
// seen.
func (s *Database) View(ctx context.Context, read func(store.Reader) error) error {
	r := &reader{db: s}
	if err := s.locked(true, func() error { r.x.begin(s.d, true, true); return nil }); err != nil {
		return err
	}
	defer r.leave()
	return read(r)
}

func (s *Database) Audit(ctx context.Context, read func(store.Reader) error) error {
	return s.View(ctx, read)
}

// reader reads the state as of when it began.
type reader struct {
	steps
	db *Database
}

func (r *reader) Read(ctx context.Context, of store.Statement, row func(store.Row) error, parameters ...store.Value) error {
	var found result
	err := r.db.locked(true, func() error {
		p, err := r.db.compile(&of, false)
		if err == nil {
			_, err = r.do(p, parameters)
		}
		if err == nil {
			found = r.result(p)
		}
		return err
	})
	if err != nil {
		return err
	}
	return found.all(ctx, row)
}

// Size implements store.Database. It is memory, there being no disk.
func (s *Database) Size(context.Context) (store.Size, error) {
	return s.sizeOf(func(r *relation) int64 { return r.rows*r.fixedBytes() + r.bytes })
}

func (s *Database) sizeOf(bytes func(*relation) int64) (size store.Size, err error) {
	err = s.locked(true, func() error {
		size.Rows = map[string]int64{}
		for _, r := range s.d.relations {
			size.Rows[r.Name] = r.rows
			size.Bytes += bytes(r)
		}
		size.Tables = size.Bytes
		return nil
	})
	return size, err
}

const compaction = "repair"

// Compactions implements store.Compacting.
func (s *Database) Compactions() ([]string, error) { return []string{compaction}, nil }

// Compact implements store.Compacting: the space of rows that were deleted is given back.
func (s *Database) Compact(_ context.Context, name string) error {
	if name != compaction {
		return fmt.Errorf("mem: there is no compaction %q; there is %q", name, compaction)
	}
	return s.locked(true, func() error {
		for _, r := range s.d.relations {
			r.reserved = r.rows
		}
		return nil
	})
}

// FileSize implements store.Compacting: the space that rows have taken and no compaction
// has given back, of the longest row.
func (s *Database) FileSize(context.Context) (store.Size, error) {
	return s.sizeOf(func(r *relation) int64 { return max(r.reserved, r.rows) * r.longest })
}

// engine is the only one there is.
const engine = "memory"

// Engines implements store.Engined.
func (s *Database) Engines(context.Context) ([]string, error) { return []string{engine}, nil }

// CreateOn implements store.Engined.
func (s *Database) CreateOn(ctx context.Context, mark store.Marker, _ string, _ bool) error {
	return s.Create(ctx, mark)
}

// The names of the two members. They share their memory, so that what one has the
// other has.
const (
	firstMember  = "mem:1"
	secondMember = "mem:2"
)

// Replicas implements store.Replicated.
func (s *Database) Replicas(context.Context) ([]store.Replica, map[string]error, error) {
	return []store.Replica{{Name: firstMember, Primary: true}, {Name: secondMember}}, nil, nil
}

// CatchUp implements store.Replicated.
func (s *Database) CatchUp(ctx context.Context, member store.Replica) error {
	if member.Name != firstMember && member.Name != secondMember {
		return fmt.Errorf("mem: there is no member %q", member.Name)
	}
	return ctx.Err()
}

// ViewReplica implements store.Replicated.
func (s *Database) ViewReplica(ctx context.Context, member store.Replica, read func(store.Reader) error) error {
	if err := s.CatchUp(ctx, member); err != nil {
		return err
	}
	return s.View(ctx, read)
}
