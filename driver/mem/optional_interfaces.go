package mem

import (
	"context"
	"fmt"

	"assay/store"
)

// Size implements store.Database. It is in memory.
func (s *Database) Size(context.Context) (size store.Size, err error) {
	err = s.locked(true, func() error {
		size = store.Size{Bytes: s.d.bytes, Tables: s.d.bytes, Rows: map[string]int64{}}
		for _, t := range s.schema.Tables {
			size.Rows[t.Name] = s.rows(t.Name)
		}
		return nil
	})
	return size, err
}

func (s *Database) rows(table string) (n int64) {
	begin, end := s.layout.Rows(table)
	last := s.d.newEntry(nil, end, nil)
	s.d.tree.Ascend(s.d.newEntry(nil, begin, nil), func(e entry) bool {
		if !before(e, last) {
			return false
		}
		n++
		return true
	})
	return n
}

const compaction = "repair"

// Compactions implements store.Compacting.
func (s *Database) Compactions() ([]string, error) { return []string{compaction}, nil }

// Compact implements store.Compacting. It gives back the space of deleted rows.
func (s *Database) Compact(_ context.Context, name string) error {
	if name != compaction {
		return fmt.Errorf("mem: there is no compaction %q; there is %q", name, compaction)
	}
	return s.locked(true, func() error {
		s.d.reserved = s.d.bytes
		return nil
	})
}

// FileSize implements store.Compacting: the greatest size since the last compaction.
func (s *Database) FileSize(ctx context.Context) (store.Size, error) {
	size, err := s.Size(ctx)
	if err != nil {
		return size, err
	}
	err = s.locked(true, func() error { size.Bytes, size.Tables = s.d.reserved, s.d.reserved; return nil })
	return size, err
}

const engine = "memory"

// Engines implements store.Engined.
func (s *Database) Engines(context.Context) ([]string, error) { return []string{engine}, nil }

// CreateOn implements store.Engined.
func (s *Database) CreateOn(ctx context.Context, mark store.Marker, _ string, _ bool) error {
	return s.Create(ctx, mark)
}

// The two members share their memory, so both have the same rows.
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
