package etcd

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/authpb"
	pb "go.etcd.io/etcd/api/v3/etcdserverpb"

	cluster "assay/cluster/etcd"
	"assay/cluster/server"
	"assay/driver/drivertest"
	"assay/driver/encryption"
	"assay/history"
	"assay/internal/expect"
	"assay/store"
)

// TestUsers: a missing right is reported, an expired token proves no effect, and the password
// appears nowhere.
func TestUsers(t *testing.T) {
	c := startCluster(t, 1)
	auth := pb.NewAuthClient(raw(t, c).grpc)
	ctx := t.Context()
	const secret = "hunter2%2F"
	for _, user := range []string{"root", "guest"} {
		_, err := auth.UserAdd(ctx, &pb.AuthUserAddRequest{Name: user, Password: "hunter2/"})
		expect.NoError(t, err)
		_, err = auth.RoleAdd(ctx, &pb.AuthRoleAddRequest{Name: user})
		expect.NoError(t, err)
		_, err = auth.UserGrantRole(ctx, &pb.AuthUserGrantRoleRequest{User: user, Role: user})
		expect.NoError(t, err)
	}
	_, err := auth.RoleGrantPermission(ctx, &pb.AuthRoleGrantPermissionRequest{Name: "guest",
		Perm: &authpb.Permission{PermType: authpb.Permission_READ, Key: []byte{0}, RangeEnd: []byte{0}}})
	expect.NoError(t, err)
	_, err = auth.AuthEnable(ctx, &pb.AuthEnableRequest{})
	expect.NoError(t, err)
	as := func(user, password string) store.Target {
		return store.Target{Address: fmt.Sprintf("etcd://%s:%s@%s/", user, password, c.Hosts()), ConnectTimeout: connectTimeout}
	}
	for name, target := range map[string]store.Target{
		"a wrong password": as("root", "wrong"), "nobody": targetOf(c, ""), "an unknown user": as("stranger", secret),
	} {
		var refused *store.AuthError
		if _, err := Open(ctx, target, pairs()); !errors.As(err, &refused) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v; want *store.AuthError", name, err)
		}
	}
	d := created(t, as("root", secret), pairs())
	n := client(t, d)
	mustDo(t, n, insertPair, pair(1, "a")...)
	reader := client(t, opened(t, as("guest", secret), pairs()))
	if r := do(t, reader, insertPair, pair(2, "b")...); r.Outcome != history.Failed || r.Class != classAuth || strings.Contains(r.Err.Error(), "hunter2") {
		t.Errorf("a write of who may read: %+v", r)
	}
	bad := "nobody.1"
	n.conn.token.Store(&bad)
	if r := do(t, n, insertPair, pair(3, "c")...); r.Outcome != history.Failed || r.Class != classAuth || !r.Broken {
		t.Errorf("a token that is not good: %+v", r)
	}
	d.conn.token.Store(&bad) // as after a restart of the member
	expect.NoError(t, d.Drop(ctx))
}

// encryptedMember takes only encrypted connections of clients with a certificate. Its own
// certificate is for names.
func encryptedMember(t *testing.T, ca *drivertest.Authority, names ...string) (port int) {
	t.Helper()
	program, err := cluster.Program().Find("")
	expect.NoError(t, err)
	ports := new(server.Ports)
	port, err = ports.Next()
	expect.NoError(t, err)
	peer, err := ports.Next()
	expect.NoError(t, err)
	shown := ca.Server(names...)
	url, peers := fmt.Sprintf("https://127.0.0.1:%d", port), fmt.Sprintf("http://127.0.0.1:%d", peer)
	etcd := exec.Command(program, "--name", "n1", "--data-dir", filepath.Join(t.TempDir(), "data"), "--logger", "zap",
		"--listen-client-urls", url, "--advertise-client-urls", url, "--listen-peer-urls", peers, "--initial-advertise-peer-urls", peers,
		"--initial-cluster", "n1="+peers, "--cert-file", shown.Certificate, "--key-file", shown.Key,
		"--trusted-ca-file", ca.File, "--client-cert-auth")
	expect.NoError(t, etcd.Start())
	t.Cleanup(func() {
		_ = etcd.Process.Kill() // it may have ended by itself
		_ = etcd.Wait()
	})
	return port
}

func TestEncryptedConnections(t *testing.T) {
	ca, stranger := drivertest.NewAuthority(t, "ours"), drivertest.NewAuthority(t, "theirs")
	const named = "localhost"
	port := encryptedMember(t, ca, named)
	client := func(p drivertest.Pair) string { return "&tlsCertFile=" + p.Certificate + "&tlsKeyFile=" + p.Key }
	ours := client(ca.Client("me"))
	locked := client(drivertest.Locked(t, ca.Client("me"), "pass phrase")) + "&tlsKeyFilePassword="
	address := func(host, query string) store.Target {
		return store.Target{Address: fmt.Sprintf("etcd://%s:%d/?%s", host, port, query), ConnectTimeout: connectTimeout}
	}
	ctx := expect.Patiently(t)
	for ctx.Err() == nil { // until it serves
		if db, err := Open(ctx, address(named, "tlsCAFile="+ca.File+ours), pairs()); err == nil {
			expect.NoError(t, db.Close())
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	for name, c := range map[string]struct {
		host, query string
		want        string // of Describe, or
		refusal     string // what the error speaks of
	}{
		"verified":         {named, "tlsCAFile=" + ca.File + ours, "verified", ""},
		"locked key":       {named, "tlsCAFile=" + ca.File + locked + "pass%20phrase", "verified", ""},
		"another name":     {"127.0.0.1", "tlsCAFile=" + ca.File + ours, "", "is for localhost and not for 127.0.0.1"},
		"any name":         {"127.0.0.1", "tlsCAFile=" + ca.File + ours + "&tlsAllowInvalidHostnames=true", "encrypted, host name not verified", ""},
		"not verified":     {"127.0.0.1", "tlsInsecure=true" + ours, "encrypted, not verified", ""},
		"another CA":       {named, "tlsCAFile=" + stranger.File + ours, "", "tlsCAFile=FILE"},
		"the system's CAs": {named, "tls=true" + ours, "", "tlsCAFile=FILE"},
	} {
		got, err := stateOf(ctx, address(c.host, c.query))
		unreachable := errors.As(err, new(*store.UnreachableError))
		if got != c.want || unreachable != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.refusal) {
			t.Errorf("%s: %q, %v; want %q", name, got, err, c.want+c.refusal)
		}
	}
	for name, query := range map[string]string{"no certificate": "tlsCAFile=" + ca.File, "a stranger's": "tlsCAFile=" + ca.File + client(stranger.Client("me")), "not encrypted": ""} {
		if _, err := stateOf(ctx, address(named, query)); !errors.As(err, new(*store.UnreachableError)) {
			t.Errorf("%s: %v; want *store.UnreachableError", name, err)
		}
	}
}

func stateOf(ctx context.Context, target store.Target) (string, error) {
	db, err := Open(ctx, target, pairs())
	if err != nil {
		return "", err
	}
	product, err := db.Describe(ctx)
	return drivertest.Value(product.Settings, encryption.Setting), errors.Join(err, db.Close())
}
