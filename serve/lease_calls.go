package serve

import (
	"net/http"
	"time"

	"assay/workload"
)

// lease is GET /admin/lease: who holds the lease, null if nobody does.
func (s *Service) lease(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := s.administration(w, r)
	defer cancel()
	s.schema.RLock()
	defer s.schema.RUnlock()
	found, err := s.store.Lease(ctx)
	if err != nil {
		answerProblem(w, problemOf(err))
		return
	}
	answerJSON(w, http.StatusOK, struct {
		Lease *workload.Lease `json:"lease"`
	}{found})
}

// leaseTerms is the body of what takes a lease or renews one.
type leaseTerms struct {
	Holder workload.Holder `json:"holder"`
	TTL    time.Duration   `json:"ttl_ns"`
	Gone   string          `json:"gone"`
}

// changeLease does something with the lease that the body speaks of.
func (s *Service) changeLease(w http.ResponseWriter, r *http.Request, change func(r *http.Request, t leaseTerms) error) {
	var terms leaseTerms
	if p := readJSON(w, r, &terms); p != nil {
		answerProblem(w, p)
		return
	}
	if terms.Holder.Token == "" || terms.TTL <= 0 {
		answerProblem(w, badRequest("a lease has a holder with a token, and a time to live"))
		return
	}
	ctx, cancel := s.administration(w, r)
	defer cancel()
	s.schema.RLock()
	defer s.schema.RUnlock()
	if err := change(r.WithContext(ctx), terms); err != nil {
		answerProblem(w, problemOf(err))
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// takeLease is PUT /admin/lease.
func (s *Service) takeLease(w http.ResponseWriter, r *http.Request) {
	s.changeLease(w, r, func(r *http.Request, t leaseTerms) error {
		return s.store.TakeLease(r.Context(), t.Holder, t.TTL, t.Gone)
	})
}

// renewLease is POST /admin/lease.
func (s *Service) renewLease(w http.ResponseWriter, r *http.Request) {
	s.changeLease(w, r, func(r *http.Request, t leaseTerms) error {
		return s.store.RenewLease(r.Context(), t.Holder.Token, t.TTL)
	})
}

// releaseLease is DELETE /admin/lease.
func (s *Service) releaseLease(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := s.administration(w, r)
	defer cancel()
	s.schema.RLock()
	defer s.schema.RUnlock()
	if err := s.store.ReleaseLease(ctx, r.URL.Query().Get("token")); err != nil {
		answerProblem(w, problemOf(err))
		return
	}
	w.WriteHeader(http.StatusNoContent)
}
