package etcd

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"sync/atomic"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/resolver/manual"
	"google.golang.org/grpc/status"

	"assay/driver/encryption"
	"assay/driver/ownership"
	"assay/internal/wait"
	"assay/store"
)

// connection is what one application has of etcd's client library (client/v3): a connection
// to each host, over which requests go in turn. What that library adds is left out: it sends
// reads up to a hundred times without telling, and makes watches and keep-alives anew.
// gRPC itself sends a request a second time only if the server has said that it did not
// touch the first (gRPC's proposal A6, "transparent retries"). It is safe for concurrent use.
type connection struct {
	*options
	grpc  *grpc.ClientConn
	kv    pb.KVClient
	token atomic.Pointer[string] // of a user who has logged in; nil before
	// refused is why the last handshake of TLS failed, nil if none has.
	refused atomic.Pointer[error]
}

// handshakes are credentials that keep why one failed: gRPC gives its text alone.
type handshakes struct {
	credentials.TransportCredentials
	of *connection
}

// ClientHandshake implements credentials.TransportCredentials, and so does Clone.
func (h handshakes) ClientHandshake(ctx context.Context, authority string, conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	secure, info, err := h.TransportCredentials.ClientHandshake(ctx, authority, conn)
	if err != nil {
		h.of.refused.Store(&err)
	}
	return secure, info, err
}

func (h handshakes) Clone() credentials.TransportCredentials {
	return handshakes{h.TransportCredentials.Clone(), h.of}
}

// connect makes a connection to these hosts, and logs in if the address has a user. Without a
// user nothing is sent yet.
func connect(ctx context.Context, o *options, hosts ...string) (*connection, error) {
	return dial(ctx, o, hosts)
}

// connectForGood connects to all hosts for as long as the database is open: what sessions get
// by being made anew. One that is silent is left out as soon as it has not answered a ping; each
// renewal of the lease, of four requests in turn, would come to one of three else. One that is
// back is found within a second or so, where gRPC by itself takes up to two minutes.
func connectForGood(ctx context.Context, o *options) (*connection, error) {
	const silence = 10 * time.Second // the least that gRPC takes
	again := backoff.Config{BaseDelay: firstPause, Multiplier: 1.6, Jitter: 0.2, MaxDelay: lastPause}
	return dial(ctx, o, o.hosts, grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: silence, Timeout: statusBound}),
		grpc.WithConnectParams(grpc.ConnectParams{Backoff: again, MinConnectTimeout: o.connectTimeout}))
}

// dial is connect with further options of gRPC's.
func dial(ctx context.Context, o *options, hosts []string, further ...grpc.DialOption) (*connection, error) {
	var all []resolver.Endpoint
	for _, host := range hosts {
		all = append(all, resolver.Endpoint{Addresses: []resolver.Address{{Addr: host, ServerName: host}}})
	}
	endpoints := manual.NewBuilderWithScheme(scheme)
	endpoints.InitialState(resolver.State{Endpoints: all})
	c := &connection{options: o}
	secure := insecure.NewCredentials()
	if o.encryption != nil {
		secure = handshakes{credentials.NewTLS(o.encryption.Clone()), c}
	}
	var err error
	c.grpc, err = grpc.NewClient(scheme+":///"+hosts[0], append([]grpc.DialOption{
		grpc.WithResolvers(endpoints), grpc.WithTransportCredentials(secure),
		grpc.WithDefaultServiceConfig(`{"loadBalancingConfig": [{"round_robin": {}}]}`), grpc.WithDisableRetry(), grpc.WithNoProxy(),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(math.MaxInt32)), grpc.WithUnaryInterceptor(c.withToken),
	}, further...)...)
	if err != nil {
		return nil, fmt.Errorf("etcd: connect: %w", err)
	}
	c.kv = pb.NewKVClient(c.grpc)
	if err := c.logIn(ctx); err != nil {
		return nil, errors.Join(c.explain(ctx, "log in", err), c.close())
	}
	return c, nil
}

// logIn asks for a token, if the address has a user. A member that was started anew knows none
// that it has given, and all expire.
func (c *connection) logIn(ctx context.Context) error {
	if c.user == "" {
		return nil
	}
	answer, err := pb.NewAuthClient(c.grpc).Authenticate(ctx, &pb.AuthenticateRequest{Name: c.user, Password: c.password})
	if err != nil && rpctypes.ErrorDesc(err) != rpctypes.ErrorDesc(rpctypes.ErrGRPCAuthNotEnabled) {
		return err
	}
	if token := answer.GetToken(); token != "" {
		c.token.Store(&token)
	}
	return nil
}

// withToken says with each request who has logged in. To log in takes no token: etcd refuses
// that with one that has expired.
func (c *connection) withToken(ctx context.Context, method string, request, answer any, over *grpc.ClientConn, invoke grpc.UnaryInvoker, options ...grpc.CallOption) error {
	if token := c.token.Load(); token != nil && method != pb.Auth_Authenticate_FullMethodName {
		ctx = metadata.AppendToOutgoingContext(ctx, rpctypes.TokenFieldNameGRPC, *token)
	}
	return invoke(ctx, method, request, answer, over, options...)
}

func (c *connection) close() error { return c.grpc.Close() }

// call makes one request. sent is false only if certainly nothing of it has left: gRPC knows
// whom it has sent to as soon as it has begun to.
func call[Q, A any](ctx context.Context, do func(context.Context, Q, ...grpc.CallOption) (A, error), request Q) (answer A, sent bool, err error) {
	var to peer.Peer
	answer, err = do(ctx, request, grpc.Peer(&to))
	return answer, to.Addr != nil, err
}

// The pauses between attempts to prepare or to settle, how long the first such attempt may
// take and how long a later one, and how long all together where the context has no end. An
// attempt may go to a member that is silent, and the next one goes to another.
const (
	firstPause = 10 * time.Millisecond
	lastPause  = time.Second
	firstBound = 2 * time.Second
	lastBound  = 30 * time.Second
	patience   = 2 * time.Minute
)

// insist does work again and again until it succeeds, ctx ends, or an error comes that will
// not pass. Where the user is to log in again it does that. It is for what prepares a run or
// ends it and has the same effect however often it is done; what is measured never comes here.
func (c *connection) insist(ctx context.Context, doing string, work func(ctx context.Context) error) error {
	if _, limited := ctx.Deadline(); !limited {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, patience)
		defer cancel()
	}
	for pause, bound := firstPause, firstBound; ; pause, bound = min(2*pause, lastPause), min(2*bound, lastBound) {
		attempt, cancel := context.WithTimeout(ctx, bound)
		err := work(attempt)
		if expired(err) {
			if refused := c.logIn(attempt); refused != nil {
				err = refused
			}
		}
		cancel()
		if err == nil {
			return nil
		}
		if !passes(err) || wait.Pause(ctx, pause) != nil {
			return c.explain(ctx, doing, err)
		}
	}
}

// explain wraps an error with what was being done, unless it explains itself.
func (c *connection) explain(ctx context.Context, doing string, err error) error {
	if explained(err) {
		return err
	}
	s, is := status.FromError(err)
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("etcd: %s: %w (%v)", doing, ctx.Err(), err)
	case !is:
	case refusesUser(err):
		return &store.AuthError{Address: c.printable, User: c.user, Reason: s.Message()}
	case s.Code() == codes.Unavailable && meaningOf(err) == nil:
		if refused := c.refused.Load(); refused != nil {
			if text, is := encryption.Reason(*refused, encryption.TakenAdvice("tls=false")); is {
				err = errors.New(text)
			}
		}
		return fmt.Errorf("etcd: %s: %w", doing, &store.UnreachableError{Address: c.printable, Err: err})
	}
	return fmt.Errorf("etcd: %s: %w", doing, err)
}

// explained reports whether an error is one of package store's, which says all.
func explained(err error) bool {
	return ownership.Explained(err) ||
		errors.As(err, new(*store.AuthError)) || errors.As(err, new(*store.UnreachableError)) || errors.As(err, new(*store.OptionError))
}
