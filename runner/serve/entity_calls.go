package serve

import (
	"context"
	_ "embed"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"assay/history"
	"assay/store"
	"assay/workload/entity"
	"assay/workload/keyvalue"
)

// openAPI describes the service (OpenAPI 3.1).
//
//go:embed openapi.json
var openAPI []byte

type route struct {
	method, pattern string
	handle          http.HandlerFunc
	// admin calls need Options.AllowReset.
	admin bool
}

func (s *Service) routes() []route {
	return []route{
		{http.MethodPost, "/entities", s.write, false},
		{http.MethodGet, "/entities/{id}", s.read, false},
		{http.MethodGet, "/healthz", s.health, false},
		{http.MethodGet, "/metrics", s.metrics.answer, false},
		{http.MethodGet, "/openapi.json", openapi, false},
		{http.MethodGet, "/admin/database", s.database, true},
		{http.MethodGet, "/admin/mark", s.mark, true},
		{http.MethodGet, "/admin/lease", s.lease, true},
		{http.MethodPut, "/admin/lease", s.takeLease, true},
		{http.MethodPost, "/admin/lease", s.renewLease, true},
		{http.MethodDelete, "/admin/lease", s.releaseLease, true},
		{http.MethodPut, "/admin/schema", s.create, true},
		{http.MethodDelete, "/admin/schema", s.drop, true},
		{http.MethodPost, "/admin/settle", s.settle, true},
		{http.MethodGet, "/admin/size", s.size, true},
		{http.MethodGet, "/admin/entities", s.entities, true},
	}
}

// router answers unknown calls with a problem too.
func (s *Service) router() http.Handler {
	byPattern := map[string][]route{}
	for _, r := range s.routes() {
		byPattern[r.pattern] = append(byPattern[r.pattern], r)
	}
	mux := http.NewServeMux()
	for pattern, routes := range byPattern {
		mux.HandleFunc(pattern, s.counted(pattern, func(w http.ResponseWriter, r *http.Request) { s.dispatch(routes, w, r) }))
	}
	mux.HandleFunc("/", s.counted("other", func(w http.ResponseWriter, r *http.Request) {
		answerProblem(w, problem(http.StatusNotFound, classRequest, "there is no such call; GET /openapi.json lists them"))
	}))
	return mux
}

func (s *Service) dispatch(routes []route, w http.ResponseWriter, r *http.Request) {
	i := slices.IndexFunc(routes, func(x route) bool { return x.method == r.Method })
	switch {
	case i < 0:
		var allowed []string
		for _, x := range routes {
			allowed = append(allowed, x.method)
		}
		w.Header().Set("Allow", strings.Join(allowed, ", "))
		answerProblem(w, problem(http.StatusMethodNotAllowed, classRequest, "the call knows "+strings.Join(allowed, ", ")))
	case routes[i].admin && !s.options.AllowReset:
		answerProblem(w, problem(http.StatusForbidden, classReset, "the service was started without --allow-reset"))
	default:
		routes[i].handle(w, r)
	}
}

// counted measures a request, and refuses requests beyond maxInFlight.
func (s *Service) counted(pattern string, handle http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		s.clients.belongs(r)
		seen := &status{ResponseWriter: w, code: http.StatusOK}
		start := time.Now()
		if s.metrics.inFlight.Add(1) > maxInFlight {
			answerProblem(seen, problem(http.StatusServiceUnavailable, classBusy, "too many requests at once"))
		} else {
			handle(seen, r)
		}
		s.metrics.inFlight.Add(-1)
		s.metrics.request(r.Method, pattern, seen.code, time.Since(start))
	}
}

// status remembers the code of an answer.
type status struct {
	http.ResponseWriter
	code int
}

func (s *status) WriteHeader(code int) {
	s.code = code
	s.ResponseWriter.WriteHeader(code)
}

// Unwrap is for http.ResponseController.
func (s *status) Unwrap() http.ResponseWriter { return s.ResponseWriter }

// write is POST /entities. The database goes on if the client goes away: to cancel would make
// the session useless.
func (s *Service) write(w http.ResponseWriter, r *http.Request) {
	var body entityBody
	if p := readJSON(w, r, &body); p != nil {
		answerProblem(w, p)
		return
	}
	e, p := body.entity()
	if p != nil {
		answerProblem(w, p)
		return
	}
	reply := s.call(context.WithoutCancel(r.Context()), store.Call{Statement: keyvalue.Insert, Parameters: e.Values()})
	switch {
	case reply.Outcome == history.Committed:
		w.Header().Set("Location", "/entities/"+e.ID.String())
		answerJSON(w, http.StatusCreated, map[string]uuid.UUID{"id": e.ID})
	case reply.Duplicate:
		answerProblem(w, problem(http.StatusConflict, classDuplicate, "an entity of this id is there already"))
	default:
		answerProblem(w, s.unavailable(reply))
	}
}

// read is GET /entities/{id}.
func (s *Service) read(w http.ResponseWriter, r *http.Request) {
	id, p := idOf(r.PathValue("id"))
	if p != nil {
		answerProblem(w, p)
		return
	}
	switch found, p := s.find(r.Context(), id); {
	case p != nil:
		answerProblem(w, p)
	case len(found) == 0:
		answerProblem(w, problem(http.StatusNotFound, classNotFound, "there is no entity of this id"))
	default:
		answerJSON(w, http.StatusOK, found[0])
	}
}

func (s *Service) find(ctx context.Context, id uuid.UUID) ([]entity.Entity, *Problem) {
	found := new([]entity.Entity) // only of this call: an abandoned query may go on
	reply := s.call(ctx, store.Call{Statement: keyvalue.Get, Parameters: []store.Value{store.OfBytes(id[:])}, Row: func(row store.Row) error {
		e, err := entity.Of(row)
		*found = append(*found, e)
		return err
	}})
	if reply.Outcome != history.Committed {
		reply.Outcome = history.Failed // it has no effect
		return nil, s.unavailable(reply)
	}
	return *found, nil
}

// health is GET /healthz: the database answers a read.
func (s *Service) health(w http.ResponseWriter, r *http.Request) {
	if _, p := s.find(r.Context(), uuid.Nil); p != nil {
		answerProblem(w, p)
		return
	}
	answerJSON(w, http.StatusOK, map[string]string{"status": "ok"})
}

func openapi(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(openAPI) // the client may be gone
}

// call executes a statement within the time limit. Without a session, it has certainly failed.
func (s *Service) call(ctx context.Context, call store.Call) store.Reply {
	s.schema.RLock()
	defer s.schema.RUnlock()
	ctx, cancel := context.WithTimeout(ctx, s.options.Timeout)
	defer cancel()
	session, err := s.pool.take(ctx)
	if err != nil {
		class := "cannot connect"
		if ctx.Err() != nil {
			class = classBusy
		}
		return store.Reply{Outcome: history.Failed, Class: class, Err: err}
	}
	reply := session.Run(ctx, call).Inserted()
	s.pool.give(session, reply.Broken || reply.Outcome == history.Unknown)
	return reply
}

// unavailable is the answer if the database gave none. It tells only the class of the error: the
// text is for the operator.
func (s *Service) unavailable(reply store.Reply) *Problem {
	p := problem(http.StatusServiceUnavailable, reply.Class, "the database did not do it: "+reply.Class)
	if reply.Outcome != history.Failed {
		p.Outcome, p.Detail = outcomeUnknown, "it is not known whether the database did it: "+reply.Class
	}
	s.metrics.failure(p.Class, p.Outcome)
	return p
}
