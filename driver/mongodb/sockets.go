package mongodb

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/auth"
	topologies "go.mongodb.org/mongo-driver/v2/x/mongo/driver/description"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/mnet"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/topology"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/xoptions"

	"assay/internal/eventloop"
)

// newClient is mongo.Connect, but that the bytes of commands go over sockets that can wait in
// an event loop. The library starts two goroutines for each command, which watch its context,
// and waits for their ends; that costs more of the processor than the command. Discovery, its pool of
// connections, and how it greets a server stay the library's, and the bytes of a connection with TLS.
//
// The deployment is for commands that the library does not send; see serverTransaction.
func newClient(o *options.ClientOptions) (*mongo.Client, *deployment, error) {
	o = options.MergeClientOptions(o)
	s := newSockets(o.Dialer)
	if o.TLSConfig == nil {
		o.SetDialer(s)
	}
	if o.MaxPoolSize == nil {
		o.SetMaxPoolSize(defaultPoolSize)
	}
	var by driver.Authenticator
	var err error
	if o.Auth != nil {
		if by, err = auth.CreateAuthenticator(o.Auth.AuthMechanism, topology.ConvertCreds(o.Auth), o.HTTPClient); err != nil {
			return nil, nil, err
		}
	}
	config, err := topology.NewAuthenticatorConfig(by, topology.WithAuthConfigClientOptions(o))
	if err != nil {
		return nil, nil, err
	}
	found, err := topology.New(config)
	if err != nil {
		return nil, nil, err
	}
	d := &deployment{Topology: found, sockets: s, compresses: len(o.Compressors) > 0, farther: defaultFarther}
	if o.LocalThreshold != nil {
		d.farther = *o.LocalThreshold
	}
	if err := xoptions.SetInternalClientOptions(o, "deployment", d); err != nil {
		return nil, nil, err
	}
	client, err := mongo.Connect(o)
	return client, d, err
}

// The library's defaults (its mongo.Client).
const (
	defaultPoolSize = 100
	defaultFarther  = 15 * time.Millisecond
)

// deployment is the library's, with commands over sockets.
type deployment struct {
	*topology.Topology
	sockets *sockets
	// compresses is true if messages are to be compressed where the server can, too.
	compresses bool
	// farther is how much farther than the nearest router one may be that is chosen.
	farther time.Duration
}

// GetServerSelectionTimeout implements driver.Deployment. The library would set a timer by it at
// each command; see within.
func (d *deployment) GetServerSelectionTimeout() time.Duration { return 0 }

// within bounds how long a server, or a connection to it, is waited for.
func (d *deployment) within(ctx context.Context) (context.Context, context.CancelFunc) {
	limit := d.Topology.GetServerSelectionTimeout()
	if limit <= 0 {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, limit)
}

// SelectServer implements driver.Deployment.
func (d *deployment) SelectServer(ctx context.Context, by topologies.ServerSelector) (driver.Server, error) {
	if err := ctx.Err(); err != nil && sendingOf(ctx) != nil {
		return nil, err // as there would be before anything is sent
	}
	ctx, cancel := d.within(ctx)
	defer cancel()
	selected, err := d.Topology.SelectServer(ctx, by)
	of, is := selected.(*topology.SelectedServer)
	if !is || err != nil {
		return selected, err
	}
	return &chosen{of, d}, nil
}

// chosen is a server of the library's, with commands over sockets.
type chosen struct {
	*topology.SelectedServer
	deployment *deployment
}

// Connection implements driver.Server.
func (s *chosen) Connection(ctx context.Context) (*mnet.Connection, error) {
	ctx, cancel := s.deployment.within(ctx)
	defer cancel()
	c, err := s.SelectedServer.Connection(ctx)
	if err != nil {
		return nil, err
	}
	if of, is := c.ReadWriteCloser.(*topology.Connection); is {
		c.ReadWriteCloser = &command{Connection: of, time: &s.deployment.sockets.time, socket: s.deployment.sockets.of(of)}
	}
	return c, nil
}

// RTTMonitor implements driver.Server.
func (s *chosen) RTTMonitor() driver.RTTMonitor { return roundTrips{s.SelectedServer.RTTMonitor()} }

// roundTrips is the library's account of round trips, but for the text of it, which the library
// makes at each command for an error that hardly one has.
type roundTrips struct{ driver.RTTMonitor }

func (r roundTrips) Stats() string { return "a round trip takes longer" }

// sockets are the sockets of a client's connections. It is safe for concurrent use.
type sockets struct {
	dialer options.ContextDialer
	time   clusterTime

	mu      sync.Mutex
	dialled map[ends]*socket   // until the library has greeted the server
	greeted map[string]*socket // by the library's name of the connection
}

// ends are a connection's: the server as it is dialled, and the own address, which connections to
// other servers can have, too.
type ends struct{ server, own string }

// newSockets dials by the library's own dialer if there is none.
func newSockets(dialer options.ContextDialer) *sockets {
	if dialer == nil {
		dialer = new(net.Dialer)
	}
	return &sockets{dialer: dialer, greeted: map[string]*socket{}, dialled: map[ends]*socket{}}
}

// DialContext implements options.ContextDialer.
func (s *sockets) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	dialled, err := s.dialer.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	tcp, is := dialled.(*net.TCPConn)
	if !is {
		return dialled, nil
	}
	one := &socket{Conn: eventloop.Wrap(tcp), all: s, ends: ends{address, tcp.LocalAddr().String()}}
	one.exchange = eventloop.NewExchange(one.Conn)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dialled[one.ends] = one
	return one, nil
}

// of is the socket of a connection that has greeted its server; nil if there is none of ours.
func (s *sockets) of(c *topology.Connection) *socket {
	name := c.ID()
	s.mu.Lock()
	defer s.mu.Unlock()
	if one := s.greeted[name]; one != nil {
		return one
	}
	return s.name(name, ends{c.Address().String(), string(c.LocalAddress())})
}

// name gives a socket that was dialled the library's name of its connection. s.mu is held.
func (s *sockets) name(name string, at ends) *socket {
	one := s.dialled[at]
	if one == nil || one.SetDeadline(time.Time{}) != nil { // the one of the greeting
		return nil
	}
	delete(s.dialled, at)
	one.name, s.greeted[name] = name, one
	return one
}

func (s *sockets) forget(one *socket) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dialled[one.ends] == one {
		delete(s.dialled, one.ends)
	}
	if s.greeted[one.name] == one {
		delete(s.greeted, one.name)
	}
}

// socket is one connection as the library has it. Whoever has taken it out of the library's pool is
// the only one to use it.
type socket struct {
	net.Conn
	all      *sockets
	ends     ends
	name     string
	exchange *eventloop.Exchange
	first    [1024]byte // of a reply; most are shorter
}

// Close implements net.Conn.
func (s *socket) Close() error {
	s.all.forget(s)
	return s.Conn.Close()
}

// maxReply is what the library takes at most (maxMessageSizeBytes).
const maxReply = 48_000_000

// reply reads a message (MongoDB manual, "MongoDB Wire Protocol", "Standard Message Header").
func (s *socket) reply() ([]byte, error) {
	n, err := io.ReadAtLeast(s.Conn, s.first[:], 4)
	if err != nil {
		return nil, err
	}
	size := int64(binary.LittleEndian.Uint32(s.first[:]))
	if size < int64(n) || size > maxReply {
		return nil, fmt.Errorf("a reply of %d bytes came, and says that it has %d", n, size)
	}
	message := make([]byte, size)
	copy(message, s.first[:n])
	_, err = io.ReadFull(s.Conn, message[n:])
	return message, err
}

// command is a connection while a command of ours has it, or a transaction. Write begins an exchange, and the reply or
// Close ends it.
type command struct {
	*topology.Connection
	time   *clusterTime
	socket *socket // nil if the bytes are the library's
	bytes  []byte  // the last that was sent, for its memory
	failed bool
}

// Write implements mnet.ReadWriteCloser.
func (c *command) Write(ctx context.Context, message []byte) error {
	c.bytes = c.time.appendCommand(c.bytes[:0], message)
	return c.send(ctx, c.bytes)
}

// send begins the exchange.
func (c *command) send(ctx context.Context, message []byte) error {
	if err := ctx.Err(); err != nil {
		return c.failure(err) // nothing was sent
	}
	sendingOf(ctx).count()
	if c.socket == nil {
		return c.Connection.Write(ctx, message)
	}
	c.socket.exchange.Begin(ctx, true)
	_, err := c.socket.Conn.Write(message)
	return c.ended(err, false)
}

// Read implements mnet.ReadWriteCloser.
func (c *command) Read(ctx context.Context) ([]byte, error) {
	message, err := c.receive(ctx)
	if err != nil {
		return nil, err
	}
	return c.time.taken(message), nil
}

// receive ends the exchange.
func (c *command) receive(ctx context.Context) ([]byte, error) {
	if c.socket == nil {
		return c.Connection.Read(ctx)
	}
	message, err := c.socket.reply()
	return message, c.ended(err, true)
}

// ended ends the exchange if it is complete or has failed. A context that is over explains why it has.
func (c *command) ended(err error, complete bool) error {
	if err == nil && !complete {
		return nil
	}
	x := c.socket.exchange
	if over := x.Err(); err != nil && over != nil {
		err = over
	}
	x.End()
	if err == nil {
		return nil
	}
	c.failed = true
	return c.failure(err)
}

func (c *command) failure(err error) error {
	return topology.ConnectionError{ConnectionID: c.ID(), Wrapped: err}
}

// Close implements mnet.ReadWriteCloser. A connection that has failed does not go back to the pool.
func (c *command) Close() error {
	if !c.Alive() { // it is closed already, and the socket may be another's
		return nil
	}
	if c.socket != nil {
		c.socket.exchange.End()
	}
	if c.failed {
		return c.Expire()
	}
	return c.Connection.Close()
}

// codeReauthenticate is ReauthenticationRequired: the connection's token is of the past.
const codeReauthenticate = 391

// asked sends a message of ours and returns the answer, whose time it notes. Errors are those of the library's
// driver.Operation.
func (c *command) asked(x *sending, message []byte, compresses bool) (bson.Raw, error) {
	reply, err := c.exchanged(x, message, compresses)
	if err != nil {
		c.failed = true
		return nil, driver.Error{Message: err.Error(), Labels: []string{driver.NetworkError}, Wrapped: err}
	}
	answer, err := c.time.answer(reply)
	if refused, is := err.(driver.Error); is && refused.Code == codeReauthenticate {
		c.failed = true // another one has a new token
	}
	return answer, err
}

func (c *command) exchanged(x *sending, message []byte, compresses bool) (reply []byte, err error) {
	if compresses {
		if message, err = c.CompressWireMessage(message, nil); err != nil {
			return nil, err
		}
	}
	if err = c.send(x, message); err != nil {
		return nil, err
	}
	if reply, err = c.receive(x); err != nil || !compresses {
		return reply, err
	}
	return uncompressed(reply)
}
