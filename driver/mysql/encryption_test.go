package mysql

import (
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"
	"testing"

	library "github.com/go-sql-driver/mysql"

	cluster "assay/cluster/mariadb"
	"assay/driver/drivertest"
	"assay/driver/sqldb"
	"assay/internal/expect"
	"assay/store"
	"assay/workload/bank"
	"assay/workload/definition"
)

// encryptedNode takes only encrypted connections. Its user "certified" must show a certificate. Its
// own certificate is for names.
func encryptedNode(t *testing.T, ca *drivertest.Authority, names ...string) *cluster.Cluster {
	t.Helper()
	ctx := expect.Patiently(t)
	shown := ca.Server(names...)
	n, err := cluster.Start(ctx, cluster.Options{Password: secret, Settings: []string{
		"ssl-ca=" + ca.File, "ssl-cert=" + shown.Certificate, "ssl-key=" + shown.Key}})
	expect.NoError(t, err)
	expect.AtEnd(t, n.Close)
	conn := connectTo(t, n.Node(0).Address())
	exec(t, conn, `CREATE USER certified@'%' IDENTIFIED BY 'pass' REQUIRE X509`)
	exec(t, conn, "GRANT ALL ON *.* TO certified@'%'")
	exec(t, conn, `SET GLOBAL require_secure_transport = ON`)
	return n
}

func describedTLS(t *testing.T, to store.Target) (string, error) {
	t.Helper()
	db, err := Open(t.Context(), to, bank.Schema())
	if err != nil {
		quietError(t, err)
		return "", err
	}
	defer db.Close()
	product, err := db.Describe(t.Context())
	expect.NoError(t, err)
	return drivertest.Value(product.Settings, "tls"), nil
}

func TestEncryptedConnections(t *testing.T) {
	ca, stranger := drivertest.NewAuthority(t, "ours"), drivertest.NewAuthority(t, "theirs")
	n := encryptedNode(t, ca, "127.0.0.1")
	client, unknown := ca.Client("certified"), stranger.Client("certified")
	locked := drivertest.Locked(t, ca.Client("certified"), "pass phrase")
	options := func(pairs ...string) []func(*spot) {
		changes := []func(*spot){atHosts(n.Node(0).Address())}
		for i := 0; i < len(pairs); i += 2 {
			changes = append(changes, parameter(pairs[i], pairs[i+1]))
		}
		return changes
	}
	byName := func(s *spot) { s.hosts = strings.Replace(s.hosts, "127.0.0.1", "localhost", 1) }
	const withoutVerification = "encrypted, not verified"
	for name, c := range map[string]struct {
		changes []func(*spot)
		want    string // of Describe, or
		refusal string // what the error speaks of
	}{
		"CA":                      {options("ssl-ca", ca.File), "verified", ""},
		"identity":                {options("ssl-ca", ca.File, "ssl-mode", "VERIFY_IDENTITY"), "verified", ""},
		"tls=true with a CA":      {options("ssl-ca", ca.File, "tls", "true"), "verified", ""},
		"chain alone":             {options("ssl-ca", ca.File, "ssl-mode", "VERIFY_CA"), "encrypted, host name not verified", ""},
		"chain alone, by name":    {append(options("ssl-ca", ca.File, "ssl-mode", "VERIFY_CA"), byName), "encrypted, host name not verified", ""},
		"required":                {options("ssl-mode", "REQUIRED"), withoutVerification, ""},
		"preferred":               {options("ssl-mode", "PREFERRED"), withoutVerification, ""},
		"tls=skip-verify":         {options("tls", "skip-verify"), withoutVerification, ""},
		"another name":            {append(options("ssl-ca", ca.File), byName), "", "is for 127.0.0.1 and not for localhost"},
		"another CA":              {options("ssl-ca", stranger.File), "", "ssl-ca=FILE"},
		"another CA, chain alone": {options("ssl-ca", stranger.File, "ssl-mode", "VERIFY_CA"), "", "ssl-ca=FILE"},
		"the system's CAs":        {options("tls", "true"), "", "ssl-ca=FILE"},
		"not encrypted":           {options(), "", "ssl-mode=VERIFY_IDENTITY&ssl-ca=FILE"},
		"certificate":             {append(options("ssl-ca", ca.File, "ssl-cert", client.Certificate, "ssl-key", client.Key), user("certified", "pass")), "verified", ""},
		"locked key": {append(options("ssl-ca", ca.File, "ssl-cert", locked.Certificate, "ssl-key", locked.Key, "ssl-passphrase", "pass phrase"),
			user("certified", "pass")), "verified", ""},
		"wrong passphrase": {append(options("ssl-ca", ca.File, "ssl-cert", locked.Certificate, "ssl-key", locked.Key, "ssl-passphrase", "hunter2"),
			user("certified", "pass")), "", "the passphrase does not open it"},
		"no certificate": {append(options("ssl-ca", ca.File), user("certified", "pass")), "", "ssl-cert=FILE"},
		"a stranger's certificate": {append(options("ssl-ca", ca.File, "ssl-cert", unknown.Certificate, "ssl-key", unknown.Key),
			user("certified", "pass")), "", "ssl-cert=FILE"},
	} {
		got, err := describedTLS(t, target(c.changes...))
		if got != c.want || (err != nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.refusal) {
			t.Errorf("%s: %q, %v; want %q or an error with %q", name, got, err, c.want, c.refusal)
		}
	}
	drivertest.ShortRuns(t, target(options("ssl-ca", ca.File)...), definition.SupportOf(bank.Definition(), Open, sqldb.Lacks())) // in a loop
}

// TestServersWithoutTLS: PREFERRED falls back, and REQUIRED fails.
func TestServersWithoutTLS(t *testing.T) {
	for mode, want := range map[string]string{"": "off", "DISABLED": "off", "PREFERRED": "off"} {
		change := parameter("ssl-mode", mode)
		if mode == "" {
			change = func(*spot) {}
		}
		if got, err := describedTLS(t, target(change)); got != want || err != nil {
			t.Errorf("%q: %q, %v; want %q", mode, got, err, want)
		}
	}
	for _, mode := range []string{"REQUIRED", "VERIFY_CA", "VERIFY_IDENTITY"} {
		_, err := describedTLS(t, target(parameter("ssl-mode", mode)))
		if !errors.As(err, new(*store.UnreachableError)) || !strings.Contains(err.Error(), "ssl-mode=DISABLED") {
			t.Errorf("%s: %v; want *store.UnreachableError", mode, err)
		}
	}
}

// TestAConnectionThatEndsAfterTheHandshake: the server's word on a client's certificate may be lost
// with the connection.
func TestAConnectionThatEndsAfterTheHandshake(t *testing.T) {
	for _, err := range []error{driver.ErrBadConn, library.ErrInvalidConn, errors.New("bad connection"), fmt.Errorf("read: %w", syscall.ECONNRESET), io.EOF} {
		if got := (&handshake{done: true}).failure(err); !strings.Contains(got.Error(), "ssl-cert=FILE") {
			t.Errorf("%v is explained as %q", err, got)
		}
		if got := new(handshake).failure(err); got != err {
			t.Errorf("%v before the handshake is explained as %q", err, got)
		}
	}
}
