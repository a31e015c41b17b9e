package rest

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"assay/workload"
)

const leasePath = "/admin/lease"

// leaseTerms is the body of what takes a lease or renews one.
type leaseTerms struct {
	Holder workload.Holder `json:"holder"`
	TTL    time.Duration   `json:"ttl_ns"`
	Gone   string          `json:"gone"`
}

// asHolder is the query that says whose lease a request comes under.
func (s *store) asHolder() string { return "?lease=" + url.QueryEscape(s.taken.Holder().Token) }

// Lease implements keyvalue.Store: the lease is kept by the database behind the
// service.
func (s *store) Lease(ctx context.Context) (*workload.Lease, error) {
	var got struct {
		Lease *workload.Lease `json:"lease"`
	}
	err := s.answer(ctx, http.MethodGet, leasePath, nil, &got)
	return got.Lease, err
}

func (s *store) TakeLease(ctx context.Context, holder workload.Holder, ttl time.Duration, gone string) error {
	err := s.answer(ctx, http.MethodPut, leasePath, leaseTerms{holder, ttl, gone}, nil)
	if err == nil {
		s.taken.Set(holder)
	}
	return err
}

func (s *store) RenewLease(ctx context.Context, token string, ttl time.Duration) error {
	return s.answer(ctx, http.MethodPost, leasePath, leaseTerms{Holder: workload.Holder{Token: token}, TTL: ttl}, nil)
}

func (s *store) ReleaseLease(ctx context.Context, token string) error {
	return s.answer(ctx, http.MethodDelete, leasePath+"?token="+url.QueryEscape(token), nil, nil)
}
