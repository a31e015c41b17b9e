package mem

import (
	"context"
	"strconv"
	"time"

	"assay/workload"
)

// name stands for the database in errors: it has no other.
const name = "mem:"

// baseStore is what the Stores of all workloads do alike. Their Read holds up all other
// calls while it lasts, and its callbacks must make none.
type baseStore struct {
	d     *database
	taken *workload.Taken
}

// opened is the Store of one workload on a new, empty database.
func opened[S any](target workload.Target, store func(baseStore) S) (s S, err error) {
	d, err := open(target)
	if err != nil {
		return s, err
	}
	return store(baseStore{d, new(workload.Taken)}), nil
}

// locked does something under the lock, if what is there is ours, and if there
// is something where that is required.
func (s *baseStore) locked(required bool, do func() error) error {
	if err := s.d.lock(required); err != nil {
		return err
	}
	defer s.d.mu.Unlock()
	return do()
}

// ready returns an error unless there is a schema of ours.
func (s *baseStore) ready() error { return s.locked(true, func() error { return nil }) }

func (s *baseStore) Describe(context.Context) (workload.Product, error) {
	return workload.Product{
		Name: "assay's reference database", Version: "1", Embedded: true,
		Settings: []workload.Setting{
			{Name: "isolation", Value: level},
			{Name: "durability", Value: "none, in memory"},
			{Name: "timeouts", Value: strconv.FormatFloat(s.d.timeout, 'g', -1, 64)},
			{Name: "latency", Value: s.d.latency.String()},
		},
		Topology: workload.Topology{Nodes: 1},
	}, nil
}

func (s *baseStore) Find(context.Context) (leftover *workload.Leftover, err error) {
	err = s.locked(false, func() error {
		if s.d.marker != nil {
			leftover = &workload.Leftover{Marker: *s.d.marker, Rows: s.d.tables[0].count()}
		}
		return nil
	})
	return leftover, err
}

func (s *baseStore) Marker(ctx context.Context) (*workload.Marker, error) {
	leftover, err := s.Find(ctx)
	if leftover == nil {
		return nil, err
	}
	return &leftover.Marker, nil
}

func (s *baseStore) Create(_ context.Context, marker workload.Marker) error {
	return s.anew(func() { s.d.marker = &marker })
}

// Blocked implements the Stores: nothing waits.
func (s *baseStore) Blocked(context.Context) (string, error) { return "", nil }

// Removable implements the Stores: nobody else reaches this memory.
func (s *baseStore) Removable(context.Context) error { return nil }

func (s *baseStore) Drop(context.Context) error {
	return s.anew(func() { s.d.marker, s.d.lease = nil, nil })
}

// anew empties the schema, unless another holds the lease.
func (s *baseStore) anew(then func()) error {
	return s.locked(false, func() error {
		if err := s.d.lease.current().Admit(name, s.taken.Holder().Token); err != nil {
			return err
		}
		s.d.reset()
		then()
		return nil
	})
}

func (s *baseStore) FinishLoad(context.Context) error {
	return s.locked(true, func() error {
		s.d.marker.Loaded = true
		return nil
	})
}

// Settle implements the Stores: nothing is ever in flight.
func (s *baseStore) Settle(context.Context) error { return nil }

// size is the Size of a Store. It is memory, there being no disk; what the rows of
// the named tables take is counted under the lock.
func (s *baseStore) size(bytes func() int64, tables ...string) (size workload.Size, err error) {
	err = s.locked(true, func() error {
		size.Rows = map[string]int64{}
		for i, table := range tables {
			size.Rows[table] = s.d.tables[i].count()
		}
		size.Bytes = bytes()
		size.Tables = size.Bytes
		return nil
	})
	return size, err
}

func (s *baseStore) Close() error { return nil }

// lease is the lease of a database, whose clock is the process's own.
type lease struct {
	holder         workload.Holder
	since, expires time.Time
}

// current is the lease as the Stores give it; nil if there is none.
func (l *lease) current() *workload.Lease {
	if l == nil {
		return nil
	}
	return &workload.Lease{Holder: l.holder, Since: l.since.UTC(), Remaining: time.Until(l.expires)}
}

func (s *baseStore) Lease(context.Context) (l *workload.Lease, err error) {
	err = s.locked(false, func() error {
		l = s.d.lease.current()
		return nil
	})
	return l, err
}

func (s *baseStore) TakeLease(_ context.Context, holder workload.Holder, ttl time.Duration, gone string) error {
	return s.locked(false, func() error {
		if err := s.d.lease.current().MayTake(name, holder, gone); err != nil {
			return err
		}
		now := time.Now()
		s.d.lease = &lease{holder: holder, since: now, expires: now.Add(ttl)}
		s.taken.Set(holder)
		return nil
	})
}

func (s *baseStore) RenewLease(_ context.Context, token string, ttl time.Duration) error {
	return s.locked(false, func() error {
		if err := s.d.lease.current().MayRenew(name, token); err != nil {
			return err
		}
		s.d.lease.expires = time.Now().Add(ttl)
		return nil
	})
}

func (s *baseStore) ReleaseLease(_ context.Context, token string) error {
	return s.locked(false, func() error {
		if s.d.lease != nil && s.d.lease.holder.Token == token {
			s.d.lease = nil
		}
		return nil
	})
}
