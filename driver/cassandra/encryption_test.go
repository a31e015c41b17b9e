package cassandra

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	cluster "assay/cluster/cassandra"
	"assay/cluster/server"
	"assay/driver/drivertest"
	"assay/internal/expect"
	"assay/store"
)

// startNode's second port takes only encrypted connections of clients with a certificate. Its own
// certificate is for localhost.
func startNode(t *testing.T, ca *drivertest.Authority) (c *cluster.Ring, port int) {
	t.Helper()
	ports := new(server.Ports)
	port, err := ports.Next()
	expect.NoError(t, err)
	shown := ca.Server(named)
	quoted := func(path string) string {
		text, err := os.ReadFile(path)
		expect.NoError(t, err)
		return "'" + strings.ReplaceAll(strings.TrimSpace(string(text)), "\n", "\n\n") + "'" // YAML folds single ends of lines
	}
	ctx := expect.Patiently(t)
	c, err = cluster.Start(ctx, cluster.Options{Layout: server.Layout{Nodes: 1}, Ports: ports, Java: quickJava(), Settings: []string{
		fmt.Sprintf("native_transport_port_ssl: %d", port),
		fmt.Sprintf("client_encryption_options: {enabled: true, optional: false, require_client_auth: true, ssl_context_factory: "+
			"{class_name: org.apache.cassandra.security.PEMBasedSslContextFactory, parameters: {private_key: %s, trusted_certificates: %s}}}",
			quoted(shown.Both), quoted(ca.File)),
	}})
	expect.NoError(t, err)
	expect.AtEnd(t, c.Close)
	return c, port
}

// named is in the node's certificate.
const named = "localhost"

func testEncryptedConnections(t *testing.T, ca *drivertest.Authority, port int) {
	stranger := drivertest.NewAuthority(t, "theirs")
	pair := func(p drivertest.Pair) string { return "&tlsCertFile=" + p.Certificate + "&tlsKeyFile=" + p.Key }
	client, unknown := pair(ca.Client("me")), pair(stranger.Client("me"))
	locked := pair(drivertest.Locked(t, ca.Client("me"), "pass phrase")) + "&tlsKeyFilePassword="
	for name, c := range map[string]struct {
		host, query string
		want        string // of Describe, or
		refusal     string // what the error speaks of
	}{
		"verified":                 {named, "tlsCAFile=" + ca.File + client, "verified", ""},
		"locked key":               {named, "tlsCAFile=" + ca.File + locked + "pass%20phrase", "verified", ""},
		"another name":             {"127.0.0.1", "tlsCAFile=" + ca.File + client, "", "is for localhost and not for 127.0.0.1"},
		"any name":                 {"127.0.0.1", "tlsCAFile=" + ca.File + client + "&tlsAllowInvalidHostnames=true", "encrypted, host name not verified", ""},
		"not verified":             {"127.0.0.1", "tlsInsecure=true" + client, "encrypted, not verified", ""},
		"another CA":               {named, "tlsCAFile=" + stranger.File + client, "", "tlsCAFile=FILE"},
		"the system's CAs":         {named, "tls=true" + client, "", "tlsCAFile=FILE"},
		"no certificate":           {named, "tlsCAFile=" + ca.File, "", "tlsCertFile=FILE"},
		"a stranger's certificate": {named, "tlsCAFile=" + ca.File + unknown, "", "tlsCertFile=FILE"},
		"not encrypted":            {"127.0.0.1", "", "", "tls=true"},
	} {
		address := fmt.Sprintf("cassandra://%s:%d/?%s", c.host, port, c.query)
		got, err := describedTLS(t, address)
		unreachable := errors.As(err, new(*store.UnreachableError))
		if got != c.want || unreachable != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.refusal) {
			t.Errorf("%s: %q, %v; want %q or an error with %q", name, got, err, c.want, c.refusal)
		}
	}
}

func describedTLS(t *testing.T, address string) (string, error) {
	t.Helper()
	db, err := openRows(t.Context(), store.Target{Address: address, ConnectTimeout: time.Minute})
	if err != nil {
		return "", err
	}
	defer db.Close()
	ctx := expect.Patiently(t)
	expect.NoError(t, db.Create(ctx, store.Marker{Run: "tls", Workload: "availability", Created: time.Now().UTC(), Loaded: true}))
	product, err := db.Describe(ctx)
	expect.NoError(t, errors.Join(err, db.Drop(ctx)))
	return drivertest.Value(product.Settings, "tls"), nil
}
