package haproxy

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"assay/cluster/server"
	"assay/cluster/streaming"
	"assay/internal/expect"
)

const asker = "asker"

// startSet starts a primary and a standby that admit the asker without a password.
func startSet(t *testing.T) *streaming.Plain {
	t.Helper()
	s := expect.Started(t, streaming.StartPlain, streaming.PlainOptions{Placement: streaming.Placement{Nodes: 2}})
	conn, err := pgx.Connect(expect.Patiently(t), s.Address())
	expect.NoError(t, err)
	_, err = conn.Exec(expect.Patiently(t), "CREATE ROLE "+asker+" LOGIN")
	expect.NoError(t, err, conn.Close(expect.Patiently(t)))
	for _, n := range s.Nodes() {
		path := filepath.Join(n.Dir, "data", "pg_hba.conf")
		rules, err := os.ReadFile(path)
		expect.NoError(t, err)
		expect.NoError(t, n.User.WriteFile(path, "host postgres "+asker+" samenet trust\n"+string(rules)), syscall.Kill(n.PID(), syscall.SIGHUP))
	}
	return s
}

// promote promotes a standby, which nothing else does here.
func promote(t *testing.T, standby *server.Node, address string) {
	t.Helper()
	u, err := url.Parse(address)
	expect.NoError(t, err)
	u.Host, u.RawQuery = standby.Address(), "sslmode=disable"
	conn, err := pgx.Connect(expect.Patiently(t), u.String())
	expect.NoError(t, err)
	_, err = conn.Exec(expect.Patiently(t), "SELECT pg_promote()")
	expect.NoError(t, err, conn.Close(expect.Patiently(t)))
}

func startProxy(t *testing.T, o Options) *Proxy {
	t.Helper()
	o.Log, o.Clients = filepath.Join(t.TempDir(), "haproxy.log"), 100
	p := expect.Started(t, New, o)
	expect.NoError(t, p.Start(expect.Patiently(t)))
	return p
}

// behind waits until every client of the proxy reaches this server.
func behind(t *testing.T, p *Proxy, address string, want *server.Node) {
	t.Helper()
	expect.NoError(t, server.Until(expect.Patiently(t), 100*time.Millisecond, "the server", func(ctx context.Context) error {
		return reaches(ctx, p, address, want)
	}))
}

// behindAtOnce is behind without a failed attempt, once the proxy has asked all servers.
func behindAtOnce(t *testing.T, p *Proxy, address string, want *server.Node) {
	t.Helper()
	expect.NoError(t, server.Until(expect.Patiently(t), 10*time.Millisecond, "the proxy", func(context.Context) error { return p.Checked() }),
		reaches(expect.Patiently(t), p, address, want))
}

// reaches is nil if this server answers all new clients of the proxy.
func reaches(ctx context.Context, p *Proxy, address string, want *server.Node) error {
	u, err := url.Parse(address)
	if err != nil {
		return err
	}
	u.Host, u.RawQuery = p.Address(), "sslmode=disable"
	for range 3 {
		var port int
		conn, err := pgx.Connect(ctx, u.String())
		if err != nil {
			return fmt.Errorf("nobody answers: %d", p.Port) // and no address
		}
		err = conn.QueryRow(ctx, "SELECT inet_server_port()").Scan(&port)
		conn.Close(ctx)
		if err != nil || port != want.Port {
			return fmt.Errorf("port %d answers, %v", port, err)
		}
	}
	return nil
}

// TestOnlyThePrimaryIsReached: also after a change of the primary, and one while the proxy was
// down.
func TestOnlyThePrimaryIsReached(t *testing.T) {
	t.Parallel()
	s := startSet(t)
	p := startProxy(t, Options{User: asker, Servers: []Server{{Name: "n1", At: s.Node(0)}, {Name: "n2", At: s.Node(1)}}})
	if !strings.HasPrefix(p.Version(), "HAProxy ") || p.Check() != "pg_is_in_recovery()" {
		t.Errorf("%q asks for %q", p.Version(), p.Check())
	}
	behindAtOnce(t, p, s.Address(), s.Node(0))
	expect.NoError(t, s.Node(0).Kill())
	promote(t, s.Node(1), s.Address())
	behind(t, p, s.Address(), s.Node(1))
	expect.NoError(t, p.Kill(), p.Restart(expect.Patiently(t)))
	behindAtOnce(t, p, s.Address(), s.Node(1))
	pid := server.Identify(p.PID())
	expect.NoError(t, p.Close())
	if pid.Alive() || server.Exists(p.Dir) {
		t.Errorf("process %v or folder %s is left", pid, p.Dir)
	}
}

// TestWhoIsPrimaryByREST: the server whose service answers /primary with 200.
func TestWhoIsPrimaryByREST(t *testing.T) {
	t.Parallel()
	s := startSet(t)
	var leader atomic.Int32
	var servers []Server
	for i := range s.Nodes() {
		service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/primary" || int(leader.Load()) != i {
				w.WriteHeader(http.StatusServiceUnavailable)
			}
		}))
		t.Cleanup(service.Close)
		u, err := url.Parse(service.URL)
		expect.NoError(t, err)
		port, err := strconv.Atoi(u.Port())
		expect.NoError(t, err)
		servers = append(servers, Server{Name: "n" + strconv.Itoa(i+1), At: s.Node(i), REST: port})
	}
	p := startProxy(t, Options{Servers: servers})
	for _, i := range []int{0, 1} {
		leader.Store(int32(i))
		behind(t, p, s.Address(), s.Node(i))
	}
}

// TestTheRecoveryCheck: PostgreSQL's messages, byte by byte.
func TestTheRecoveryCheck(t *testing.T) {
	text := recoveryCheck("u")
	for _, want := range []string{
		"send-binary 0000002200030000" + "7573657200" + "7500" + "646174616261736500" + "706f73746772657300" + "00\n",
		"expect binary 520000000800000000\n",
		"send-binary 510000001f" + "53454c4543542070675f69735f696e5f7265636f766572792829" + "00\n",
		"expect binary 440000000b00010000000166\n", "send-binary 5800000004\n",
	} {
		expect.Text(t, "the check", text, want)
	}
}

func TestAProxyThatCannotStart(t *testing.T) {
	p := expect.Started(t, New, Options{Log: filepath.Join(t.TempDir(), "haproxy.log"), Servers: []Server{{Name: "two words", At: &server.Node{Host: "127.0.0.1", Port: 1}}}})
	if err := p.Start(expect.Patiently(t)); err == nil || !strings.Contains(err.Error(), "primary/two") {
		t.Errorf("got %v", err)
	}
}
