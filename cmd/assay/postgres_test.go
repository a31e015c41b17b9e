package main

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"assay/check"
	"assay/cluster/postgres"
	"assay/cluster/server"
	"assay/history"
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

// newDatabase makes a database on the server and returns its address.
func newDatabase(t *testing.T, server *postgres.Server, name string) string {
	t.Helper()
	execute(t, connect(t, server.Address()), "CREATE DATABASE "+name)
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
		"wrong-password":      testWrongPassword,
		"secret-password":     testSecretPassword,
		"foreign-schema":      testForeignSchema,
		"others-in-schema":    testOthersInSchema,
		"blocked":             testBlocked,
		"isolation-matrix":    testIsolationMatrix,
		"killed":              testKilledOnPostgres,
		"interrupted-loading": testInterruptedLoadingOnPostgres,
		"two-runs": func(t *testing.T, server *postgres.Server) {
			testTwoRuns(t, newDatabase(t, server, "two_runs"))
		},
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
		e := start(t, c).wait().want(t, exitCannotRun)
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
	e = start(t, command{dir: dir, env: []string{"ASSAY_DB=" + address}, args: []string{"check", "run"}}).wait().sound(t, filepath.Join(dir, "run"))
	keepsSecret(t, e, dir)
	e = start(t, command{dir: dir, env: []string{"ASSAY_DB=" + address},
		args: []string{"run", "bank", "--scenario", "run/scenario.yaml", "--drop", "--out", "again"}}).wait().sound(t, filepath.Join(dir, "again"))
	keepsSecret(t, e, dir)
	var left int
	err := connect(t, address).QueryRow(patiently(t), "SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'assay%'").Scan(&left)
	if err != nil || left != 0 {
		t.Errorf("--drop left %d schemas: %v", left, err)
	}
	e = start(t, command{dir: dir, args: []string{"run", "bank", "--db", address, "--accounts", "100", "--ops", "300", "--out", "byflag"}}).wait().sound(t, filepath.Join(dir, "byflag"))
	keepsSecret(t, e, dir)
}

func testForeignSchema(t *testing.T, server *postgres.Server) {
	address := newDatabase(t, server, "somebodys")
	conn := connect(t, address)
	execute(t, conn, "CREATE SCHEMA assay_bank")
	execute(t, conn, "CREATE TABLE assay_bank.account AS SELECT 7 AS id, 'precious' AS note")
	dir := t.TempDir()
	for _, drop := range []string{"--drop=false", "--drop"} {
		e := start(t, command{dir: dir, env: []string{"ASSAY_DB=" + address}, args: []string{"run", "bank", drop, "--out", "run"}}).wait().want(t, exitCannotRun)
		said := e.complaint(t)
		expect.Text(t, "the complaint", said, "assay_bank", "not made by assay", "untouched")
	}
	var id int
	var note string
	err := conn.QueryRow(patiently(t), "SELECT id, note FROM assay_bank.account").Scan(&id, &note)
	if err != nil || id != 7 || note != "precious" {
		t.Errorf("the table now holds %d %q: %v", id, note, err)
	}
	if _, err := os.Stat(filepath.Join(dir, "run")); err == nil {
		t.Error("a folder was left")
	}
}

// inPostgres asks the database itself for the ids of its transfers.
func inPostgres(t *testing.T, address string) map[int64]bool {
	t.Helper()
	rows, err := connect(t, address).Query(patiently(t), "SELECT id FROM assay_bank.transfer")
	expect.NoError(t, err)
	all, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	expect.NoError(t, err)
	ids := map[int64]bool{}
	for _, id := range all {
		ids[id] = true
	}
	return ids
}

func testKilledOnPostgres(t *testing.T, server *postgres.Server) {
	address, dir := newDatabase(t, server, "killed"), t.TempDir()
	at := killed(t, dir, address)
	judgeKilled(t, dir, address, at, func() map[int64]bool { return inPostgres(t, address) })
}

func testInterruptedLoadingOnPostgres(t *testing.T, server *postgres.Server) {
	address, dir := newDatabase(t, server, "interrupted"), t.TempDir()
	interruptLoading(t, dir, address)
	afterInterruptedLoading(t, dir, address)
}

// TestPostgresIsKilled: a power cut of the database in the middle of the work.
func TestPostgresIsKilled(t *testing.T) {
	t.Parallel()
	server := startPostgres(t)
	dir := t.TempDir()
	p := start(t, command{dir: dir, env: []string{"ASSAY_DB=" + server.Address()}, args: []string{"run", "bank", "--clients", "8",
		"--accounts", "1000", "--warmup", "500ms", "--duration", "5m", "--timeout", "5s", "--out", "run"}})
	p.until(working)
	expect.NoError(t, server.Kill())
	dead := time.Now()
	expect.NoError(t, server.Restart(patiently(t)))
	p.committing(7)
	p.signal(syscall.SIGINT)
	survived(t, p.wait().want(t, exitValid, exitNoVerdict), filepath.Join(dir, "run"), 8, dead)
}

// survived wants a run that has met the death of its database, at the time
// given, to be valid all the same, and each of its clients to have gone on.
func survived(t *testing.T, e ended, folder string, clients int, dead time.Time) {
	t.Helper()
	r := resultOf(t, folder)
	if r.Verdict != check.Valid {
		t.Errorf("the verdict is %v: %v", r.Verdict, e)
	}
	if r.Outcomes.Failed+r.Outcomes.Unknown == 0 {
		t.Errorf("nobody noticed: %+v", r.Outcomes)
	}
	var since int64 // on the run's clock
	after := map[int]int{}
	_, err := history.Read(filepath.Join(folder, "history.bin"), history.Visitor{
		Header: func(h history.Header) error { since = dead.UnixNano() - h.Started; return nil },
		Op: func(op *history.Op) error {
			if op.Final == history.Committed && op.Kind == bank.KindTransfer && op.Start > since {
				after[op.Client]++
			}
			return nil
		},
	})
	expect.NoError(t, err)
	for client := range clients {
		if after[client] == 0 {
			t.Errorf("client %d was lost: nothing committed after the database was back, by others %v", client, after)
		}
	}
	var later int64
	for i, start := range r.Series.Start {
		if start*1e9 > float64(since) {
			later += r.Series.Committed[i]
		}
	}
	if later == 0 {
		t.Error("the series shows no commit after the database was back")
	}
}

// TestUnreachable: nobody there, and somebody who never answers.
func TestUnreachable(t *testing.T) {
	t.Parallel()
	silent, err := net.Listen("tcp4", "127.0.0.1:0")
	expect.NoError(t, err)
	defer silent.Close() // whoever connects waits in its queue
	closed, err := new(server.Ports).Next()
	expect.NoError(t, err)
	for _, host := range []string{silent.Addr().String(), fmt.Sprintf("127.0.0.1:%d", closed)} {
		for _, address := range []string{"postgres://u:hunter2@" + host + "/x", "mongodb://u:hunter2@" + host + "/"} {
			dir := t.TempDir()
			e := start(t, command{dir: dir, args: []string{"run", "bank", "--connect-timeout", "1s", "--out", "run"}, env: []string{"ASSAY_DB=" + address}}).wait().want(t, exitCannotRun)
			said := e.complaint(t)
			expect.Text(t, "the complaint", said, "cannot reach", host, "check that the server runs")
			keepsSecret(t, e, dir)
			if left := files(t, dir); left != "" {
				t.Errorf("%s was left", left)
			}
		}
	}
}
