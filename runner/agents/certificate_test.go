package agents

import (
	"bufio"
	"errors"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"

	"assay/internal/expect"
)

func engineAt(t *testing.T, secret string) *url.URL {
	t.Helper()
	e, err := Start("127.0.0.1:0", secret)
	expect.NoError(t, err)
	t.Cleanup(e.Close)
	u, err := url.Parse(e.Join())
	expect.NoError(t, err)
	return u
}

// TestEngineIsEncrypted: it speaks no plain text, and the printed address reaches it.
func TestEngineIsEncrypted(t *testing.T) {
	u := engineAt(t, "")
	c, err := net.Dial("tcp", u.Host)
	expect.NoError(t, err)
	defer c.Close()
	greeting, err := bufio.NewReader(c).ReadString('\n')
	expect.NoError(t, err)
	if u.Scheme != "tls" || !strings.Contains(greeting, `"tls_required":true`) {
		t.Errorf("%s greets with %s", u.Redacted(), greeting)
	}
	plain, err := nats.Connect("nats://"+u.Host, nats.UserInfo(u.User.Username(), "wrong"), nats.Timeout(requestTimeout))
	if err == nil {
		plain.Close()
		t.Error("its certificate, which nobody has signed, was believed")
	}
	own, err := Open(t.Context(), u.String())
	expect.NoError(t, err)
	own.Close()
}

// TestAnotherEngineIsRefused: another key learns nothing, by a fingerprint or by the shared secret.
func TestAnotherEngineIsRefused(t *testing.T) {
	const secret = "a secret, of sixteen and more"
	u := engineAt(t, secret)
	open := func(password, pin string) error {
		at := *u
		at.User, at.RawQuery = url.UserPassword(embeddedUser, password), "sha256="+pin
		e, err := Open(t.Context(), strings.ReplaceAll(at.String(), ",", "%2C"))
		if err == nil {
			e.Close()
		}
		return err
	}
	right := u.Query().Get("sha256")
	expect.NoError(t, open(secret, right))
	expect.NoError(t, open(secret, strings.ToUpper(right)))
	expect.NoError(t, open(secret, pinSecret))
	for name, err := range map[string]error{
		"another fingerprint": open(secret, strings.Repeat("ab", 32)), "another secret": open("some other secret which is long", pinSecret),
	} {
		var other *CertificateError
		if !errors.As(err, &other) || other.Found != right || !strings.Contains(err.Error(), "the certificate there is another one") || strings.Contains(err.Error(), secret) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, err := range map[string]error{"half a fingerprint": open(secret, right[:32]), "no password": open("", pinSecret)} {
		if !errors.As(err, new(*AddressError)) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Start("127.0.0.1:0", "short"); !errors.As(err, new(*AddressError)) || strings.Contains(err.Error(), "short") {
		t.Errorf("a secret that can be guessed: %v", err)
	}
}

// TestRemainsAreRemoved only for engines whose process is gone.
func TestRemainsAreRemoved(t *testing.T) {
	place := t.TempDir()
	t.Setenv("TMPDIR", place)
	engineAt(t, "")
	alive, err := filepath.Glob(filepath.Join(place, storePrefix+"*"))
	if err != nil || len(alive) != 1 {
		t.Fatalf("an engine has the folders %q, %v", alive, err)
	}
	killed, others := filepath.Join(place, storePrefix+"1"), filepath.Join(place, storePrefix+"2")
	expect.NoError(t, os.MkdirAll(filepath.Join(killed, "data", "jetstream"), 0o700))
	expect.NoError(t, os.WriteFile(filepath.Join(killed, fileOwner), nil, 0o600))
	expect.NoError(t, os.Mkdir(others, 0o700)) // which no engine has made
	removed, err := RemoveRemains()
	if err != nil || !slices.Equal(removed, []string{killed}) {
		t.Errorf("removed %q, %v", removed, err)
	}
	for _, folder := range []string{alive[0], others} {
		if _, err := os.Stat(folder); err != nil {
			t.Errorf("%s was touched: %v", folder, err)
		}
	}
	if _, err := os.Stat(killed); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s is there: %v", killed, err)
	}
}
