package mysql

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"assay/driver/uri"
	"assay/store"
)

// quietError fails if an error, however printed, shows the password or a telling part of it.
func quietError(t *testing.T, err error) {
	t.Helper()
	for _, text := range []string{err.Error(), fmt.Sprintf("%+v", err), fmt.Sprintf("%#v", err)} {
		for _, part := range []string{secret, url.QueryEscape(secret), "s3cr", "hunter"} {
			if strings.Contains(text, part) {
				t.Errorf("the error tells the password: %s", text)
			}
		}
	}
}

func manyHosts(n int) string {
	hosts := make([]string, n)
	for i := range hosts {
		hosts[i] = fmt.Sprintf("h%d", i)
	}
	return strings.Join(hosts, ",")
}

func TestAddressesThatCannotBeUsed(t *testing.T) {
	for _, address := range []string{
		"mysql://assay:" + secret + "@127.0.0.1:5/", // not percent-encoded
		"mysql://assay:hunter2@127.0.0.1:port/", "mysql://assay:hunter2@127.0.0.1:0/", "mysql://assay:hunter2@127.0.0.1:70000/",
		"mysql://assay:hunter%@127.0.0.1/", "mysql://assay:hunter2@[::1/", "mysql://assay:hunter2@[::1]x/", "mysql://assay:hunter2@[nobody]/",
		"mysql://assay:hunter2@/", "mysql://assay:hunter2@a,,b/", "mysql://assay:hunter2@a b/", "mysql://a@b:hunter2@c/",
		"mysql:assay:hunter2@a", "postgres://assay:hunter2@a/", "mysql://assay:hunter2@a/x/y", "mysql://assay:hunter2@a/#hunter2",
		"mysql://" + manyHosts(uri.MostHosts+1),
		"mysql://assay:hunter2@a/?engine=%zz", "mysql://assay:hunter2@a/?balance=hunger", "mysql://assay:hunter2@a/?tls=perhaps",
		"mysql://assay:hunter2@a/?ssl-mode=required", "mysql://assay:hunter2@a/?ssl-mode=REQUIRED&tls=true", "mysql://assay:hunter2@a/?ssl-capath=x",
		"mysql://assay:hunter2@a/?ssl-ca=none.pem", "mysql://assay:hunter2@a/?ssl-mode=DISABLED&ssl-ca=x", "mysql://assay:hunter2@a/?ssl-mode=REQUIRED&ssl-ca=x",
		"mysql://assay:hunter2@a/?balance=random&balance=order", "mysql://assay:hunter2@a/?readTimeout=5s",
		"mysql://assay:hunter2@a/?autocommit=0", "mysql://assay:hunter2@a/?tx_isolation=SERIALIZABLE", "mysql://assay:hunter2@a/?sql_mode=",
		"mysql://assay:hunter2@a/?time_zone=%27;DROP", "mysql://assay:hunter2@a/?x=hunter2'",
	} {
		_, err := parse(store.Target{Address: address})
		if refused := (*store.OptionError)(nil); !errors.As(err, &refused) || refused.Want == "" {
			t.Errorf("%s: %v; want *store.OptionError", address, err)
			continue
		}
		quietError(t, err)
	}
}

func TestAddresses(t *testing.T) {
	for address, want := range map[string]settings{
		"mysql://host": {hosts: []string{"host:3306"}, encryption: encryptionSettings{mode: sslDisabled}},
		"mariadb://u:p%40%3A%2F@h1:1,h2,[::1]:3,[::2],h2:3306/": {user: "u", password: "p@:/",
			hosts: []string{"h1:1", "h2:3306", "[::1]:3", "[::2]:3306"}},
		"mysql://u@127.0.0.1/my%20db?engine=RocksDB&balance=random&tls=skip-verify": {user: "u", hosts: []string{"127.0.0.1:3306"},
			database: "my db", engine: "RocksDB", anyHost: true,
			encryption: encryptionSettings{mode: sslRequired}},
		"mysql://h/?wsrep_sync_wait=1&max_statement_time=0.5&default_week_format=": {hosts: []string{"h:3306"},
			variables: []variable{{"default_week_format", ""}, {"max_statement_time", "0.5"}, {"wsrep_sync_wait", "1"}}},
	} {
		got, err := parse(store.Target{Address: address})
		if err != nil {
			t.Errorf("%s: %v", address, err)
			continue
		}
		if got.user != want.user || got.password != want.password || got.database != want.database || got.engine != want.engine ||
			got.anyHost != want.anyHost || got.encryption.mode != cmp.Or(want.encryption.mode, sslDisabled) || !slices.Equal(got.hosts, want.hosts) ||
			!slices.Equal(got.variables, want.variables) || got.connectTimeout != store.DefaultConnectTimeout {
			t.Errorf("%s: %+v", address, got)
		}
	}
	for v, want := range map[variable]string{{"a", "1"}: "a = 1", {"a", "-0.5"}: "a = -0.5", {"a", "ON"}: "a = 'ON'", {"a", ""}: "a = ''", {"a", "1e5"}: "a = '1e5'"} {
		if got := v.assignment(); got != want {
			t.Errorf("%+v: %s, want %s", v, got, want)
		}
	}
}

func TestIsolationLevels(t *testing.T) {
	for given, want := range map[string]string{
		"": "", "read committed": readCommitted, "Read-Committed": readCommitted, "READ_UNCOMMITTED": readUncommitted,
		"repeatable-read": repeatableRead, "SERIALIZABLE": serializable,
	} {
		if got, err := isolationLevel(given); err != nil || got != want {
			t.Errorf("%q: %q, %v", given, got, err)
		}
	}
	_, err := parse(store.Target{Address: "mysql://h/", Isolation: "snapshot"})
	if refused := (*store.OptionError)(nil); !errors.As(err, &refused) || refused.Value != "snapshot" || !strings.Contains(refused.Want, "repeatable read") {
		t.Errorf("got %v", err)
	}
}

func TestVersionsThatKeepConstraints(t *testing.T) {
	for version, want := range map[string]bool{
		"10.11.19-MariaDB-0+deb12u1": true, "5.5.5-10.2.1-MariaDB": true, "10.2.0-MariaDB": false, "11.8.3-MariaDB-log": true,
		"8.0.16": true, "8.0.15": false, "9.7.1": true, "8.4.0-commercial": true, "5.7.44-log": false, "new": false, "": false,
	} {
		s := server{name: "x", version: version, mariadb: strings.Contains(version, "MariaDB")}
		if err := dialectOf("", s.version).sufficient(s); (err == nil) != want {
			t.Errorf("%q: %v", version, err)
		}
	}
}

// FuzzAddress: no output shows the password, and an accepted address round-trips.
func FuzzAddress(f *testing.F) {
	for _, address := range []string{
		"mysql://u:hunter2@h1:1,h2/?engine=x&balance=random", "mariadb://u:hunter2@[::1]:5/db", "mysql://u:hun%40ter2@h/?a=b;c",
		"mysql://", "mysql://@", "mysql://:hunter2@,", "mysql://u:hunter2@h?x=%", "mysql://u:hunter2@h/#",
		"mysql://u:hunter2@unix(/a/b)/", "mysql://u:hunter2@%2Fa%2Fb/?socket=/c", "mysql://u:hunter2@localhost/?socket=%",
	} {
		f.Add(address)
	}
	f.Setenv("HOME", f.TempDir())
	f.Fuzz(func(t *testing.T, address string) {
		s, err := parse(store.Target{Address: address})
		if err != nil {
			if refused := (*store.OptionError)(nil); !errors.As(err, &refused) {
				t.Errorf("%T", err)
			}
			return
		}
		if len(s.hosts) == 0 || len(s.hosts) > uri.MostHosts {
			t.Errorf("hosts %q", s.hosts)
		}
		if len(s.password) > 3 && !strings.Contains(s.user+strings.Join(s.hosts, ",")+s.database, s.password) && strings.Contains(s.printable, ":"+s.password+"@") {
			t.Errorf("%s tells the password", s.printable)
		}
		for _, v := range s.variables {
			if text := v.assignment(); strings.Count(text, "'")%2 != 0 || strings.ContainsAny(text, ";\\\x00\n") {
				t.Errorf("assignment %q", text)
			}
		}
		again := url.UserPassword(s.user, s.password).String() + "@" + strings.Join(s.hosts, ",") + "/" + url.PathEscape(s.database)
		if strings.ContainsAny(s.database, "/@") || s.user == "" || NetworkOf(s.hosts[0]) == "unix" {
			return
		}
		second, err := parse(store.Target{Address: "mysql://" + again})
		if err != nil || second.user != s.user || second.password != s.password || !slices.Equal(second.hosts, s.hosts) || second.database != s.database {
			t.Errorf("%q was read as %+v, which is written as %q and read as %+v, %v", address, s, again, second, err)
		}
	})
}

// TestHostsByChance: the seed decides a session's first host, and each host is first at times.
func TestHostsByChance(t *testing.T) {
	firsts := func(seed uint64) (names []string) {
		p := &schema{settings: &settings{seed: seed}, hosts: []*host{{name: "a"}, {name: "b"}, {name: "c"}}}
		for range 64 {
			hosts := p.order(true)
			if len(hosts) != 3 {
				t.Fatalf("%d hosts of 3", len(hosts))
			}
			names = append(names, hosts[0].name)
		}
		return names
	}
	one, again, other := firsts(1), firsts(1), firsts(2)
	if !slices.Equal(one, again) || slices.Equal(one, other) {
		t.Errorf("seed 1: %v and %v; seed 2: %v", one, again, other)
	}
	for _, name := range []string{"a", "b", "c"} {
		if !slices.Contains(one, name) {
			t.Errorf("%s never comes first", name)
		}
	}
}
