package main

import (
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"assay/application"
	"assay/internal/expect"
)

// TestAKilledProxyConvictsNobody: what assay leaves that is killed while an event is tried is no verdict.
func TestAKilledProxyConvictsNobody(t *testing.T) {
	t.Parallel()
	s := openShop(t, databaseOf(t, "killed"))
	e := start(t, command{dir: s.dir, env: s.env, messy: true, args: []string{"app", "--reset", s.reset, "--tries", "1", "--out", "out", "--",
		"sh", "-c", `n=0; [ -e out/run-003.log ] && n=60; echo "SELECT pg_sleep($n); INSERT INTO sale VALUES ('a', 1, 0)" | psql -q`}})
	e.untilTrue("third run", func() bool {
		found, _ := filepath.Glob(filepath.Join(s.dir, "out", "run-003.log"))
		return len(found) > 0
	})
	e.signal(syscall.SIGKILL)
	e.wait()
	for until := time.Now().Add(patience); len(startedBy(e.temp)) > 0; time.Sleep(10 * time.Millisecond) { // its application finds no server, and ends
		if time.Now().After(until) {
			t.Fatalf("there are still %v", startedBy(e.temp))
		}
	}
	expect.Text(t, "what is left", readFile(t, s.dir, "out", "app.json"), `"verdict": "unknown"`, "assay was ended before")
}

// TestStopsAndLosses has an application stop at an event, which only --must-survive minds; and somebody
// remove what was acknowledged to it, which its history shows, too.
func TestStopsAndLosses(t *testing.T) {
	t.Parallel()
	s := openShop(t, databaseOf(t, "stops"))
	s.rules = nil
	for _, c := range []struct {
		removes, must string
		code          int
		happens       string
		judged        int
		says          string
	}{
		{"SELECT 1", "--must-survive=false", exitValid, application.Crashed, exitValid, "3 elements"},
		{"SELECT 1", "--must-survive", exitViolated, application.Crashed, exitValid, "3 elements"},
		{"DELETE FROM sale", "--must-survive=false", exitViolated, application.Lost, exitViolated, "lost"},
	} {
		one := s
		one.env = append([]string{"BEHIND=" + s.address, "REMOVES=" + c.removes}, s.env...)
		e, r := one.app(t, "--tries", "1", c.must, "--", "sh", "-c", `for n in 1 2 3; do psql -qc "INSERT INTO sale (number, item, pieces) VALUES ('$n', 1, 0)" || failed=1; done
[ -z "$failed" ] || { psql "$BEHIND" -qc "$REMOVES"; exit 7; }`)
		e.want(t, c.code)
		if len(r.Tries) != 2 || r.Tries[1].Happens != c.happens || r.Tries[1].Exit != 7 {
			t.Errorf("%s %s: %+v", c.removes, c.must, r.Tries)
		}
		judged := ends(t, command{dir: s.dir, args: []string{"check", filepath.Join("out", "run-003.edn")}}).want(t, c.judged)
		expect.Text(t, "the history", judged.stdout, c.says)
	}
}

// TestServedWithoutAServer says at once why nobody gets through, and tells tests, too.
func TestServedWithoutAServer(t *testing.T) {
	t.Parallel()
	served, through, control := serveFor(t, shop{dir: t.TempDir(), address: "postgres://me@127.0.0.1:1/shop?sslmode=disable"})
	if said, err := exec.Command("psql", through, "-c", "SELECT 1").CombinedOutput(); err == nil {
		t.Errorf("a client got through: %s", said)
	}
	served.until(": a connection failed: the server: ")
	answer, err := exec.Command("curl", "--noproxy", "*", "-sSf", control+"/transactions").Output()
	expect.NoError(t, err)
	expect.Text(t, "the transactions", string(answer), `"problem":"the server: `, "connection refused")
	served.signal(syscall.SIGINT)
	if e := served.wait().want(t, exitCannotRun); strings.Count(e.stderr, "a connection failed: ") != 1 {
		t.Errorf("%v", e)
	}
}
