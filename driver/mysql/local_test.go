package mysql

import (
	"errors"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"assay/driver/uri"
	"assay/internal/expect"
	"assay/store"
	"assay/workload/bank"
)

// TestSocketsInAddresses: all ways to write the same socket.
func TestSocketsInAddresses(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	for _, address := range []string{
		"mysql://u:p@localhost/?socket=/run/a.sock", "mysql://u:p@localhost/?socket=%2Frun%2Fa.sock", "mysql://u:p@%2Frun%2Fa.sock/",
		"mariadb://u:p@%2frun%2Fa.sock", "mysql://u:p@unix(/run/a.sock)/", "mysql://u:p@unix(/run/a.sock)", "mysql://u:p@unix(/run/a.sock)/?engine=InnoDB",
		"mysql://u:p@(/run/a.sock)/", "mysql://u:p@(/run/a.sock)",
	} {
		s, err := parse(store.Target{Address: address})
		if err != nil || !slices.Equal(s.hosts, []string{"/run/a.sock"}) || s.user != "u" || s.password != "p" || NetworkOf(s.hosts[0]) != "unix" || strings.Contains(s.printable, ":p@") {
			t.Errorf("%s: %+v, %v", address, s, err)
		}
	}
	for _, address := range []string{
		"mysql://u:hunter2@localhost/?socket=a.sock", "mysql://u:hunter2@db.example/?socket=/run/a.sock", "mysql://u:hunter2@localhost:3307/?socket=/run/a.sock",
		"mysql://u:hunter2@localhost,b/?socket=/run/a.sock", "mysql://u:hunter2@%2Frun%2Fa.sock,b/", "mysql://u:hunter2@%2Frun%2Fa.sock/?socket=/run/b",
	} {
		s, err := parse(store.Target{Address: address})
		if refused := (*store.OptionError)(nil); !errors.As(err, &refused) {
			t.Errorf("%s: %+v, %v", address, s, err)
			continue
		}
		quietError(t, err)
	}
}

func TestThroughASocket(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	socket := filepath.Join(node.Node(0).Dir, "data", "mariadb.sock")
	if _, err := os.Stat(socket); err != nil {
		t.Fatal(err)
	}
	db := openBank(t, store.Target{Address: "mysql://" + url.UserPassword("assay", secret).String() + "@" + url.PathEscape(socket) + "/"})
	defer db.Close()
	expect.NoError(t, db.Create(t.Context(), store.Marker{Run: "socket", Workload: "bank"}))
	s, err := db.Session(t.Context())
	expect.NoError(t, err)
	s.Close()
	expect.NoError(t, db.Settle(t.Context()), db.Drop(t.Context()))
	missing := store.Target{Address: "mysql://u:hunter2@%2Fnone%2Fa.sock/"}
	_, err = Open(t.Context(), missing, bank.Schema())
	if unreachable := (*store.UnreachableError)(nil); !errors.As(err, &unreachable) {
		t.Errorf("got %v", err)
	}
	quietError(t, err)
}

func home(t *testing.T, mode os.FileMode, lines ...string) {
	t.Helper()
	folder := t.TempDir()
	path := filepath.Join(folder, ".my.cnf")
	expect.NoError(t, os.WriteFile(path, []byte(strings.Join(lines, "\n")), 0o600))
	expect.NoError(t, os.Chmod(path, mode))
	t.Setenv("HOME", folder)
}

// TestOptionsOfTheUser: the file and the environment fill only what the address leaves open.
func TestOptionsOfTheUser(t *testing.T) {
	file := []string{"[mysqld]", "user=mysql", "port=1", "[client]", "user = filed", `password = "hun#ter2"`, "host=db.example", "port=3310", "# password=none", "ssl_ca=", "[mysql]", "password=other"}
	type found struct{ user, password, host string }
	for name, c := range map[string]struct {
		file     []string
		mode     os.FileMode
		variable string
		address  string
		want     found
	}{
		"all of it":            {file, 0o600, "", "mysql://", found{"filed", "hun#ter2", "db.example:3310"}},
		"all of it, slashes":   {file, 0o600, "", "mysql:///?engine=InnoDB", found{"filed", "hun#ter2", "db.example:3310"}},
		"the address's host":   {file, 0o600, "", "mysql://h/", found{"filed", "hun#ter2", "h:3306"}},
		"the address's user":   {file, 0o600, "", "mysql://u@h/", found{"u", "hun#ter2", "h:3306"}},
		"an empty password":    {file, 0o600, "other", "mysql://u:@h/", found{"u", "", "h:3306"}},
		"the address's":        {file, 0o600, "other", "mysql://u:p@h/", found{"u", "p", "h:3306"}},
		"the environment":      {nil, 0o600, "hunter2", "mysql://u@h/", found{"u", "hunter2", "h:3306"}},
		"the file before it":   {file, 0o600, "other", "mysql://u@h/", found{"u", "hun#ter2", "h:3306"}},
		"open to all":          {file, 0o666, "", "mysql://u@h/", found{"u", "", "h:3306"}},
		"a socket":             {[]string{"[client]", "socket=/run/a.sock", "user=u"}, 0o600, "", "mysql://", found{"u", "", "/run/a.sock"}},
		"nothing":              {nil, 0o600, "", "mysql://", found{"", "", "localhost:3306"}},
		"MariaDB's own groups": {[]string{"[client-mariadb]", "password=a\\sb"}, 0o600, "", "mysql://u@h/", found{"u", "a b", "h:3306"}},
	} {
		t.Run(name, func(t *testing.T) {
			home(t, c.mode, c.file...)
			t.Setenv("MYSQL_PWD", c.variable)
			s, err := parse(store.Target{Address: c.address})
			expect.NoError(t, err)
			if got := (found{s.user, s.password, s.hosts[0]}); got != c.want || len(s.hosts) != 1 {
				t.Errorf("%+v, want %+v", got, c.want)
			}
			if s.password != "" && strings.Contains(s.printable, s.password) && s.password != "p" {
				t.Errorf("%s tells the password", s.printable)
			}
		})
	}
	home(t, 0o600, "[client]", "host=a b c", "password=hunter2")
	_, err := parse(store.Target{Address: "mysql://"})
	if refused := (*store.OptionError)(nil); !errors.As(err, &refused) || !strings.Contains(err.Error(), ".my.cnf") {
		t.Errorf("got %v", err)
	} else {
		quietError(t, err)
	}
}

func TestFilesOfOptions(t *testing.T) {
	text := "[client]\r\nssl-verify_server_cert\npassword='a \\\\ b' \nuser=x # a comment\n[client]\nuser=y\n!include /etc/other\n;host=z\n[mysqldump]\nuser=q"
	want := map[string]string{"ssl-verify-server-cert": "", "password": `a \ b`, "user": "y"}
	if got := readClientOptions([]byte(text)); !maps.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// TestEncryptionOfTheUser: the file's encryption is used also for a host that the address names,
// never against the address's word, and never in a form that is refused.
func TestEncryptionOfTheUser(t *testing.T) {
	folder := t.TempDir()
	name := func(file string) string { return filepath.Join(folder, file) }
	for _, c := range []struct {
		file    []string
		address string
		want    map[string]string
	}{
		{[]string{"ssl-mode=VERIFY_CA", "ssl-ca=" + name("ca")}, "mysql://u@db.example/", map[string]string{"ssl-mode": "VERIFY_CA", "ssl-ca": name("ca")}},
		{[]string{"ssl-ca=" + name("ca")}, "mysql://u@db.example/", map[string]string{"ssl-mode": "VERIFY_CA", "ssl-ca": name("ca")}},
		{[]string{"ssl-ca=" + name("ca")}, "mysql://", map[string]string{"ssl-mode": "VERIFY_CA", "ssl-ca": name("ca")}},
		{[]string{"ssl-ca=" + name("ca"), "ssl-verify-server-cert"}, "mysql://u@db.example/", map[string]string{"ssl-mode": "VERIFY_IDENTITY", "ssl-ca": name("ca")}},
		{[]string{"ssl-mode=required", "ssl-ca=" + name("ca")}, "mysql://u@db.example/", map[string]string{"ssl-mode": "REQUIRED"}},
		{[]string{"ssl", "ssl-cert=" + name("c"), "ssl-key=" + name("k")}, "mysql://u@db.example/", map[string]string{"ssl-mode": "REQUIRED", "ssl-cert": name("c"), "ssl-key": name("k")}},
		{[]string{"skip-ssl", "ssl-ca=" + name("ca")}, "mysql://u@db.example/", map[string]string{"ssl-mode": "DISABLED"}},
		{[]string{"ssl-mode=VERIFY_CA", "ssl-ca=" + name("ca")}, "mysql://u@db.example/?tls=false", map[string]string{"tls": "false"}},
		{[]string{"ssl-mode=VERIFY_CA", "ssl-ca=" + name("ca"), "ssl-cert=" + name("c"), "ssl-key=" + name("k")}, "mysql://u@db.example/?ssl-mode=DISABLED", map[string]string{"ssl-mode": "DISABLED"}},
		{[]string{"ssl-mode=VERIFY_CA", "ssl-ca=" + name("ca")}, "mysql://u@db.example/?ssl-mode=REQUIRED", map[string]string{"ssl-mode": "REQUIRED"}},
		{[]string{"ssl-mode=REQUIRED"}, "mysql://u@db.example/?ssl-ca=/mine", map[string]string{"ssl-ca": "/mine"}},
		{[]string{"ssl-mode=VERIFY_CA", "ssl-ca=" + name("ca")}, "mysql://u:p@127.0.0.1:3307/", map[string]string{}},
		{[]string{"user=x"}, "mysql://u@db.example/", map[string]string{}},
	} {
		home(t, 0o600, append([]string{"[client]"}, c.file...)...)
		plain, named := plainForm(c.address)
		a, err := uri.Parse(plain, wantAddress, defaultPort, "mysql")
		expect.NoError(t, err)
		expect.NoError(t, new(settings).fillIn(a, a.WithPassword, named))
		if !maps.Equal(a.Options, uri.Options(c.want)) {
			t.Errorf("%q, %s: %v, want %v", c.file, c.address, a.Options, c.want)
		}
	}
}
