package mem

import (
	"context"
	"strconv"
	"time"

	"assay/driver/ownership"
	"assay/store"
)

const name = "mem:"

// locked is lock with work under it.
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

// Look, Change and the methods below implement ownership.Place under the lock.
func (s *Database) Look(_ context.Context, _ string, work func(ownership.Direct) error) error {
	return s.locked(false, func() error { return work(ownership.Direct{}) })
}

func (s *Database) Change(ctx context.Context, doing string, work func(ownership.Direct) error) error {
	return s.Look(ctx, doing, work)
}

func (s *Database) Title() string { return name }

func (s *Database) ReadMark(context.Context, ownership.Direct) (*store.Marker, error) {
	if s.d.marker == nil {
		return nil, nil
	}
	mark := *s.d.marker
	return &mark, nil
}

func (s *Database) WriteMark(_ context.Context, _ ownership.Direct, mark store.Marker) error {
	s.d.marker = &mark
	return nil
}

func (s *Database) ReadLease(context.Context, ownership.Direct) (*ownership.Row, error) {
	if s.d.lease == nil {
		return nil, nil
	}
	l := *s.d.lease
	l.Remaining = time.Until(s.d.expires)
	return &ownership.Row{Lease: l}, nil
}

// WriteLease need not compare: the lock was held since the lease was read.
func (s *Database) WriteLease(_ context.Context, _ ownership.Direct, _ *ownership.Row, is *store.Lease) (bool, error) {
	now := time.Now()
	if s.d.lease = is; is != nil {
		s.d.expires = now.Add(is.Remaining)
		if is.Since.IsZero() {
			is.Since = now.UTC()
		}
	}
	return true, nil
}

// Others finds nothing, since nobody else reaches this memory.
func (s *Database) Others(context.Context, ownership.Direct) error { return nil }

func (s *Database) Rows(context.Context, ownership.Direct) (int64, error) {
	return s.rows(s.schema.Tables[0].Name), nil
}

func (s *Database) Create(ctx context.Context, marker store.Marker) error {
	return s.anew(ctx, func() { s.d.marker = &marker })
}

func (s *Database) Drop(ctx context.Context) error {
	return s.anew(ctx, func() { s.d.marker, s.d.lease = nil, nil })
}

// anew empties the schema unless another run holds the lease.
func (s *Database) anew(ctx context.Context, then func()) error {
	return s.Change(ctx, "", func(c ownership.Direct) error {
		if _, err := s.Admit(ctx, c); err != nil {
			return err
		}
		s.d.reset()
		then()
		return nil
	})
}

// Blocked implements store.Administration. Nothing waits.
func (s *Database) Blocked(context.Context) (string, error) { return "", nil }

// Settle implements store.Administration. Nothing is in flight.
func (s *Database) Settle(context.Context) error { return nil }

func (s *Database) Close() error { return nil }
