package mem

import (
	"context"
	"time"

	"assay/workload"
)

// lease is the lease of a site, whose clock is the process's own.
type lease struct {
	holder         workload.Holder
	since, expires time.Time
}

// current is the lease as the Stores tell it; nil if there is none. The caller
// holds the lock, as for all methods of a site's lease.
func (s *site) current() *workload.Lease {
	if s.lease == nil {
		return nil
	}
	return &workload.Lease{Holder: s.lease.holder, Since: s.lease.since.UTC(), Remaining: time.Until(s.lease.expires)}
}

// admit gives *workload.HeldError if another holds the lease.
func (s *shell) admit() error {
	if l := s.site.current(); l.Excludes(s.taken.Holder().Token) {
		return &workload.HeldError{Name: name, Lease: *l}
	}
	return nil
}

// Lease implements the Stores.
func (s *shell) Lease(context.Context) (l *workload.Lease, err error) {
	err = s.locked(false, func() error {
		l = s.site.current()
		return nil
	})
	return l, err
}

// TakeLease implements the Stores.
func (s *shell) TakeLease(_ context.Context, holder workload.Holder, ttl time.Duration, gone string) error {
	return s.locked(false, func() error {
		if l := s.site.current(); l.Excludes(holder.Token) && l.Token != gone {
			return &workload.HeldError{Name: name, Lease: *l}
		}
		now := time.Now()
		s.site.lease = &lease{holder: holder, since: now, expires: now.Add(ttl)}
		s.taken.Set(holder)
		return nil
	})
}

// RenewLease implements the Stores.
func (s *shell) RenewLease(_ context.Context, token string, ttl time.Duration) error {
	return s.locked(false, func() error {
		switch l := s.site.current(); {
		case l == nil:
			return &workload.NoSchemaError{Name: name}
		case l.Token != token:
			return &workload.HeldError{Name: name, Lease: *l}
		}
		s.site.lease.expires = time.Now().Add(ttl)
		return nil
	})
}

// ReleaseLease implements the Stores.
func (s *shell) ReleaseLease(_ context.Context, token string) error {
	return s.locked(false, func() error {
		if s.site.lease != nil && s.site.lease.holder.Token == token {
			s.site.lease = nil
		}
		return nil
	})
}
