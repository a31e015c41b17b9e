package mongodb

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/address"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	topologies "go.mongodb.org/mongo-driver/v2/x/mongo/driver/description"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/topology"

	"assay/internal/expect"
	"assay/store"
	"assay/workload/bank"
	"assay/workload/churn"
)

// listening is the address of a server that does this with each connection,
// which is closed when the test ends if not before.
func listening(t *testing.T, serve func(net.Conn)) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	expect.NoError(t, err)
	var running sync.WaitGroup
	running.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			running.Go(func() {
				defer conn.Close()
				serve(conn)
			})
		}
	})
	t.Cleanup(func() {
		listener.Close()
		running.Wait()
	})
	return listener.Addr().String()
}

func TestUnreachableInPlainWords(t *testing.T) {
	closes := listening(t, func(net.Conn) {})
	talks := listening(t, func(c net.Conn) { _, _ = io.WriteString(c, "HTTP/1.1 400 Bad Request\r\n\r\n") })
	silent := listening(t, func(c net.Conn) { _, _ = io.Copy(io.Discard, c) }) // ends when the client hangs up
	for at, want := range map[string]string{
		"127.0.0.1:1":                     "nobody listens there (connection refused)",
		"127.0.0.1:1,127.0.0.1:2":         "nobody listens there (connection refused)",
		"assay.invalid:27017":             "the name of the host cannot be resolved",
		closes:                            "it closes the connection",
		talks:                             "it does not answer as a MongoDB server does: ",
		silent:                            noAnswer,
		closes + "/?replicaSet=rs0":       "it closes the connection",
		"127.0.0.1:1/?tls=true&w=1":       "nobody listens there (connection refused)",
		talks + "/?tls=true":              "it does not speak TLS",
		"127.0.0.1:1/?shard=hashed&w=1":   "nobody listens there (connection refused)",
		"127.0.0.1:1/?directConnection=1": "",
	} {
		for _, name := range []string{bank.Name, churn.Name} { // the others open as these do
			t.Run(name+" at "+at, func(t *testing.T) {
				t.Parallel()
				testUnreachable(t, at, want, name)
			})
		}
	}
}

// noAnswer is what is said of a server that does not answer within the time to
// connect. A busy machine is late with other answers too, for which a test waits
// this long at most.
const (
	noAnswer = "no answer in time"
	patience = time.Minute
)

// testUnreachable opens what is not there: a mistake in the address if want is empty.
func testUnreachable(t *testing.T, at, want, workload string) {
	var err error
	for limit := time.Second; limit <= patience; limit *= 4 {
		err = opened(t, workload, store.Target{Address: "mongodb://clerk:Sesame99@" + at, ConnectTimeout: limit})
		if want == noAnswer || err == nil || !strings.Contains(err.Error(), noAnswer) {
			break
		}
	}
	if want == "" {
		if !errors.As(err, new(*store.OptionError)) {
			t.Error(err)
		}
		return
	}
	var unreachable *store.UnreachableError
	if !errors.As(err, &unreachable) || !strings.HasPrefix(unreachable.Err.Error(), want) {
		t.Fatalf("%v; want %q", err, want)
	}
	for _, no := range []string{"server selection", "topology", "Sesame99", "connection()", "Addr:"} {
		if strings.Contains(err.Error(), no) {
			t.Errorf("%q in %v", no, err)
		}
	}
}

// TestHeartbeatsThatSayLittle are none of the reasons that a user is told, if
// another one was seen: the library cancels its own, and a busy server is late.
func TestHeartbeatsThatSayLittle(t *testing.T) {
	late := topology.ConnectionError{Wrapped: context.DeadlineExceeded}
	for name, last := range map[string]error{"cancelled": topology.ConnectionError{Wrapped: context.Canceled}, "late": late, "not yet": nil} {
		var beats heartbeats
		o := options.Client()
		refusals := 0
		beats.watch(o, func() { refusals++ })
		failed := func(err error) {
			o.ServerMonitor.ServerHeartbeatFailed(&event.ServerHeartbeatFailedEvent{Failure: err})
		}
		err := fmt.Errorf("begin: %w", topology.ServerSelectionError{Wrapped: context.DeadlineExceeded, Desc: topologies.Topology{
			Servers: []topologies.Server{{Addr: "h:1", LastError: last}},
		}})
		untold := inPlainWords(err).Error()
		failed(late)
		if got := inPlainWords(beats.explain(err)).Error(); got != noAnswer {
			t.Errorf("%s, nothing else seen: %s", name, got)
		}
		for _, seen := range []struct {
			failure  error
			want     string
			refusals int
		}{
			{io.EOF, "it closes the connection", 0},
			{topology.ConnectionError{Wrapped: x509.UnknownAuthorityError{}}, "its certificate is signed by an authority that is not trusted here", 1},
		} {
			failed(seen.failure)
			failed(context.Canceled)
			failed(late)
			if got := inPlainWords(beats.explain(err)).Error(); !strings.HasPrefix(got, seen.want) || refusals != seen.refusals {
				t.Errorf("%s, %v seen: %s, %d refusals", name, seen.failure, got, refusals)
			}
		}
		if got := inPlainWords(err).Error(); got != untold {
			t.Errorf("%s: the error itself is changed: %s", name, got)
		}
		if got := beats.explain(io.EOF); got != io.EOF {
			t.Errorf("another error: %v", got)
		}
	}
}

func TestNoServer(t *testing.T) {
	refused := topology.ConnectionError{Wrapped: &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}}
	selection := func(kind topologies.TopologyKind, servers ...topologies.Server) error {
		return topology.ServerSelectionError{Wrapped: context.DeadlineExceeded, Desc: topologies.Topology{Kind: kind, Servers: servers}}
	}
	server := func(kind topologies.ServerKind, err error) topologies.Server {
		return topologies.Server{Addr: address.Address("h:1"), Kind: kind, LastError: err}
	}
	for _, c := range []struct {
		err     error
		want    string
		refused bool
	}{
		{selection(topologies.TopologyKindReplicaSetNoPrimary, server(topologies.ServerKindRSSecondary, nil), server(0, refused), server(0, refused)),
			"the replica set has no primary at the moment, and 1 of its 3 members answer (of the others: nobody listens there (connection refused))", false},
		{selection(topologies.TopologyKindReplicaSetNoPrimary), "none of its servers belongs to the replica set that the address names", false},
		{selection(topologies.TopologyKindSharded, server(topologies.ServerKindMongos, nil)), "none of its servers can do what the address asks for", false},
		{selection(0, server(0, nil)), "no answer in time", false},
		{selection(0, server(0, refused), server(0, io.EOF)),
			"it closes the connection, as a server does that takes only encrypted connections (tls=true&tlsCAFile=FILE), or clients with a certificate (tlsCertificateKeyFile=FILE), or that is no MongoDB; nobody listens there (connection refused)", false},
		{selection(0, server(0, refused), server(0, refused)), "nobody listens there (connection refused)", true},
		{selection(0, server(0, mongo.CommandError{Code: 18, Message: "Authentication failed."})), "the server says: Authentication failed.", false},
	} {
		plain := plainly(fmt.Errorf("begin: %w", c.err))
		if plain.Error() != c.want || onlyRefused(plain) != c.refused {
			t.Errorf("%v; want %s, refused %v", plain, c.want, c.refused)
		}
		if !errors.As(plain, new(topology.ServerSelectionError)) || !errors.Is(plain, context.DeadlineExceeded) || !unreached(plain) {
			t.Errorf("%v has lost what it was", plain)
		}
		if again := failed("look", plain); again.Error() != "mongodb: look: "+c.want {
			t.Errorf("wrapped: %v", again)
		}
	}
	if err := answer(112); plainly(err).Error() != err.Error() || plainly(nil) != nil {
		t.Errorf("%v is changed", err)
	}
}
