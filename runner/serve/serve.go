// Package serve is the web service of workload entity: two calls, to write an
// entity and to read it by its id, in front of any database that serves the workload.
// It is what others load with tools of their own, and what driver/rest speaks to.
//
// It has no users and no encryption, and is meant for a test's own network. It
// imports no driver.
package serve

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/google/uuid"

	"assay/store"
	"assay/workload/entity"
)

// Options is how the service runs.
type Options struct {
	// Version is assay's own.
	Version string
	// Sessions is how many sessions of the database work at once, 1 to MaxSessions;
	// other requests wait for one.
	Sessions int
	// Timeout bounds the database's part of a request, the wait for a session
	// included.
	Timeout time.Duration
	// AllowReset lets whoever reaches the service empty and drop the entities,
	// and read all of them back: what a run needs.
	AllowReset bool
}

// MaxSessions bounds Options.Sessions.
const MaxSessions = 10_000

// DefaultOptions are the options of a service without flags.
func DefaultOptions() Options { return Options{Sessions: 64, Timeout: 10 * time.Second} }

// Validate returns a *store.OptionError for the first value that cannot be
// used.
func (o Options) Validate() error {
	switch {
	case o.Sessions < 1 || o.Sessions > MaxSessions:
		return &store.OptionError{Option: "--sessions", Value: itoa(o.Sessions), Want: "1 to " + itoa(MaxSessions)}
	case o.Timeout <= 0 || o.Timeout > maxTimeout:
		return &store.OptionError{Option: "--timeout", Value: o.Timeout.String(), Want: "more than 0, at most " + maxTimeout.String()}
	}
	return nil
}

// The limits of a request. What is said of a request as a whole is longer than
// the database's part may take.
const (
	maxTimeout    = 5 * time.Minute
	headerTimeout = 5 * time.Second
	bodyTimeout   = 15 * time.Second
	idleTimeout   = 2 * time.Minute
	maxHeader     = 16 << 10
	maxBody       = 64 << 10
	// maxInFlight bounds the requests that are worked on or wait.
	maxInFlight = 20_000
	// adminTimeout is what a request of the administration may take, and
	// stepTimeout how long a reader of all entities may take none.
	adminTimeout = 5 * time.Minute
	stepTimeout  = 30 * time.Second
)

// Service answers requests out of one database, which it does not close.
type Service struct {
	options Options
	store   store.Database
	pool    *pool
	metrics *metrics
	clients *connections
	handler http.Handler
	// schema is held by requests while they work, and for itself by whoever
	// makes or drops what they work on.
	schema sync.RWMutex
}

// New returns a service on a database with entity.Schema. Where there is nothing yet, the empty table
// is made, under a mark of its own; what an earlier service or run left under
// our mark is used as it is. It returns Options.Validate's error and the
// database's, among them *store.ForeignError.
func New(ctx context.Context, db store.Database, o Options) (*Service, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	found, err := db.Find(ctx)
	if err != nil {
		return nil, err
	}
	if found == nil {
		err := db.Create(ctx, store.Marker{Run: uuid.NewString(), Workload: entity.Name, Version: o.Version,
			Created: time.Now().UTC().Truncate(time.Second), Loaded: true})
		if err != nil {
			return nil, err
		}
	}
	s := &Service{options: o, store: db, pool: newPool(db, o.Sessions), metrics: newMetrics(), clients: newConnections()}
	s.handler = s.router()
	return s, nil
}

// Serve answers what comes in at the listener, which it closes, until ctx ends;
// what is being answered then is entityBody the time of a request to end. It returns
// nil if ctx ended it.
func (s *Service) Serve(ctx context.Context, listener net.Listener) error {
	server := &http.Server{
		Handler: s.handler, ReadHeaderTimeout: headerTimeout, ReadTimeout: bodyTimeout,
		WriteTimeout: bodyTimeout + s.options.Timeout + headerTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeader,
		ConnContext: s.clients.opened, ConnState: s.clients.changed,
		ErrorLog: discardLog(), // it tells of connections that clients cut, which is what tests do
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
		return nil
	}
	return err
}
