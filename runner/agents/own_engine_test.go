package agents

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nkeys"

	"assay/driver/drivertest"
	"assay/history"
	"assay/internal/expect"
	"assay/load"
	"assay/measure"
)

// counting is a Worker with one client and no database that does an operation each millisecond.
type counting struct{ operations int }

func (c counting) Prepare(context.Context, Plan, Share) (Job, error) { return c, nil }
func (counting) Found() json.RawMessage                              { return nil }
func (counting) Close() error                                        { return nil }

func (c counting) Work(ctx context.Context, rec *Recorder, now func() int64) (s load.Stats, err error) {
	client := rec.of.share.First
	for i := range uint64(c.operations) {
		if err := rec.Reserve(history.Reservation{Client: client, UpTo: i + 1}); err != nil {
			return s, err
		}
		at := now()
		op := &history.Op{Client: client, Seq: i, Attempt: 1, Last: true, Outcome: history.Committed, Final: history.Committed, Due: at, First: at, Start: at, End: now()}
		if err := rec.Record(op); err != nil || !sleep(ctx, time.Millisecond) {
			return s, err
		}
	}
	return s, nil
}

// worked has agents with one client each work a run at an engine, and returns the merged
// deliveries. It calls meanwhile when each has delivered something.
func worked(t *testing.T, engine *Engine, run, pool string, agents, operations int, meanwhile func()) Merged {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	folder := t.TempDir()
	live := measure.NewLive(1)
	var notes []string
	k, err := Coordinate(ctx, engine, Config{Plan: Plan{Run: run, Workload: "w", Version: "v", Timeout: time.Minute}, Pool: pool, Agents: agents, Clients: agents,
		Folder: folder, Live: live, Note: func(text string) { notes = append(notes, text) }})
	expect.NoError(t, err)
	ended := make(chan error, agents)
	for range agents {
		own, err := Open(ctx, engine.Join())
		expect.NoError(t, err)
		go func() {
			defer own.Close()
			ended <- Serve(ctx, own, counting{operations}, Options{Version: "v", Pool: pool, Folder: t.TempDir(), Note: func(string) {}, Late: time.Minute, Gone: time.Minute})
		}()
	}
	expect.NoError(t, k.Gather(ctx, func(int, int) {}))
	_, err = k.Prepare(ctx)
	expect.NoError(t, err)
	zero := k.Now() + int64(Lead)
	file, err := history.Create(CoordinatorFile(folder), history.Header{Run: run, Workload: "w", Version: "v", Started: zero})
	expect.NoError(t, err)
	expect.NoError(t, k.Start(zero, file))
	over, collected := make(chan struct{}), make(chan error, 1)
	lost := func(text string) { t.Error(text) }
	go func() { collected <- k.Collect(ctx, over, lost) }()
	if meanwhile != nil {
		arrived(t, filepath.Join(folder, Folder), agents)
		meanwhile()
	}
	k.Follow(ctx, lost)
	close(over)
	expect.NoError(t, <-collected)
	expect.NoError(t, file.Close())
	k.Close(ctx)
	stop()
	for range agents {
		expect.NoError(t, <-ended)
	}
	m, err := Merge(folder, filepath.Join(folder, "history.bin"))
	expect.NoError(t, err)
	return m
}

func arrived(t *testing.T, folder string, agents int) {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		there := 0
		for i := range agents {
			if info, err := os.Stat(filepath.Join(folder, historyFile(i))); err == nil && info.Size() > 0 {
				there++
			}
		}
		if there == agents {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("of %d agents %d have delivered something within a minute", agents, there)
		}
	}
}

func wantWhole(t *testing.T, m Merged, operations int64) {
	t.Helper()
	if !m.Whole || m.Operations != operations || slices.ContainsFunc(m.Agents, func(a MergedAgent) bool { return !a.Whole || a.Lost != "" }) {
		t.Errorf("merged %+v; want %d operations, all delivered", m, operations)
	}
}

func served(t *testing.T, o *server.Options) *server.Server {
	t.Helper()
	s := begun(t, o)
	if !s.ReadyForConnections(started) {
		t.Fatal("the server did not start")
	}
	return s
}

func begun(t *testing.T, o *server.Options) *server.Server {
	t.Helper()
	o.Host, o.Port, o.NoLog, o.NoSigs, o.JetStream, o.StoreDir, o.SyncAlways = "127.0.0.1", server.RANDOM_PORT, true, true, true, t.TempDir(), true
	s, err := server.NewServer(o)
	expect.NoError(t, err)
	s.Start()
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	return s
}

func free(t *testing.T, from int) int {
	t.Helper()
	for port := from; port < 32768; port++ {
		if l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port)); err == nil {
			expect.NoError(t, l.Close())
			return port
		}
	}
	t.Fatal("no port is free")
	return 0
}

func clustered(t *testing.T) []*server.Server {
	t.Helper()
	var ports []int
	var routes []*url.URL
	from := 21000 + 7*os.Getpid()%10000 // that two processes seldom share
	for range 3 {
		from = free(t, from) + 1
		ports = append(ports, from-1)
		routes = append(routes, &url.URL{Scheme: "nats-route", Host: fmt.Sprintf("127.0.0.1:%d", from-1)})
	}
	var all []*server.Server
	for i, port := range ports {
		all = append(all, begun(t, &server.Options{ServerName: fmt.Sprintf("n%d", i), Routes: routes, Cluster: server.ClusterOpts{Name: "c", Host: "127.0.0.1", Port: port}}))
	}
	ready := func(s *server.Server) bool { return s.JetStreamIsLeader() && len(s.JetStreamClusterPeers()) == 3 }
	for end := time.Now().Add(time.Minute); !slices.ContainsFunc(all, ready); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the cluster has no leader after a minute")
		}
	}
	return all
}

// TestClusterLosesAServer: of a user's three servers the leader of the run's histories is killed,
// and nothing is lost.
func TestClusterLosesAServer(t *testing.T) {
	all := clustered(t)
	var addresses []string
	for _, s := range all {
		addresses = append(addresses, s.ClientURL())
	}
	engine, err := Open(t.Context(), strings.Join(addresses, ",")+"?replicas=3")
	expect.NoError(t, err)
	t.Cleanup(engine.Close)
	m := worked(t, engine, "r", AnyPool, 2, 5000, func() {
		leads := func(s *server.Server) bool { return s.JetStreamIsStreamLeader("$G", "OBJ_"+bucket("r")) }
		at := slices.IndexFunc(all, leads)
		if at < 0 {
			t.Error("nobody leads the histories")
			return
		}
		all[at].Shutdown()
	})
	wantWhole(t, m, 10_000)
}

// TestRunsDoNotMeet: two runs at one engine, with agents of own pools or of any, keep apart.
func TestRunsDoNotMeet(t *testing.T) {
	engine, err := Start("127.0.0.1:0", "")
	expect.NoError(t, err)
	t.Cleanup(engine.Close)
	for i, pool := range []string{AnyPool, AnyPool, "mine"} {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			ops := 300 // of both runs of one pool, since either may get either's agent
			if pool != AnyPool {
				ops = 900
			}
			wantWhole(t, worked(t, engine, fmt.Sprintf("run%d", i), pool, 1, ops, nil), int64(ops))
		})
	}
}

func credentials(t *testing.T, o *server.Options) string {
	t.Helper()
	operator, err := nkeys.CreateOperator()
	expect.NoError(t, err)
	account, err := nkeys.CreateAccount()
	expect.NoError(t, err)
	user, err := nkeys.CreateUser()
	expect.NoError(t, err)
	public := func(k nkeys.KeyPair) string {
		text, err := k.PublicKey()
		expect.NoError(t, err)
		return text
	}
	system, err := nkeys.CreateAccount()
	expect.NoError(t, err)
	resolver := &server.MemAccResolver{}
	for _, k := range []nkeys.KeyPair{account, system} {
		claims := jwt.NewAccountClaims(public(k))
		if k == account {
			claims.Limits.JetStreamLimits = jwt.JetStreamLimits{MemoryStorage: -1, DiskStorage: -1, Streams: -1, Consumer: -1}
		}
		text, err := claims.Encode(operator)
		expect.NoError(t, err)
		expect.NoError(t, resolver.Store(public(k), text))
	}
	of := jwt.NewOperatorClaims(public(operator))
	of.SystemAccount = public(system)
	o.TrustedOperators, o.AccountResolver, o.SystemAccount = []*jwt.OperatorClaims{of}, resolver, public(system)
	text, err := jwt.NewUserClaims(public(user)).Encode(account)
	expect.NoError(t, err)
	seed, err := user.Seed()
	expect.NoError(t, err)
	file, err := jwt.FormatUserConfig(text, seed)
	expect.NoError(t, err)
	path := filepath.Join(t.TempDir(), "assay.creds")
	expect.NoError(t, os.WriteFile(path, file, 0o600))
	return path
}

// TestOwnEngineWithTLSAndCredentials: a server that demands certificates and credentials works with
// them and refuses clients that lack one.
func TestOwnEngineWithTLSAndCredentials(t *testing.T) {
	ca := drivertest.NewAuthority(t, "ca")
	own := ca.Server("127.0.0.1")
	config, err := server.GenTLSConfig(&server.TLSConfigOpts{CertFile: own.Certificate, KeyFile: own.Key, CaFile: ca.File, Verify: true})
	expect.NoError(t, err)
	config.MinVersion = tls.VersionTLS12
	o := &server.Options{TLSConfig: config, TLSVerify: true, TLSTimeout: 10, AuthTimeout: 10}
	creds := credentials(t, o)
	host := served(t, o).Addr().String()
	parts := []string{"ca=" + ca.File, "cert=" + own.Certificate + "&key=" + own.Key, "creds=" + creds}
	for i := range parts {
		without := slices.Delete(slices.Clone(parts), i, i+1)
		_, err := Open(t.Context(), "tls://"+host+"?"+strings.Join(without, "&"))
		if refused := (*EngineError)(nil); !errors.As(err, &refused) {
			t.Errorf("without %s: %v", parts[i], err)
		}
	}
	engine, err := Open(t.Context(), "tls://"+host+"?"+strings.Join(parts, "&"))
	expect.NoError(t, err)
	t.Cleanup(engine.Close)
	wantWhole(t, worked(t, engine, "r", AnyPool, 2, 200, nil), 400)
}
