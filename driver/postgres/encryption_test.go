package postgres

import (
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	cluster "assay/cluster/postgres"
	"assay/driver/drivertest"
	"assay/driver/sqldb"
	"assay/internal/expect"
	"assay/store"
	"assay/workload/bank"
	"assay/workload/definition"
)

// encryptedServer takes only encrypted connections, and the user "certified" only with a
// certificate. Its own is for names. The server writes its files, because it must own its key.
func encryptedServer(t *testing.T, ca *drivertest.Authority, names ...string) *url.URL {
	t.Helper()
	ctx := expect.Patiently(t)
	s, err := cluster.Start(ctx, cluster.Options{Password: secret})
	expect.NoError(t, err)
	expect.AtEnd(t, s.Close)
	plain, err := pgx.Connect(ctx, s.Address())
	expect.NoError(t, err)
	write := func(name, text string) {
		lines := "'" + strings.ReplaceAll(strings.TrimSpace(text), "\n", "'), ('") + "'"
		exec(t, plain, "COPY (VALUES ("+lines+")) TO PROGRAM 'umask 077; cat > "+name+"'")
	}
	shown := ca.Server(names...)
	for name, path := range map[string]string{"test-ca.pem": ca.File, "test-cert.pem": shown.Certificate, "test-key.pem": shown.Key} {
		text, err := os.ReadFile(path)
		expect.NoError(t, err)
		write(name, string(text))
	}
	for _, setting := range []string{"ssl_ca_file = 'test-ca.pem'", "ssl_cert_file = 'test-cert.pem'", "ssl_key_file = 'test-key.pem'", "ssl = on"} {
		exec(t, plain, "ALTER SYSTEM SET "+setting)
	}
	exec(t, plain, "CREATE ROLE certified LOGIN SUPERUSER PASSWORD 'pass'")
	expect.NoError(t, errors.Join(plain.Close(ctx), s.Restart(ctx)))
	if plain, err = pgx.Connect(ctx, s.Address()); err != nil {
		t.Fatal(err)
	}
	write("pg_hba.conf", "hostssl all certified 127.0.0.1/32 scram-sha-256 clientcert=verify-ca\nhostssl all all 127.0.0.1/32 scram-sha-256")
	exec(t, plain, "SELECT pg_reload_conf()")
	expect.NoError(t, plain.Close(ctx))
	for { // until it has read the file again
		conn, err := pgx.Connect(ctx, s.Address())
		if hasCode(err, codeInvalidAuthorization) {
			break
		}
		expect.NoError(t, err)
		conn.Close(ctx)
	}
	u, err := url.Parse(s.Address())
	expect.NoError(t, err)
	return u
}

func describedTLS(t *testing.T, address string) (string, error) {
	t.Helper()
	db, err := Open(t.Context(), store.Target{Address: address, ConnectTimeout: 30 * time.Second}, bank.Schema())
	if err != nil {
		quiet(t, err)
		return "", err
	}
	defer db.Close()
	product, err := db.Describe(t.Context())
	expect.NoError(t, err)
	return drivertest.Value(product.Settings, "tls"), nil
}

func TestEncryptedConnections(t *testing.T) {
	ca, stranger := drivertest.NewAuthority(t, "ours"), drivertest.NewAuthority(t, "theirs")
	base := encryptedServer(t, ca, "127.0.0.1")
	pair := func(p drivertest.Pair) string { return "&sslcert=" + p.Certificate + "&sslkey=" + p.Key }
	client, unknown := pair(ca.Client("certified")), pair(stranger.Client("certified"))
	const byName, as = "localhost", "certified"
	full := "sslmode=verify-full&sslrootcert=" + ca.File
	locked := func(passphrase string) string {
		return pair(drivertest.Locked(t, ca.Client("certified"), "pass phrase")) + passphrase
	}
	for name, c := range map[string]struct {
		host, user, query string
		want              string // of Describe, or
		refusal           string // what the error speaks of
	}{
		"full":                     {"", "", full, "verified", ""},
		"chain alone":              {byName, "", "sslmode=verify-ca&sslrootcert=" + ca.File, "encrypted, host name not verified", ""},
		"required":                 {byName, "", "sslmode=require", "encrypted, not verified", ""},
		"preferred":                {byName, "", "sslmode=prefer", "encrypted, not verified", ""},
		"another name":             {byName, "", full, "", "is for 127.0.0.1 and not for localhost"},
		"another CA":               {"", "", "sslmode=verify-full&sslrootcert=" + stranger.File, "", "sslrootcert=FILE"},
		"another CA, chain alone":  {"", "", "sslmode=verify-ca&sslrootcert=" + stranger.File, "", "sslrootcert=FILE"},
		"the system's CAs":         {"", "", "sslmode=verify-full", "", "sslrootcert=FILE"},
		"not encrypted":            {"", "", "sslmode=disable", "", "sslmode=verify-full&sslrootcert=FILE"},
		"certificate":              {"", as, full + client, "verified", ""},
		"locked key":               {"", as, full + locked("&sslpassword=pass%20phrase"), "verified", ""},
		"wrong passphrase":         {"", as, full + locked("&sslpassword=hunter2"), "", "the passphrase does not open it"},
		"no passphrase":            {"", as, full + locked(""), "", "sslpassword=PASSPHRASE"},
		"no certificate":           {"", as, full, "", "sslcert=FILE"},
		"a stranger's certificate": {"", as, full + unknown, "", "sslcert=FILE"},
	} {
		u := *base
		u.RawQuery = c.query
		if c.host != "" {
			u.Host = strings.Replace(u.Host, "127.0.0.1", c.host, 1)
		}
		if c.user != "" {
			u.User = url.UserPassword(c.user, "pass")
		}
		got, err := describedTLS(t, u.String())
		if got != c.want || (err != nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.refusal) {
			t.Errorf("%s: %q, %v; want %q or an error with %q", name, got, err, c.want, c.refusal)
		}
	}
	base.RawQuery = full
	to := store.Target{Address: base.String(), ConnectTimeout: 30 * time.Second}
	drivertest.ShortRuns(t, to, definition.SupportOf(bank.Definition(), Open, sqldb.Lacks())) // in a loop
}

func TestServersWithoutTLS(t *testing.T) {
	for mode, want := range map[string]string{"disable": "off", "prefer": "off", "allow": "off"} {
		if got, err := describedTLS(t, address(t, parameter("sslmode", mode))); got != want || err != nil {
			t.Errorf("%s: %q, %v; want %q", mode, got, err, want)
		}
	}
	for _, mode := range []string{"require", "verify-full"} {
		if _, err := describedTLS(t, address(t, parameter("sslmode", mode))); !errors.As(err, new(*store.UnreachableError)) {
			t.Errorf("%s: %v; want *store.UnreachableError", mode, err)
		}
	}
}

// TestFilesThatCannotBeUsed: the error names file and reason.
func TestFilesThatCannotBeUsed(t *testing.T) {
	none, odd := filepath.Join(t.TempDir(), "none.pem"), filepath.Join(t.TempDir(), "odd.pem")
	expect.NoError(t, os.WriteFile(odd, []byte("odd"), 0o600))
	for query, words := range map[string][]string{
		"sslmode=verify-full&sslrootcert=" + none:             {"sslrootcert", none, "no such file"},
		"sslmode=verify-ca&sslrootcert=" + odd:                {"sslrootcert", odd, "it has no certificate"},
		"sslmode=require&sslcert=" + none + "&sslkey=" + none: {"sslcert", none, "no such file"},
		"sslmode=require&sslcert=" + odd:                      {"sslkey=FILE"},
	} {
		_, _, err := parse(store.Target{Address: "postgres://assay:hunter2@127.0.0.1:1/x?" + query})
		var refused *store.OptionError
		if !errors.As(err, &refused) {
			t.Errorf("%s: %v; want *store.OptionError", query, err)
			continue
		}
		quiet(t, err)
		for _, word := range words {
			if !strings.Contains(err.Error(), word) {
				t.Errorf("%s: %v; want it to speak of %q", query, err, word)
			}
		}
	}
}
