package serve

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	"assay/store"
	"assay/workload/entity"
	"assay/workload/keyvalue"
)

// administration extends a request's time to adminTimeout.
func (s *Service) administration(w http.ResponseWriter, r *http.Request) (context.Context, context.CancelFunc) {
	// A connection without deadlines has none to move.
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(adminTimeout))
	return context.WithTimeout(r.Context(), adminTimeout)
}

// asked answers with the result of ask as JSON; an empty answer for nil.
func (s *Service) asked(w http.ResponseWriter, r *http.Request, ask func(ctx context.Context) (any, error)) {
	ctx, cancel := s.administration(w, r)
	defer cancel()
	s.schema.RLock()
	defer s.schema.RUnlock()
	switch answer, err := ask(ctx); {
	case err != nil:
		answerProblem(w, problemOf(err))
	case answer == nil:
		w.WriteHeader(http.StatusNoContent)
	default:
		answerJSON(w, http.StatusOK, answer)
	}
}

// database is GET /admin/database.
func (s *Service) database(w http.ResponseWriter, r *http.Request) { s.asked(w, r, s.describe) }

func (s *Service) describe(ctx context.Context) (any, error) {
	product, err := s.store.Describe(ctx)
	if err != nil {
		return nil, err
	}
	product.Settings = append(product.Settings,
		store.Setting{Name: "service", Value: "assay serve " + s.options.Version},
		store.Setting{Name: "service's sessions", Value: strconv.Itoa(s.options.Sessions)},
		store.Setting{Name: "service's time limit", Value: s.options.Timeout.String()})
	product.Embedded = false // not in the process that asks
	return struct {
		Product store.Product `json:"product"`
		Promise string        `json:"promise"`
	}{product, s.store.Promises().Reads}, nil
}

// mark is GET /admin/mark: what is there, and who made it. rows=no skips counting the rows.
func (s *Service) mark(w http.ResponseWriter, r *http.Request) {
	counting := r.URL.Query().Get("rows") != "no"
	s.asked(w, r, func(ctx context.Context) (any, error) { return s.marked(ctx, counting) })
}

func (s *Service) marked(ctx context.Context, counting bool) (any, error) {
	var answer struct {
		Found bool         `json:"found"`
		Mark  store.Marker `json:"mark"`
		Rows  int64        `json:"rows"`
	}
	if !counting {
		mark, err := s.store.Marker(ctx)
		if mark != nil {
			answer.Found, answer.Mark = true, *mark
		}
		return answer, err
	}
	found, err := s.store.Find(ctx)
	if found != nil {
		answer.Found, answer.Mark, answer.Rows = true, found.Marker, found.Rows
	}
	return answer, err
}

// create is PUT /admin/schema: an empty table under the mark in the body.
func (s *Service) create(w http.ResponseWriter, r *http.Request) {
	var mark store.Marker
	if p := readJSON(w, r, &mark); p != nil {
		answerProblem(w, p)
		return
	}
	if mark.Run == "" || mark.Workload != entity.Name {
		answerProblem(w, badRequest("a mark names its run, and workload entity"))
		return
	}
	s.exclusively(w, r, s.unlessHeld(r, func(ctx context.Context) error { return s.store.Create(ctx, mark) }))
}

// drop is DELETE /admin/schema.
func (s *Service) drop(w http.ResponseWriter, r *http.Request) {
	s.exclusively(w, r, s.unlessHeld(r, s.store.Drop))
}

// unlessHeld calls do if the lease belongs to the request's parameter lease, or to nobody. The
// database behind the service cannot tell the service's clients apart.
func (s *Service) unlessHeld(r *http.Request, do func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error {
		l, err := s.store.Lease(ctx)
		if err != nil {
			return err
		}
		if l.Excludes(r.URL.Query().Get("lease")) {
			return &store.HeldError{Name: "the database behind the service", Lease: *l}
		}
		return do(ctx)
	}
}

// exclusively calls do while no request works and no session is open.
func (s *Service) exclusively(w http.ResponseWriter, r *http.Request, do func(context.Context) error) {
	ctx, cancel := s.administration(w, r)
	defer cancel()
	s.schema.Lock()
	defer s.schema.Unlock()
	s.pool.drain()
	if err := do(ctx); err != nil {
		answerProblem(w, problemOf(err))
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// settle is POST /admin/settle: it answers when the last connection of the parameter client is
// gone, and nothing of it is in flight in the database.
func (s *Service) settle(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := s.administration(w, r)
	defer cancel()
	if err := s.clients.gone(ctx, r.URL.Query().Get("client")); err != nil {
		answerProblem(w, problem(http.StatusServiceUnavailable, classBusy, "connections of this client are still open"))
		return
	}
	s.exclusively(w, r, s.store.Settle)
}

func (s *Service) size(w http.ResponseWriter, r *http.Request) {
	s.asked(w, r, func(ctx context.Context) (any, error) { return s.store.Size(ctx) })
}

// stepEntities is the number of entities after which the write deadline is extended.
const stepEntities = 256

// entities is GET /admin/entities: a JSON object a line, and in the last line their count. Without
// the count, the answer is incomplete.
func (s *Service) entities(w http.ResponseWriter, r *http.Request) {
	s.schema.RLock()
	defer s.schema.RUnlock()
	control := http.NewResponseController(w)
	out := bufio.NewWriterSize(w, 64<<10)
	encoder := json.NewEncoder(out)
	n := int64(0)
	err := keyvalue.Read(r.Context(), s.store, entity.Schema(), func(row store.Row) error {
		if n%stepEntities == 0 {
			_ = control.SetWriteDeadline(time.Now().Add(stepTimeout)) // as in administration
			if n == 0 {
				w.Header().Set("Content-Type", "application/x-ndjson")
			}
		}
		n++
		e, err := entity.Of(row)
		if err != nil {
			return err
		}
		return encoder.Encode(e)
	})
	switch {
	case err != nil && n == 0:
		answerProblem(w, problemOf(err))
	case err == nil:
		w.Header().Set("Content-Type", "application/x-ndjson")
		if encoder.Encode(map[string]int64{"count": n}) == nil {
			_ = out.Flush() // a reader that has gone misses the count
		}
	}
	// An error after the first entity leaves the answer without its count.
}

// lease is GET /admin/lease: the holder, or null.
func (s *Service) lease(w http.ResponseWriter, r *http.Request) {
	s.asked(w, r, func(ctx context.Context) (any, error) {
		found, err := s.store.Lease(ctx)
		return struct {
			Lease *store.Lease `json:"lease"`
		}{found}, err
	})
}

type leaseTerms struct {
	Holder store.Holder  `json:"holder"`
	TTL    time.Duration `json:"ttl_ns"`
	Gone   string        `json:"gone"`
}

func (s *Service) changeLease(w http.ResponseWriter, r *http.Request, change func(ctx context.Context, t leaseTerms) error) {
	var terms leaseTerms
	if p := readJSON(w, r, &terms); p != nil {
		answerProblem(w, p)
		return
	}
	if terms.Holder.Token == "" || terms.TTL <= 0 {
		answerProblem(w, badRequest("a lease has a holder with a token, and a time to live"))
		return
	}
	s.asked(w, r, func(ctx context.Context) (any, error) { return nil, change(ctx, terms) })
}

// takeLease is PUT /admin/lease.
func (s *Service) takeLease(w http.ResponseWriter, r *http.Request) {
	s.changeLease(w, r, func(ctx context.Context, t leaseTerms) error {
		return s.store.TakeLease(ctx, t.Holder, t.TTL, t.Gone)
	})
}

// renewLease is POST /admin/lease.
func (s *Service) renewLease(w http.ResponseWriter, r *http.Request) {
	s.changeLease(w, r, func(ctx context.Context, t leaseTerms) error {
		return s.store.RenewLease(ctx, t.Holder.Token, t.TTL)
	})
}

func (s *Service) releaseLease(w http.ResponseWriter, r *http.Request) {
	s.asked(w, r, func(ctx context.Context) (any, error) {
		return nil, s.store.ReleaseLease(ctx, r.URL.Query().Get("token"))
	})
}
