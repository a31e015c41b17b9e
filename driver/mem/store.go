package mem

import (
	"context"
	"strconv"
	"time"

	"assay/store"
)

// name stands for the database in errors: it has no other.
const name = "mem:"

// locked does something under the lock, if what is there is ours, and if there
// is something where that is required.
func (s *Database) locked(required bool, do func() error) error {
	if err := s.d.lock(required); err != nil {
		return err
	}
	defer s.d.mu.Unlock()
	return do()
}

func (s *Database) Describe(context.Context) (store.Product, error) {
	return store.Product{
		Name: "assay's reference database", Version: "1", Embedded: true,
		Settings: []store.Setting{
			{Name: "isolation", Value: level},
			{Name: "durability", Value: "none, in memory"},
			{Name: "timeouts", Value: strconv.FormatFloat(s.d.timeout, 'g', -1, 64)},
			{Name: "latency", Value: s.d.latency.String()},
		},
		Topology: store.Topology{Nodes: 2, Replicas: 2},
	}, nil
}

func (s *Database) Find(context.Context) (leftover *store.Leftover, err error) {
	err = s.locked(false, func() error {
		if s.d.marker != nil {
			leftover = &store.Leftover{Marker: *s.d.marker, Rows: s.rows(s.schema.Tables[0].Name)}
		}
		return nil
	})
	return leftover, err
}

func (s *Database) Marker(ctx context.Context) (*store.Marker, error) {
	leftover, err := s.Find(ctx)
	if leftover == nil {
		return nil, err
	}
	return &leftover.Marker, nil
}

func (s *Database) Create(_ context.Context, marker store.Marker) error {
	return s.anew(func() { s.d.marker = &marker })
}

// Blocked implements store.Administration: nothing waits.
func (s *Database) Blocked(context.Context) (string, error) { return "", nil }

// Removable implements store.Administration: nobody else reaches this memory.
func (s *Database) Removable(context.Context) error { return nil }

func (s *Database) Drop(context.Context) error {
	return s.anew(func() { s.d.marker, s.d.lease = nil, nil })
}

// anew empties the schema, unless another holds the lease.
func (s *Database) anew(then func()) error {
	return s.locked(false, func() error {
		if err := s.d.lease.current().Admit(name, s.taken.Holder().Token); err != nil {
			return err
		}
		s.d.reset()
		then()
		return nil
	})
}

func (s *Database) FinishLoad(context.Context) error {
	return s.locked(true, func() error {
		s.d.marker.Loaded = true
		return nil
	})
}

// Settle implements store.Administration: nothing is ever in flight.
func (s *Database) Settle(context.Context) error { return nil }

func (s *Database) Close() error { return nil }

// lease is the lease of a database, whose clock is the process's own.
type lease struct {
	holder         store.Holder
	since, expires time.Time
}

// current is the lease as a database gives it; nil if there is none.
func (l *lease) current() *store.Lease {
	if l == nil {
		return nil
	}
	return &store.Lease{Holder: l.holder, Since: l.since.UTC(), Remaining: time.Until(l.expires)}
}

func (s *Database) Lease(context.Context) (l *store.Lease, err error) {
	err = s.locked(false, func() error {
		l = s.d.lease.current()
		return nil
	})
	return l, err
}

func (s *Database) TakeLease(_ context.Context, holder store.Holder, ttl time.Duration, gone string) error {
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

func (s *Database) RenewLease(_ context.Context, token string, ttl time.Duration) error {
	return s.locked(false, func() error {
		if err := s.d.lease.current().MayRenew(name, token); err != nil {
			return err
		}
		s.d.lease.expires = time.Now().Add(ttl)
		return nil
	})
}

func (s *Database) ReleaseLease(_ context.Context, token string) error {
	return s.locked(false, func() error {
		if s.d.lease != nil && s.d.lease.holder.Token == token {
			s.d.lease = nil
		}
		return nil
	})
}
