// Package cassandra serves the workloads on Apache Cassandra, through gocql:
// one file for the address, the connection and the errors each, then some for
// what the workloads need.
//
// No statement is sent twice: gocql has no retry policy and no speculative
// execution here. It passes over nodes to which it has no connection before it
// sends anything, and it sends a statement again that a node has refused as
// unprepared, which is to say unread.
//
// It must not know the load engine, the checkers or any other driver.
package cassandra

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"sync/atomic"
	"time"

	gocql "github.com/apache/cassandra-gocql-driver/v2"

	"assay/store"
)

// defaultSilence is how long a connection may say nothing before it is taken
// for dead: gocql asks for a sign of life every 5 seconds, and by default waits
// 11 for an answer.
const defaultSilence = 16 * time.Second

// agreementBound is how long nodes may take to agree on a new schema, which is
// a second or two when all are up.
const agreementBound = 30 * time.Second

// defaultRevisit is gocql's ReconnectInterval.
const defaultRevisit = time.Minute

// connection is a gocql session, which keeps connections to all nodes and
// watches which of them are up. All clients of a database share it, as those of an
// application do.
//
// What gocql imposes, whatever a caller's context says:
//   - a statement goes to a replica of its row, in turn, and to another node if
//     there is no connection to a replica; with no connection at all it fails
//     at once;
//   - a node is left alone when the others say that it is down, or when it
//     takes no connections any more, and comes back when they say that it is up
//     or an attempt succeeds, of which there is one a minute;
//   - a connection that is lost, or silent for defaultSilence, or takes no more
//     bytes for the connect timeout, ends all that is in flight on it.
//
// gocql's own limit for a request (Timeout, 11 seconds by default) is off, so
// that a call without a deadline may take as long as the server needs. It is
// also gocql's way to notice a node that has gone silent; defaultSilence stands
// in for that.
type connection struct {
	*settings
	session *gocql.Session
}

// connect makes the first contact within target.ConnectTimeout: nobody there is
// *store.UnreachableError, a user that is refused *store.AuthError.
func connect(ctx context.Context, s *settings) (*connection, error) {
	seen := &refusals{encrypted: s.encryption != nil}
	return connectTo(ctx, s, s.cluster(seen), seen)
}

// connectTo is connect by this configuration.
func connectTo(ctx context.Context, s *settings, cluster *gocql.ClusterConfig, seen *refusals) (*connection, error) {
	ctx, cancel := context.WithTimeout(ctx, s.connectTimeout)
	defer cancel()
	type result struct {
		session *gocql.Session
		err     error
	}
	done := make(chan result, 1)
	go func() {
		session, err := cluster.CreateSession() // takes no context
		done <- result{session, err}
	}()
	select {
	case r := <-done:
		if r.err != nil {
			return nil, s.refused(r.err, seen)
		}
		return &connection{settings: s, session: r.session}, nil
	case <-ctx.Done():
		go func() { // its dialling ends by the connect timeout
			if r := <-done; r.session != nil {
				r.session.Close()
			}
		}()
		return nil, s.refused(ctx.Err(), seen)
	}
}

// cluster is the configuration of gocql.
func (s *settings) cluster(seen *refusals) *gocql.ClusterConfig {
	c := gocql.NewCluster(s.hosts...)
	c.Timeout, c.WriteTimeout = 0, s.connectTimeout
	c.ConnectTimeout = s.connectTimeout
	c.ReconnectInterval = s.revisit
	// With a node that is down there is no agreement, and every change of the
	// schema takes as long as this.
	c.MaxWaitSchemaAgreement = agreementBound
	c.RetryPolicy = nil
	c.Consistency = s.consistency
	c.PoolConfig.HostSelectionPolicy = gocql.TokenAwareHostPolicy(gocql.RoundRobinHostPolicy())
	c.Metadata.CacheMode = gocql.KeyspaceOnly
	c.HostDialer = &dialer{timeout: s.connectTimeout, silence: s.silence, encryption: s.encryption, seen: seen, hosts: s.hosts, names: map[string]string{}}
	c.Authenticator = login{user: s.user, password: s.password}
	c.ConnectObserver = seen
	c.StreamObserver = streams{}
	return c
}

// refused turns an error of the first contact into what users are told.
func (s *settings) refused(err error, seen *refusals) error {
	user, handshake := seen.reasons()
	if user != "" {
		return &store.AuthError{Address: s.printable, User: s.user, Reason: user}
	}
	if handshake != "" {
		err = errors.New(handshake)
	}
	return &store.UnreachableError{Address: s.printable, Err: err}
}

func (c *connection) Close() error {
	c.session.Close()
	return nil
}

// errNoUser means that the server asks for a user and none was given.
var errNoUser = errors.New("it asks for a user, and the address names none")

// login gives user and password to a server that asks.
type login struct{ user, password string }

func (l login) Challenge(request []byte) ([]byte, gocql.Authenticator, error) {
	if l.user == "" {
		return nil, nil, errNoUser
	}
	return gocql.PasswordAuthenticator{Username: l.user, Password: l.password}.Challenge(request)
}

func (l login) Success([]byte) error { return nil }

// watched is a connection from which something must come now and then.
type watched struct {
	net.Conn
	silence time.Duration
}

// errSilent must be no net.Error, which gocql would try again.
var errSilent = errors.New("the node has said nothing for too long")

// SetReadDeadline does nothing: gocql, without a Timeout, only takes deadlines
// away with it.
func (w *watched) SetReadDeadline(time.Time) error { return nil }

func (w *watched) Read(p []byte) (int, error) {
	if err := w.Conn.SetReadDeadline(time.Now().Add(w.silence)); err != nil {
		return 0, err
	}
	n, err := w.Conn.Read(p)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = fmt.Errorf("%w (%v)", errSilent, w.silence)
	}
	return n, err
}

// sending tells whether a statement was sent under one context.
type sending struct{ begun atomic.Bool }

type sendingKey struct{}

// watching returns a context under which sending is noticed.
func watching(ctx context.Context) (context.Context, *sending) {
	s := new(sending)
	return context.WithValue(ctx, sendingKey{}, s), s
}

// streams is how gocql tells that it is about to write a request to a
// connection. A statement is prepared under a context of gocql's own, so what
// is noticed here is its execution.
type streams struct{}

func (streams) StreamContext(ctx context.Context) gocql.StreamObserverContext {
	if s, ok := ctx.Value(sendingKey{}).(*sending); ok {
		return s
	}
	return nil
}

func (s *sending) StreamStarted(gocql.ObservedStream) { s.begun.Store(true) }

func (s *sending) StreamAbandoned(gocql.ObservedStream) {}

func (s *sending) StreamFinished(gocql.ObservedStream) {}
