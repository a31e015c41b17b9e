package mongodb

import (
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"assay/driver/drivertest"
	"assay/internal/expect"
	"assay/store"
	"assay/workload/bank"
)

// TestEncryptedConnections has a set that takes encrypted connections only,
// from clients that show a certificate.
func TestEncryptedConnections(t *testing.T) {
	t.Parallel()
	ca, stranger := drivertest.NewAuthority(t, "ours"), drivertest.NewAuthority(t, "theirs")
	set := startSet(t, 1, "--tlsMode", "preferTLS", "--tlsCertificateKeyFile", ca.Server("127.0.0.1").Both, "--tlsCAFile", ca.File)
	ctx := expect.Patiently(t)
	if err := plainClient(t, set.Address()).Database("admin").RunCommand(ctx,
		bson.D{{Key: "setParameter", Value: 1}, {Key: "tlsMode", Value: "requireTLS"}}).Err(); err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(set.Address())
	expect.NoError(t, err)
	shown := func(p drivertest.Pair) string { return "&tlsCertificateKeyFile=" + p.Both }
	client, unknown := shown(ca.Client("me")), shown(stranger.Client("me"))
	locked := shown(drivertest.Locked(t, ca.Client("me"), "pass phrase")) + "&tlsCertificateKeyFilePassword="
	trusting := "tls=true&tlsCAFile=" + ca.File
	for name, c := range map[string]struct {
		host, query string
		want        string // of Describe, or
		refusal     string // what the error speaks of
	}{
		"verified":                 {"", trusting + client, "verified", ""},
		"locked key":               {"", trusting + locked + "pass%20phrase", "verified", ""},
		"not verified":             {"", "tlsInsecure=true" + client, "encrypted, not verified", ""},
		"another name":             {"localhost", trusting + client, "", "is for 127.0.0.1 and not for localhost"},
		"another CA":               {"", "tlsCAFile=" + stranger.File + client, "", "tlsCAFile=FILE"},
		"the system's CAs":         {"", "tls=true" + client, "", "tlsCAFile=FILE"},
		"no certificate":           {"", trusting, "", "tlsCertificateKeyFile=FILE"},
		"a stranger's certificate": {"", trusting + unknown, "", "tlsCertificateKeyFile=FILE"},
		"not encrypted":            {"", "tls=false", "", "tls=true"},
	} {
		to := *u
		to.RawQuery += "&" + c.query
		if c.host != "" {
			to.Host = strings.Replace(to.Host, "127.0.0.1", c.host, 1)
		}
		got, err := describedTLS(t, to.String())
		unreachable := errors.As(err, new(*store.UnreachableError))
		if got != c.want || unreachable != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.refusal) {
			t.Errorf("%s: %q, %v; want %q or an error with %q", name, got, err, c.want, c.refusal)
		}
	}
}

// describedTLS opens a bank and returns what it says of its connections.
func describedTLS(t *testing.T, address string) (string, error) {
	t.Helper()
	var db store.Database
	var err error
	for limit := 3 * time.Second; limit <= patience; limit *= 4 {
		db, err = Open(t.Context(), store.Target{Address: address, ConnectTimeout: limit}, bank.Schema())
		if err == nil || !strings.Contains(err.Error(), noAnswer) {
			break
		}
	}
	if err != nil {
		return "", err
	}
	defer db.Close()
	product, err := db.Describe(t.Context())
	expect.NoError(t, err)
	return drivertest.Value(product.Settings, "tls"), nil
}

// TestFilesThatCannotBeUsed: the error names the file and the reason.
func TestFilesThatCannotBeUsed(t *testing.T) {
	dir := t.TempDir()
	none, odd := filepath.Join(dir, "none.pem"), filepath.Join(dir, "odd.pem")
	expect.NoError(t, os.WriteFile(odd, []byte("odd"), 0o600))
	for query, words := range map[string][]string{
		"tls=true&tlsCAFile=" + none:             {"tlsCAFile", none, "no such file"},
		"tls=true&tlsCAFile=" + odd:              {"tlsCAFile", odd, "it has no certificate"},
		"tls=true&tlsCertificateKeyFile=" + none: {"tlsCertificateKeyFile", none, "no such file"},
		"tls=true&tlsCertificateKeyFile=" + odd:  {"tlsCertificateKeyFile", odd, "it has no certificate"},
	} {
		_, err := parse(store.Target{Address: "mongodb://me:hunter2@127.0.0.1/?" + query}, "bank", true)
		var refused *store.OptionError
		if !errors.As(err, &refused) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v; want *store.OptionError", query, err)
			continue
		}
		for _, word := range words {
			if !strings.Contains(err.Error(), word) {
				t.Errorf("%s: %v; want it to speak of %q", query, err, word)
			}
		}
	}
}
