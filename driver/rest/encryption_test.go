package rest

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"os"
	"strings"
	"testing"

	"assay/driver/drivertest"
	"assay/internal/expect"
	"assay/store"
	"assay/workload/entity"
)

// startEncrypted runs a service behind TLS, as behind a proxy. Its certificate is for names.
func startEncrypted(t *testing.T, ca *drivertest.Authority, names ...string) (port string) {
	t.Helper()
	shown := ca.Server(names...)
	pair, err := tls.LoadX509KeyPair(shown.Certificate, shown.Key)
	expect.NoError(t, err)
	text, err := os.ReadFile(ca.File)
	expect.NoError(t, err)
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(text)
	address, _ := startBehind(t, true, func(l net.Listener) net.Listener {
		return tls.NewListener(l, &tls.Config{Certificates: []tls.Certificate{pair}, ClientCAs: roots, ClientAuth: tls.VerifyClientCertIfGiven})
	})
	_, port, err = net.SplitHostPort(address)
	expect.NoError(t, err)
	return port
}

func TestEncryptedConnections(t *testing.T) {
	ca, stranger := drivertest.NewAuthority(t, "ours"), drivertest.NewAuthority(t, "theirs")
	port := startEncrypted(t, ca, "127.0.0.1")
	shown := drivertest.Locked(t, ca.Client("me"), "pass phrase")
	for name, c := range map[string]struct {
		host, query string
		want        string // of Describe, or
		refusal     string // what the error speaks of
	}{
		"verified":         {"127.0.0.1", "tlsCAFile=" + ca.File, "verified", ""},
		"locked key":       {"127.0.0.1", "tlsCAFile=" + ca.File + "&tlsCertFile=" + shown.Certificate + "&tlsKeyFile=" + shown.Key + "&tlsKeyFilePassword=pass%20phrase", "verified", ""},
		"any name":         {"localhost", "tlsCAFile=" + ca.File + "&tlsAllowInvalidHostnames=true", "encrypted, host name not verified", ""},
		"not verified":     {"localhost", "tlsInsecure=true", "encrypted, not verified", ""},
		"another name":     {"localhost", "tlsCAFile=" + ca.File, "", "is for 127.0.0.1 and not for localhost"},
		"another CA":       {"127.0.0.1", "tlsCAFile=" + stranger.File, "", "tlsCAFile=FILE"},
		"the system's CAs": {"127.0.0.1", "", "", "tlsCAFile=FILE"},
	} {
		got, err := describedTLS(t, "https://"+net.JoinHostPort(c.host, port)+"/?"+c.query)
		unreachable := errors.As(err, new(*store.UnreachableError))
		if got != c.want || unreachable != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.refusal) {
			t.Errorf("%s: %q, %v; want %q or an error with %q", name, got, err, c.want, c.refusal)
		}
	}
}

// describedTLS returns a database's description of its connections after a write.
func describedTLS(t *testing.T, address string) (string, error) {
	t.Helper()
	db, err := Open(t.Context(), store.Target{Address: address}, entity.Schema())
	if err != nil {
		return "", err
	}
	defer db.Close()
	config := entity.Defaults()
	config.Entities = 5
	run := drivertest.ShortRun{Workload: entity.Definition(), Config: &config, Seed: 1, Clients: 2, Each: 5, Attempts: 1}
	if j := run.Valid(t.Context(), t, db); j.Counts.Committed != 10 {
		t.Errorf("%+v", j.Entity)
	}
	product, err := db.Describe(t.Context())
	expect.NoError(t, errors.Join(err, db.Drop(t.Context())))
	return drivertest.Value(product.Settings, "tls of the service"), nil
}
