package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"assay/internal/expect"
)

// serverLogs are logs of real servers.
func serverLog(t *testing.T, name string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("..", "..", "workload", "replay", "serverlog", "testdata", name))
	expect.NoError(t, err)
	return path
}

func TestCapture(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, c := range []struct{ log, want string }{
		{"postgres-dur.log", `10 sessions, 15 transactions, 50 statements in 0.6 s, from stderr with the prefix "%m [%p] "`},
		{"postgres-dur.csv", "50 statements in 0.6 s, from csvlog"},
		{"postgres-all.json", "52 statements in 0.4 s, from jsonlog"},
		{"mariadb.log", "13 statements in 0.0 s, from mysql-general"},
	} {
		e := assay(t, dir, "capture", serverLog(t, c.log), "-o", c.log+".replay")
		e.want(t, exitValid)
		expect.Text(t, c.log, e.stdout, c.want, "left out: ", "statements that carry a password")
		if text := readFile(t, dir, c.log+".replay"); strings.Contains(text, "hunter") || !strings.HasPrefix(text, `{"recording":1,`) {
			t.Errorf("%s: a password or no head is in the file", c.log)
		}
	}
	both := assay(t, dir, "capture", serverLog(t, "postgres-dur.csv"), serverLog(t, "postgres-all.csv"))
	both.want(t, exitValid)
	expect.Text(t, "two logs", both.stdout, `"logs":["postgres-dur.csv","postgres-all.csv"]`, `"statements":102`)
	expect.Text(t, "two logs", both.stderr, "standard output: ")
}

func TestCaptureIsRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeFile(t, "nothing\n", dir, "there")
	writeFile(t, "hello\nworld\n", dir, "no.log")
	log := serverLog(t, "postgres-dur.log")
	for _, c := range []struct {
		args []string
		want string
	}{
		{nil, "which log?"},
		{[]string{log, "-o", "there"}, "exists"},
		{[]string{"missing.log"}, "missing.log"},
		{[]string{"no.log", "-o", "left"}, "--prefix"},
		{[]string{log, "--format", "syslog"}, "--format"},
		{[]string{log, "--format", "csvlog", "-o", "left"}, "cannot be read"},
		{[]string{log, "--prefix", "%m %z", "-o", "left"}, "%z"},
	} {
		e := assay(t, dir, append([]string{"capture"}, c.args...)...)
		e.want(t, exitUsage)
		expect.Text(t, c.args, e.stderr, c.want)
	}
	if _, err := os.Stat(filepath.Join(dir, "left")); err == nil {
		t.Error("a capture that was refused has left a file")
	}
}
