package agents

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"assay/store"
)

// AddressError is an unusable address of an engine. It holds no password.
type AddressError struct{ Address, Reason string }

func (e *AddressError) Error() string {
	return fmt.Sprintf("the engine's address %s cannot be used: %s", e.Address, e.Reason)
}

// EngineError means that the engine cannot be reached or used.
type EngineError struct {
	Address string
	Err     error
}

func (e *EngineError) Error() string {
	return fmt.Sprintf("cannot use the engine at %s: %v", e.Address, e.Err)
}

func (e *EngineError) Unwrap() error { return e.Err }

// Engine is the NATS between a run's agents: the user's own, or one inside this process.
type Engine struct {
	conn    *nats.Conn
	address string
	// replicas is the number of a cluster's servers that keep what is delivered.
	replicas int
	// server is nil for the user's own NATS.
	server *server.Server
	folder *folder
}

// started bounds the start of the embedded server.
const started = 10 * time.Second

// embeddedUser is the embedded server's user. Its password is random or the given secret.
const embeddedUser = "assay"

// Start starts an engine in this process at HOST:PORT. Agents join with the secret; an empty one
// is replaced by a random one. Connections are encrypted with a key derived from the secret, and
// Join has that key's fingerprint. The engine's data lies in a temporary folder and is synced
// before it is acknowledged: NATS 2.12 lost acknowledged messages that it had not synced at
// power cuts.
func Start(listen, secret string) (e *Engine, err error) {
	host, port, err := net.SplitHostPort(listen)
	if err != nil {
		return nil, &AddressError{Address: listen, Reason: "want HOST:PORT to start one there, or nats://HOST:PORT of one that runs"}
	}
	number, err := net.LookupPort("tcp", port)
	if err != nil {
		return nil, &AddressError{Address: listen, Reason: "its port is none"}
	}
	if number == 0 {
		number = server.RANDOM_PORT
	}
	if secret == "" {
		random := make([]byte, 16)
		_, _ = rand.Read(random) // never fails
		secret = hex.EncodeToString(random)
	} else if len(secret) < leastSecret {
		return nil, &AddressError{Address: listen, Reason: fmt.Sprintf("its secret has fewer than %d characters, and can be guessed", leastSecret)}
	}
	shown, err := certificate(secret)
	if err != nil {
		return nil, &EngineError{Address: listen, Err: fmt.Errorf("make its certificate: %w", err)}
	}
	e = &Engine{}
	if e.folder, err = newFolder(); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			e.Close()
		}
	}()
	e.server, err = server.NewServer(&server.Options{
		ServerName: "assay", Host: host, Port: number, NoLog: true, NoSigs: true, Username: embeddedUser, Password: secret,
		JetStream: true, StoreDir: e.folder.data(), SyncAlways: true, DisableJetStreamBanner: true,
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{shown}, MinVersion: tls.VersionTLS13}, TLSTimeout: started.Seconds(),
	})
	if err != nil {
		return nil, &EngineError{Address: listen, Err: err}
	}
	e.server.Start()
	if !e.server.ReadyForConnections(started) {
		return nil, &EngineError{Address: listen, Err: errors.New("it did not start; another program may listen there")}
	}
	e.address = joinAddress(secret, net.JoinHostPort(reachable(host), fmt.Sprint(e.server.Addr().(*net.TCPAddr).Port)), shown)
	if e.conn, err = nats.Connect("", nats.InProcessServer(e.server), nats.UserInfo(embeddedUser, secret)); err != nil {
		return nil, &EngineError{Address: listen, Err: err}
	}
	return e, nil
}

func joinAddress(secret, host string, shown tls.Certificate) string {
	pin, _ := fingerprint(shown.PrivateKey.(ed25519.PrivateKey).Public()) // of a key of ours, which never fails
	address := &url.URL{Scheme: "tls", User: url.UserPassword(embeddedUser, secret), Host: host, RawQuery: "sha256=" + pin}
	return strings.ReplaceAll(address.String(), ",", "%2C") // commas separate servers
}

// reachable is how other machines may reach a server that listens at host.
func reachable(host string) string {
	if ip := net.ParseIP(host); host != "" && (ip == nil || !ip.IsUnspecified()) {
		return host
	}
	// This sends no packet: the system only says which address it would send from.
	if c, err := net.Dial("udp", "192.0.2.1:9"); err == nil {
		defer c.Close()
		return c.LocalAddr().(*net.UDPAddr).IP.String()
	}
	if name, err := os.Hostname(); err == nil {
		return name
	}
	return "127.0.0.1"
}

// Join is the address that agents join, with credentials.
func (e *Engine) Join() string { return e.address }

// Embedded reports whether the engine is in this process and ends with it.
func (e *Engine) Embedded() bool { return e.server != nil }

// Close leaves the engine. An embedded engine tells its agents and ends.
func (e *Engine) Close() {
	if e.conn != nil && e.server != nil {
		_ = e.conn.Publish(subjectClosing, nil) // agents that miss it find the engine gone
		_ = e.conn.FlushTimeout(requestTimeout)
	}
	if e.conn != nil {
		e.conn.Close()
	}
	if e.server != nil {
		e.server.Shutdown()
		e.server.WaitForShutdown()
	}
	if e.folder != nil {
		e.folder.remove()
	}
}

// Open reaches a running engine at nats://USER:PASSWORD@HOST:PORT or tls://..., several separated
// by commas. Parameters follow the last: ca, cert and key (files of certificates), creds (a file
// of NATS credentials), replicas (servers of a cluster that keep what is delivered, default 1)
// and sha256 (fingerprint of the server's key, as in Join). It returns an *AddressError, or an
// *EngineError, around a *CertificateError if another server answers.
func Open(ctx context.Context, address string) (*Engine, error) {
	servers, options, replicas, err := parseAddress(address)
	if err != nil {
		return nil, err
	}
	// A cut link is silent. A short timeout gives it up, and a new connection does not wait for
	// TCP's retransmissions.
	options = append(options, nats.Name("assay"), nats.MaxReconnects(-1), nats.ReconnectWait(beatEvery), nats.Timeout(requestTimeout),
		nats.FlusherTimeout(requestTimeout), nats.PingInterval(requestTimeout), nats.MaxPingsOutstanding(3))
	conn, err := nats.Connect(servers, options...)
	if err == nil && ctx.Err() != nil {
		conn.Close()
		err = ctx.Err()
	}
	if err != nil {
		return nil, &EngineError{Address: Redact(address), Err: err}
	}
	return &Engine{conn: conn, address: address, replicas: replicas}, nil
}

// Redact removes the passwords from an engine's address.
func Redact(address string) string {
	var all []string
	for one := range strings.SplitSeq(address, ",") {
		all = append(all, store.Redact(one))
	}
	return strings.Join(all, ",")
}

func parseAddress(address string) (servers string, options []nats.Option, replicas int, err error) {
	refuse := func(reason string) (string, []nats.Option, int, error) {
		return "", nil, 0, &AddressError{Address: Redact(address), Reason: reason}
	}
	servers, query, _ := strings.Cut(address, "?")
	var secret string
	for one := range strings.SplitSeq(servers, ",") {
		u, err := url.Parse(one)
		if err != nil || u.Host == "" || u.Scheme != "nats" && u.Scheme != "tls" {
			return refuse("want nats://HOST:PORT or tls://HOST:PORT")
		}
		secret, _ = u.User.Password()
	}
	values, err := url.ParseQuery(query)
	if err != nil {
		return refuse("its parameters cannot be read")
	}
	replicas = 1
	for name := range values {
		value := values.Get(name)
		switch name {
		case "ca":
			options = append(options, nats.RootCAs(value))
		case "cert":
			options = append(options, nats.ClientCert(value, values.Get("key")))
		case "key":
			if !values.Has("cert") {
				return refuse("it has a key and no cert")
			}
		case "creds":
			options = append(options, nats.UserCredentials(value))
		case "sha256":
			pin, reason := pinOf(value, secret)
			if reason == "" && (values.Has("ca") || values.Has("cert")) {
				reason = "sha256 names the one key that is believed; ca and cert go without it"
			}
			if reason != "" {
				return refuse(reason)
			}
			options = append(options, nats.Secure(pinned(pin)))
		case "replicas":
			if replicas, err = strconv.Atoi(value); err != nil || replicas < 1 || replicas > 5 {
				return refuse("replicas is " + strconv.Quote(value) + "; want 1 to 5, which JetStream can keep")
			}
		default:
			return refuse("there is no parameter " + name + "; there are ca, cert, key, creds, sha256 and replicas")
		}
	}
	return servers, options, replicas, nil
}

// pinOf is the fingerprint that an address asks for, or why there is none.
func pinOf(text, secret string) (pin, reason string) {
	if text == pinSecret {
		pin, err := fingerprintOf(secret)
		if secret == "" || err != nil {
			return "", "sha256=" + pinSecret + " needs the engine's password in the address"
		}
		return pin, ""
	}
	if sum, err := hex.DecodeString(text); err != nil || len(sum) != sha256.Size {
		return "", "its sha256 is not a fingerprint of 64 hexadecimal digits"
	}
	return strings.ToLower(text), ""
}
