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

// connection is a client's connections to all hosts, which requests use in turn, as in etcd's
// client library. That library also resends reads up to a hundred times and renews watches; this
// does not. gRPC resends a request only if the server says that it did not touch it (gRPC's
// proposal A6, "transparent retries"). It is safe for concurrent use.
type connection struct {
	*options
	grpc    *grpc.ClientConn
	kv      pb.KVClient
	token   atomic.Pointer[string] // of a user who has logged in; nil before
	refused atomic.Pointer[error]
}

// handshakes keep the error of a failed handshake, of which gRPC returns only the text.
type handshakes struct {
	credentials.TransportCredentials
	of *connection
}

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

// connectForGood connects to all hosts for the life of the database. A host that leaves a ping
// unanswered is left out; otherwise the lease's renewals, of four requests in turn, would meet one
// of three hosts. A returning host is found within about a second; gRPC by itself takes up to two
// minutes.
func connectForGood(ctx context.Context, o *options) (*connection, error) {
	const silence = 10 * time.Second // the least that gRPC takes
	again := backoff.Config{BaseDelay: firstPause, Multiplier: 1.6, Jitter: 0.2, MaxDelay: lastPause}
	return dial(ctx, o, o.hosts, grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: silence, Timeout: statusBound}),
		grpc.WithConnectParams(grpc.ConnectParams{Backoff: again, MinConnectTimeout: o.connectTimeout}))
}

// dial connects to the hosts and logs in, if the address has a user. Without a user it sends
// nothing yet.
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

// logIn asks for a token, if the address has a user. Tokens expire, and a restarted member forgets
// its own.
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

// withToken adds the token to each request except the login, which etcd refuses with an expired
// token.
func (c *connection) withToken(ctx context.Context, method string, request, answer any, over *grpc.ClientConn, invoke grpc.UnaryInvoker, options ...grpc.CallOption) error {
	if token := c.token.Load(); token != nil && method != pb.Auth_Authenticate_FullMethodName {
		ctx = metadata.AppendToOutgoingContext(ctx, rpctypes.TokenFieldNameGRPC, *token)
	}
	return invoke(ctx, method, request, answer, over, options...)
}

func (c *connection) close() error { return c.grpc.Close() }

// call makes one request. sent is false only if certainly nothing was sent: gRPC sets the peer when
// it begins to send.
func call[Q, A any](ctx context.Context, do func(context.Context, Q, ...grpc.CallOption) (A, error), request Q) (answer A, sent bool, err error) {
	var to peer.Peer
	answer, err = do(ctx, request, grpc.Peer(&to))
	return answer, to.Addr != nil, err
}

// Bounds for preparing and settling: the pauses between attempts, the first and the later attempts,
// and all together if the context has no end. An attempt may go to a silent member; the next goes
// to another.
const (
	firstPause = 10 * time.Millisecond
	lastPause  = time.Second
	firstBound = 2 * time.Second
	lastBound  = 30 * time.Second
	patience   = 2 * time.Minute
)

// insist repeats work until it succeeds, ctx ends, or an error is permanent, and logs in again if
// needed. work must be idempotent. Measured operations never come here.
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

func explained(err error) bool {
	return ownership.Explained(err) ||
		errors.As(err, new(*store.AuthError)) || errors.As(err, new(*store.UnreachableError)) || errors.As(err, new(*store.OptionError))
}
