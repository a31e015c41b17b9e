package postgres

import (
	"crypto/tls"
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"assay/internal/expect"
	"assay/store"
)

// TestParametersOfLibpq tries every key word of the manual (PostgreSQL 18, "Parameter Key Words").
// None is sent as a setting of the server's, and one that would change the meaning is refused by
// name.
func TestParametersOfLibpq(t *testing.T) {
	for parameter, effect := range map[string]string{
		"host=127.0.0.1": "", "hostaddr=127.0.0.1": "", "port=5": "", "dbname=x": "", "user=u": "", "password=hunter2": "", "passfile=/none": "",
		"require_auth=scram-sha-256": "", "channel_binding=prefer": "", "connect_timeout=5": "", "client_encoding=UTF8": "server", "client_min_messages=error": "refused", "client_min_messages=warning": "server",
		"options=-c%20geqo%3Doff": "server", "application_name=x": "server", "fallback_application_name=x": "none", "keepalives=0": "",
		"keepalives=1": "", "keepalives_idle=10": "", "keepalives_interval=10": "", "keepalives_count=60": "", "tcp_user_timeout=5000": "",
		"replication=false": "none", "replication=database": "refused", "gssencmode=disable": "none", "gssencmode=prefer": "none", "gssencmode=require": "refused",
		"sslmode=disable": "", "sslnegotiation=postgres": "", "sslcompression=0": "none", "sslcompression=1": "none", "sslcert=": "", "sslkey=": "",
		"sslpassword=hunter2": "", "sslcertmode=allow": "", "sslrootcert=": "", "sslcrl=/x.crl": "refused", "sslcrldir=/x": "refused", "sslsni=1": "",
		"requirepeer=postgres": "refused", "ssl_min_protocol_version=TLSv1.3": "", "ssl_max_protocol_version=TLSv1.3": "", "ssl_min_protocol_version=SSLv3": "refused",
		"min_protocol_version=3.0": "", "max_protocol_version=3.0": "", "krbsrvname=postgres": "", "gsslib=gssapi": "none", "gssdelegation=0": "none",
		"gssdelegation=1": "refused", "scram_client_key=hunter2": "refused", "scram_server_key=hunter2": "refused", "sslkeylogfile=/x": "refused",
		"target_session_attrs=any": "", "load_balance_hosts=disable": "none", "load_balance_hosts=random": "refused", "keepalives_idle=soon": "refused",
		"oauth_issuer=https://x": "refused", "oauth_client_id=x": "refused", "oauth_client_secret=hunter2": "refused", "oauth_scope=x": "refused",
		"requiressl=1": "refused", "tcp_user_timeout=x": "refused", "hostaddr=localhost": "refused",
	} {
		name, _, _ := strings.Cut(parameter, "=")
		a, err := read(store.Target{Address: "postgres://127.0.0.1/d?" + parameter})
		if effect == "refused" {
			var refused *store.OptionError
			if !errors.As(err, &refused) || !strings.Contains(err.Error(), name) || refused.Want == "" {
				t.Errorf("%s: %v", parameter, err)
				continue
			}
			quiet(t, err)
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", parameter, err)
			continue
		}
		if _, sent := a.config.RuntimeParams[name]; sent != (effect == "server") {
			t.Errorf("%s: the server is sent %v", parameter, a.config.RuntimeParams)
		}
		if said := strings.Join(a.without, " "); (said == parameter) != (effect == "none") {
			t.Errorf("%s: without effect is said to be %q", parameter, said)
		}
	}
}

// TestTLSVersions hold for every way to the server.
func TestTLSVersions(t *testing.T) {
	config, _, err := parse(store.Target{Address: "postgres://h1,h2/d?sslmode=require&ssl_min_protocol_version=TLSv1.2&ssl_max_protocol_version=TLSv1.3"})
	expect.NoError(t, err)
	for _, c := range []*tls.Config{config.TLSConfig, config.Fallbacks[0].TLSConfig} {
		if c.MinVersion != tls.VersionTLS12 || c.MaxVersion != tls.VersionTLS13 {
			t.Errorf("from %x to %x", c.MinVersion, c.MaxVersion)
		}
	}
}

// TestHostaddr: names with given numbers are not looked up.
func TestHostaddr(t *testing.T) {
	u, err := url.Parse(server.Address())
	expect.NoError(t, err)
	openBank(t, store.Target{Address: "postgres://" + u.User.String() + "@no-such-host.invalid:" + u.Port() + "/postgres?sslmode=disable&hostaddr=" + u.Hostname()}).Close()
	openBank(t, store.Target{Address: "postgres://" + u.User.String() + "@/postgres?sslmode=disable&port=" + u.Port() + "&hostaddr=" + u.Hostname()}).Close()
	var refused *store.OptionError
	err = mustNotOpen(t, store.Target{Address: "postgres://u:hunter2@a,b/x?hostaddr=10.0.0.1"})
	if !errors.As(err, &refused) || refused.Option != "hostaddr" {
		t.Errorf("got %v", err)
	}
}

// TestFilesOfPostgresClients: service and password files, as for psql.
func TestFilesOfPostgresClients(t *testing.T) {
	u, err := url.Parse(server.Address())
	expect.NoError(t, err)
	folder := t.TempDir()
	passwords, services := filepath.Join(folder, "pgpass"), filepath.Join(folder, "services")
	line := strings.Join([]string{u.Hostname(), u.Port(), "*", "assay", strings.NewReplacer(`\`, `\\`, ":", `\:`).Replace(secret)}, ":")
	service := "[ours]\nhost=" + u.Hostname() + "\nport=" + u.Port() + "\nuser=assay\ndbname=postgres\nkeepalives_idle=7\ngssencmode=prefer\n"
	for path, text := range map[string]string{passwords: line + "\n", services: service} {
		expect.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	t.Setenv("PGPASSFILE", passwords)
	t.Setenv("PGSERVICEFILE", services)
	openBank(t, store.Target{Address: "postgres:///?service=ours"}).Close()
	t.Setenv("PGSERVICE", "ours")
	openBank(t, store.Target{Address: "postgres://"}).Close()
	t.Setenv("PGREQUIREAUTH", "none")
	err = mustNotOpen(t, store.Target{Address: "postgres://"})
	t.Setenv("PGREQUIREAUTH", "scram-sha-256")
	t.Setenv("PGCHANNELBINDING", "require") // without TLS there is nothing to bind to
	if other := mustNotOpen(t, store.Target{Address: "postgres://"}); err == nil || other == nil {
		t.Errorf("%v, %v", err, other)
	}
}

// FuzzAddress: no error shows the password.
func FuzzAddress(f *testing.F) {
	for _, query := range []string{"keepalives=1&hostaddr=1.2.3.4", "sslcrl=x", "oauth_client_secret=y&z", "host=a,b&port=1,2&hostaddr=::1", "%zz&hostaddr=a", "dialect=x&keepalives_idle=q", "password=other&sslmode=perhaps"} {
		f.Add("h1:1,h2", query)
	}
	f.Fuzz(func(t *testing.T, hosts, query string) {
		const password = "Corr3ct-Horse"
		if strings.Contains(hosts+query, password) {
			return
		}
		_, err := read(store.Target{Address: "postgres://u:" + password + "@" + hosts + "/d?" + query + "&oauth_client_secret=" + password})
		if err == nil {
			return
		}
		if strings.Contains(err.Error(), password) {
			t.Errorf("the error tells the password: %v", err)
		}
		var refused *store.OptionError
		if !errors.As(err, &refused) {
			t.Errorf("%T: %v", err, err)
		}
	})
}

// TestClientEncodingAuto: libpq's word for the locale's encoding is not sent.
func TestClientEncodingAuto(t *testing.T) {
	for _, address := range []string{"postgres://127.0.0.1/d?client_encoding=auto", "host=127.0.0.1 dbname=d client_encoding=auto"} {
		a, err := read(store.Target{Address: address})
		expect.NoError(t, err)
		if got := a.config.RuntimeParams["client_encoding"]; got != "UTF8" {
			t.Errorf("%s: %q", address, got)
		}
	}
}

// TestPlusInAddresses: libpq takes a plus for a plus.
func TestPlusInAddresses(t *testing.T) {
	for _, address := range []string{"postgres://h/d?timezone=Etc/GMT+5", "postgres://h/d?hostaddr=127.0.0.1&timezone=Etc/GMT+5", "postgres://h/d?timezone=Etc/GMT%2B5"} {
		a, err := read(store.Target{Address: address})
		expect.NoError(t, err)
		if got := a.config.RuntimeParams["timezone"]; got != "Etc/GMT+5" {
			t.Errorf("%s: %q", address, got)
		}
	}
}
