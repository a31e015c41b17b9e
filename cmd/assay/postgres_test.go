package main

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"assay/cluster/postgres"
	"assay/cluster/server"
	"assay/internal/expect"
	"assay/workload/bank"
)

// password is that of the test server. No file and no line of output may hold
// it, as it is or encoded for an address.
const password = "hunter2/and:more@than?that#%"

// patiently bounds what a test does beside the program.
func patiently(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

func startPostgres(t *testing.T) *postgres.Server {
	t.Helper()
	server, err := postgres.Start(patiently(t), postgres.Options{Password: password})
	expect.NoError(t, err)
	expect.AtEnd(t, server.Close)
	return server
}

func connect(t *testing.T, address string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(patiently(t), address)
	expect.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close(context.Background()) }) // the server may be gone
	return conn
}

func execute(t *testing.T, conn *pgx.Conn, sql string) {
	t.Helper()
	if _, err := conn.Exec(patiently(t), sql); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

// common is one PostgreSQL for all tests that have databases of their own on it: the first of them
// starts it, and it ends after the last test.
var common struct {
	start  sync.Once
	server *postgres.Server
	err    error
}

// databaseOf makes a database of the test's own on the common server and returns its address. The name
// may be followed by more of CREATE DATABASE.
func databaseOf(t *testing.T, name string) string {
	t.Helper()
	common.start.Do(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		common.server, common.err = postgres.Start(ctx, postgres.Options{Password: password})
	})
	expect.NoError(t, common.err)
	address := newDatabase(t, common.server, name)
	name, _, _ = strings.Cut(name, " ")
	t.Cleanup(func() { execute(t, connect(t, common.server.Address()), "DROP DATABASE "+name+" WITH (FORCE)") })
	return address
}

// newDatabase makes a database on the server and returns its address.
func newDatabase(t *testing.T, server *postgres.Server, name string) string {
	t.Helper()
	execute(t, connect(t, server.Address()), "CREATE DATABASE "+name)
	name, _, _ = strings.Cut(name, " ")
	return changed(t, server.Address(), func(u *url.URL) { u.Path = "/" + name })
}

func changed(t *testing.T, address string, change func(*url.URL)) string {
	t.Helper()
	u, err := url.Parse(address)
	expect.NoError(t, err)
	change(u)
	return u.String()
}

// keepsSecret looks for the password in all that a run has said and written.
func keepsSecret(t *testing.T, e ended, dir string) {
	t.Helper()
	secrets := []string{password, url.QueryEscape(password), url.PathEscape(password), "hunter2"}
	look := func(where, text string) {
		for _, secret := range secrets {
			if strings.Contains(text, secret) {
				t.Errorf("the password is in %s", where)
				return
			}
		}
	}
	look("the output", e.stdout+e.stderr)
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		look(path, readFile(t, path))
		return nil
	})
	expect.NoError(t, err)
}

func TestPostgres(t *testing.T) {
	t.Parallel()
	server := startPostgres(t)
	for name, test := range map[string]func(*testing.T, *postgres.Server){
		"wrong-password":   testWrongPassword,
		"secret-password":  testSecretPassword,
		"blocked":          testBlocked,
		"isolation-matrix": testIsolationMatrix,
	} {
		t.Run(name, func(t *testing.T) { test(t, server) })
	}
}

func testWrongPassword(t *testing.T, server *postgres.Server) {
	address := changed(t, server.Address(), func(u *url.URL) { u.User = url.UserPassword("assay", password+"wrong") })
	for _, c := range []command{
		{args: []string{"run", "bank", "--db", address}},
		{args: []string{"run", "bank", "--out", "run"}, env: []string{"ASSAY_DB=" + address}},
	} {
		c.dir = t.TempDir()
		e := ends(t, c).want(t, exitCannotRun)
		said := e.complaint(t)
		expect.Text(t, "the complaint", said, `user "assay"`, "ASSAY_DB", "127.0.0.1")
		keepsSecret(t, e, c.dir)
		if _, err := os.Stat(filepath.Join(c.dir, "run")); err == nil {
			t.Error("a folder was left for a run that could not begin")
		}
	}
}

func testSecretPassword(t *testing.T, server *postgres.Server) {
	address := newDatabase(t, server, "secret")
	dir := t.TempDir()
	p := start(t, command{dir: dir, env: []string{"ASSAY_DB=" + address},
		args: []string{"run", "bank", "--accounts", "100", "--duration", "1s", "--warmup", "1s", "--out", "run"}})
	p.until(working)
	arguments := readFile(t, "/proc", fmt.Sprint(p.cmd.Process.Pid), "cmdline")
	if !strings.Contains(arguments, "bank") || strings.Contains(arguments, "hunter2") {
		t.Errorf("the process list says %q", arguments)
	}
	e := p.wait().sound(t, filepath.Join(dir, "run"))
	keepsSecret(t, e, dir)
	// What is kept is not enough to read the database again, and says so.
	expect.NoError(t, os.Remove(filepath.Join(dir, "run", bank.FileState)))
	expect.Text(t, "the complaint", assay(t, dir, "check", "run").want(t, exitUsage).complaint(t), "ASSAY_DB")
	expect.Text(t, "the complaint", assay(t, dir, "run", "bank", "--scenario", "run/scenario.yaml").want(t, exitUsage).complaint(t), "ASSAY_DB")
	e = ends(t, command{dir: dir, env: []string{"ASSAY_DB=" + address}, args: []string{"check", "run"}}).sound(t, filepath.Join(dir, "run"))
	keepsSecret(t, e, dir)
	e = ends(t, command{dir: dir, env: []string{"ASSAY_DB=" + address},
		args: []string{"run", "bank", "--scenario", "run/scenario.yaml", "--drop", "--out", "again"}}).sound(t, filepath.Join(dir, "again"))
	keepsSecret(t, e, dir)
	var left int
	err := connect(t, address).QueryRow(patiently(t), "SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'assay%'").Scan(&left)
	if err != nil || left != 0 {
		t.Errorf("--drop left %d schemas: %v", left, err)
	}
	e = ends(t, command{dir: dir, args: []string{"run", "bank", "--db", address, "--accounts", "100", "--ops", "300", "--out", "byflag"}}).sound(t, filepath.Join(dir, "byflag"))
	keepsSecret(t, e, dir)
}

// TestUnreachable: nobody there, and somebody who never answers.
func TestUnreachable(t *testing.T) {
	t.Parallel()
	silent, err := net.Listen("tcp4", "127.0.0.1:0")
	expect.NoError(t, err)
	defer silent.Close() // whoever connects waits in its queue
	closed, err := new(server.Ports).Next()
	expect.NoError(t, err)
	for host, scheme := range map[string]string{silent.Addr().String(): "postgres", fmt.Sprintf("127.0.0.1:%d", closed): "mongodb"} {
		dir := t.TempDir()
		e := ends(t, command{dir: dir, args: []string{"run", "bank", "--connect-timeout", "1s", "--out", "run"}, env: []string{"ASSAY_DB=" + scheme + "://u:hunter2@" + host + "/x"}}).want(t, exitCannotRun)
		expect.Text(t, "the complaint", e.complaint(t), "cannot reach", host, "check that the server runs")
		keepsSecret(t, e, dir)
		if left := files(t, dir); left != "" {
			t.Errorf("%s was left", left)
		}
	}
}
