// Package serve is the web service of workload entity. Two calls, to write an entity and to read
// it by its id, work on any database that serves the workload. Other load tools and driver/rest
// use it.
//
// It has no users and no encryption, and is meant for a test's own network. It imports no driver.
package serve

import (
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/google/uuid"

	"assay/runner/lease"
	"assay/store"
	"assay/workload/entity"
)

// Options is how the service runs.
type Options struct {
	// Version is assay's version.
	Version string
	// Sessions is the number of database sessions, 1 to MaxSessions. Other requests wait.
	Sessions int
	// Timeout bounds the database's part of a request, with the wait for a session.
	Timeout time.Duration
	// AllowReset lets every client empty, drop and read back all entities, as a run does. The
	// service then holds no lease on the database: the run that works through it takes one.
	AllowReset bool
	// Note is told what the user should know; nil for nobody.
	Note func(text string)
}

// MaxSessions bounds Options.Sessions.
const MaxSessions = 10_000

// DefaultOptions are the options of a service without flags.
func DefaultOptions() Options { return Options{Sessions: 64, Timeout: 10 * time.Second} }

// Validate returns a *store.OptionError for the first invalid value.
func (o Options) Validate() error {
	switch {
	case o.Sessions < 1 || o.Sessions > MaxSessions:
		return &store.OptionError{Option: "--sessions", Value: strconv.Itoa(o.Sessions), Want: "1 to " + strconv.Itoa(MaxSessions)}
	case o.Timeout <= 0 || o.Timeout > maxTimeout:
		return &store.OptionError{Option: "--timeout", Value: o.Timeout.String(), Want: "more than 0, at most " + maxTimeout.String()}
	}
	return nil
}

// The limits of a request. Its total limit is longer than the database's part.
const (
	maxTimeout    = 5 * time.Minute
	headerTimeout = 5 * time.Second
	bodyTimeout   = 15 * time.Second
	idleTimeout   = 2 * time.Minute
	maxHeader     = 16 << 10
	maxBody       = 64 << 10
	// maxInFlight bounds the requests that work or wait.
	maxInFlight = 20_000
	// adminTimeout bounds a request of the administration. stepTimeout is how long a reader of
	// all entities may read nothing.
	adminTimeout = 5 * time.Minute
	stepTimeout  = 30 * time.Second
)

// Service answers requests from one database, which it does not close.
type Service struct {
	options Options
	store   store.Database
	pool    *pool
	metrics *metrics
	clients *connections
	handler http.Handler
	held    *lease.Lease // nil with AllowReset
	// schema is read-locked by working requests, and locked by requests that make or drop the
	// table.
	schema sync.RWMutex
}

// New returns a service on a database with entity.Schema. It makes the empty table under a mark of
// its own, or uses what an earlier service or run left under our mark. Call Serve next. Errors are
// those of Options.Validate and of the database, among them *store.ForeignError, and
// *store.HeldError while a run works there.
func New(ctx context.Context, db store.Database, o Options) (*Service, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	s := &Service{options: o, store: db, pool: newPool(db, o.Sessions), metrics: newMetrics(), clients: newConnections()}
	if err := s.prepare(ctx); err != nil {
		s.held.Release(ctx)
		return nil, err
	}
	s.handler = s.router()
	return s, nil
}

// prepare takes the lease and, if there is none, makes the table.
func (s *Service) prepare(ctx context.Context) (err error) {
	mark := store.Marker{Run: uuid.NewString(), Workload: entity.Name, Version: s.options.Version,
		Created: time.Now().UTC().Truncate(time.Second), Loaded: true}
	if !s.options.AllowReset {
		note := s.options.Note
		if note == nil {
			note = func(string) {}
		}
		if s.held, err = lease.Take(ctx, s.store, mark.Run, lease.Terms{Note: note}); err != nil {
			return err
		}
	}
	found, err := s.store.Find(ctx)
	if err != nil || found != nil {
		return err
	}
	return s.store.Create(ctx, mark)
}

// Serve answers requests at the listener, which it closes, until ctx ends or a run takes over the
// database. Requests under way then get the time of a request to end. It returns nil if ctx ended
// it.
func (s *Service) Serve(ctx context.Context, listener net.Listener) error {
	asked := ctx
	if s.held != nil {
		ctx = s.held.Keep(ctx)
		defer s.held.Release(asked)
	}
	server := &http.Server{
		Handler: s.handler, ReadHeaderTimeout: headerTimeout, ReadTimeout: bodyTimeout,
		WriteTimeout: bodyTimeout + s.options.Timeout + headerTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeader,
		ConnContext: s.clients.opened, ConnState: s.clients.changed,
		ErrorLog: log.New(io.Discard, "", 0), // it reports connections cut by clients, which tests do on purpose
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	var err error
	select {
	case err = <-ended:
	case <-ctx.Done():
		grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.options.Timeout+headerTimeout)
		defer cancel()
		if err = server.Shutdown(grace); err != nil {
			err = errors.Join(err, server.Close())
		}
		<-ended
	}
	s.pool.drain()
	if errors.Is(err, http.ErrServerClosed) {
		err = nil
	}
	return errors.Join(err, s.held.IsLost())
}
