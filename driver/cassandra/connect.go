// Package cassandra is Apache Cassandra, through gocql.
//
// No statement is sent twice: gocql has neither a retry policy nor speculative execution here.
// Before it sends, it passes over nodes without a connection. It resends a statement only if a node
// has refused it as unprepared, and so has not run it.
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

// defaultSilence is when a silent connection counts as dead: gocql asks for a sign of life every 5
// seconds, and by default waits 11 for an answer.
const defaultSilence = 16 * time.Second

// agreementBound bounds the nodes' agreement on a schema, which takes a second or two if all are
// up.
const agreementBound = 30 * time.Second

// defaultRevisit is gocql's ReconnectInterval.
const defaultRevisit = time.Minute

// connection is a gocql session, with connections to all nodes. All clients of a database share it,
// as in an application.
//
// gocql does the following whatever a caller's context says:
//   - A statement goes to its row's replicas in turn, or to another node if no replica is
//     connected. Without any connection it fails at once.
//   - A node is avoided while the others say that it is down, or while it refuses connections. It
//     comes back when they say that it is up, or by an attempt, once a minute.
//   - A connection that is lost, silent for defaultSilence, or accepts no bytes for the connect
//     timeout ends everything in flight on it.
//
// gocql's own limit for a request (Timeout) is off, so that a call may take as long as the server
// needs. gocql also uses Timeout to notice silent nodes; defaultSilence does that here.
type connection struct {
	*settings
	session *gocql.Session
}

// connect makes the first contact within target.ConnectTimeout. It returns *store.UnreachableError
// or *store.AuthError.
func connect(ctx context.Context, s *settings) (*connection, error) {
	seen := &refusals{encrypted: s.encryption != nil}
	return connectTo(ctx, s, s.cluster(seen), seen)
}

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

func (s *settings) cluster(seen *refusals) *gocql.ClusterConfig {
	c := gocql.NewCluster(s.hosts...)
	c.Timeout, c.WriteTimeout = 0, s.connectTimeout
	c.ConnectTimeout = s.connectTimeout
	c.ReconnectInterval = s.revisit
	// While a node is down there is no agreement, and each change of the schema takes this long.
	c.MaxWaitSchemaAgreement = agreementBound
	c.RetryPolicy = nil
	c.Consistency = s.consistency
	// The write with the latest timestamp wins (Cassandra documentation, "Dynamo", "Data
	// Versioning"). One client's clock keeps its writes in order. Several clocks, or one beside
	// that of the user's application, would let a later write lose by the tester's fault.
	c.DefaultTimestamp = !s.coordinated
	c.PoolConfig.HostSelectionPolicy = gocql.TokenAwareHostPolicy(gocql.RoundRobinHostPolicy())
	c.Metadata.CacheMode = gocql.KeyspaceOnly
	c.HostDialer = &dialer{timeout: s.connectTimeout, silence: s.silence, encryption: s.encryption, seen: seen, hosts: s.hosts, names: map[string]string{}}
	c.Authenticator = login{user: s.user, password: s.password}
	c.ConnectObserver = seen
	c.StreamObserver = streams{}
	return c
}

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

var errNoUser = errors.New("it asks for a user, and the address names none")

type login struct{ user, password string }

func (l login) Challenge(request []byte) ([]byte, gocql.Authenticator, error) {
	if l.user == "" {
		return nil, nil, errNoUser
	}
	return gocql.PasswordAuthenticator{Username: l.user, Password: l.password}.Challenge(request)
}

func (l login) Success([]byte) error { return nil }

// watched is a connection that must not stay silent.
type watched struct {
	net.Conn
	silence time.Duration
}

// errSilent must not be a net.Error, which gocql would retry.
var errSilent = errors.New("the node has said nothing for too long")

// SetReadDeadline does nothing: without a Timeout, gocql only removes deadlines by it.
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

// sending records whether a statement was sent under one context.
type sending struct{ begun atomic.Bool }

type sendingKey struct{}

// watching returns a context under which streams sets sending.
func watching(ctx context.Context) (context.Context, *sending) {
	s := new(sending)
	return context.WithValue(ctx, sendingKey{}, s), s
}

// streams is gocql's hook before it writes a request. Statements are prepared under gocql's own
// context, so the hook only sees executions.
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
