package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"assay/check"
	"assay/internal/expect"
)

// TestPromiseOfAScript wants the verdict of a script to say which of the two it was: where
// the isolation level does not rule out what its statements make possible, the promise was
// kept, and the transactions ask too little.
func TestPromiseOfAScript(t *testing.T) {
	t.Parallel()
	server := serverFor(t, "postgres:1")
	for _, test := range []struct{ script, level, anomaly string }{
		{"shop.star", "read committed", "lost update"}, {"doctors.star", "repeatable read", "write skew"},
	} {
		folder := filepath.Join(t.TempDir(), "run")
		e := assay(t, ".", "run", "script", example(test.script), "--isolation", test.level, "--pause", "3", "--clients", "8", "--ops", "3000", "--observe", "50",
			"--db", server.address, "--out", folder).want(t, exitViolated)
		r := resultOf(t, folder)
		if p := r.Promise; r.Verdict != check.Violated || p.Kept == nil || !*p.Kept || p.Model == "" {
			t.Errorf("%s: %s %+v", test.script, r.Verdict, p)
		}
		expect.Text(t, test.script, unwrapped(e.stdout), "VIOLATED, and allowed by "+r.Promise.Model[:4], "does not rule out a "+test.anomaly,
			"the transactions ask too little of the database: "+test.anomaly, "assay advise "+test.script)
		again := assay(t, ".", "check", folder).want(t, exitViolated)
		expect.Text(t, "checked again", unwrapped(again.stdout), "the transactions ask too little of the database: "+test.anomaly)
	}
}

// advised is an advice as its JSON has it, in short.
type advised struct {
	Alone   row
	Levels  []row
	Changes []row
	Right   []int
	Untried []string
}

type row struct {
	Level, Model, Change, Verdict string
	Statements                    struct{ Robust *bool }
	Anomalies                     []struct{ Anomaly string }
	Throughput                    struct {
		PerSecond float64 `json:"committed_per_second"`
	}
}

// told is the row in short: its verdict, whether its statements can go wrong, and the
// anomaly that was seen most often.
func (r row) told() string {
	text := r.Verdict
	if r.Statements.Robust != nil {
		text += map[bool]string{true: ", robust", false: ", not robust"}[*r.Statements.Robust]
	}
	if r.Verdict == "violated" && len(r.Anomalies) > 0 {
		text += ", " + r.Anomalies[0].Anomaly
	}
	return text
}

// TestAdvise finds on real servers what is known of the shop and of the doctors on call.
func TestAdvise(t *testing.T) {
	t.Parallel()
	postgres, mariadb, mongodb := serverFor(t, "postgres:1"), serverFor(t, "mariadb:1"), serverFor(t, "mongodb:1")
	for _, test := range []struct {
		server *documentedServer
		script string
		want   map[string]string
	}{
		{postgres, "shop.star", map[string]string{
			"read committed": "violated, not robust, lost update", "repeatable read": "valid, robust", "serializable": "valid, robust",
			"FOR UPDATE at read committed": "valid, robust", "atomic update at read committed": "valid, not robust"}},
		{postgres, "doctors.star", map[string]string{
			"read committed": "violated, not robust, write skew", "repeatable read": "violated, not robust, write skew", "serializable": "valid, robust",
			"FOR UPDATE at read committed": "valid, not robust", "FOR UPDATE at repeatable read": "valid, not robust"}},
		{mariadb, "shop.star", map[string]string{
			"read committed": "violated, not robust, lost update", "repeatable read": "violated, not robust, lost update", "serializable": "valid, robust",
			"FOR UPDATE at repeatable read": "valid, robust"}},
		{mongodb, "shop-mongodb.star", map[string]string{"snapshot, w=majority": "valid, robust", "majority, w=majority": "valid, not robust"}},
	} {
		dir := t.TempDir()
		file, err := filepath.Abs(example(test.script))
		expect.NoError(t, err)
		e := start(t, command{dir: dir, env: []string{"ASSAY_DB=" + test.server.address}, args: []string{"advise", file, "--json",
			"--repeat", "1", "--duration", "1200ms", "--warmup", "100ms", "--pause", "3", "--seed", "7", "--out", "out"}}).wait().want(t, exitValid)
		keepsSecret(t, e, dir)
		var a advised
		expect.NoError(t, json.Unmarshal([]byte(e.stdout), &a))
		got := map[string]string{}
		for _, r := range append(a.Levels, a.Changes...) {
			name := r.Level
			if r.Change != "" {
				name = r.Change + " at " + r.Level
			}
			got[name] = r.told()
			if r.Throughput.PerSecond <= 0 || r.Model == "" {
				t.Errorf("%s, %s: %+v", test.script, name, r)
			}
		}
		for name, want := range test.want {
			if got[name] != want {
				t.Errorf("%s on %s: %s is %q, want %q; all: %v", test.script, test.server.address[:8], name, got[name], want, got)
			}
		}
		if a.Alone.Verdict != "valid" || len(a.Right) == 0 {
			t.Errorf("%s: alone %+v, right %v", test.script, a.Alone, a.Right)
		}
		if test.server == postgres && test.script == "shop.star" {
			again := assay(t, dir, "advise", file, "--db", test.server.address, "--repeat", "1", "--duration", "1200ms", "--warmup", "100ms",
				"--pause", "3", "--seed", "7", "--out", "out").want(t, exitValid)
			for line := range strings.SplitSeq(again.stdout, "\n") {
				if utf8.RuneCountInString(line) > 80 {
					t.Errorf("%d columns: %s", utf8.RuneCountInString(line), line)
				}
			}
			expect.Text(t, "text", unwrapped(again.stdout), "✗ lost update", "✓ kept", "T1: sell", "COMMIT", "by its statements it cannot go wrong at this level")
			page, err := os.ReadFile(filepath.Join(dir, "out", "report.html"))
			expect.NoError(t, err)
			expect.Text(t, "page", string(page), "lost update", "T2: sell")
		}
	}
}

// TestAdviseSaysWhoIsWrong: transactions that break their own rule with one client are wrong
// at every level, a script that cannot be run is an error of the script, and so are flags
// that let nothing meet.
func TestAdviseSaysWhoIsWrong(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) {
		expect.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	const setup = "def setup(db):\n    db.exec(\"CREATE TABLE t (id bigint PRIMARY KEY, n bigint)\")\n    db.exec(\"INSERT INTO t VALUES (1, 0)\")\n"
	write("wrong.star", setup+"def add(tx, r):\n    tx.exec(\"UPDATE t SET n = n + 1 WHERE id = 1\")\ntransaction(\"add\", run = add)\ninvariant(\"n\", \"SELECT n FROM t\", equals = 0)\n")
	write("bad.star", setup+"def add(tx, r):\n    tx.exec(\"UPDATE t SET m = 1\")\ntransaction(\"add\", run = add)\n")
	args := []string{"--duration", "300ms", "--warmup", "0s", "--repeat", "1"}
	e := assay(t, dir, append([]string{"advise", "wrong.star"}, args...)...).want(t, exitNoVerdict)
	expect.Text(t, "wrong by itself", unwrapped(e.stdout), "one client alone breaks what must hold")
	e = assay(t, dir, append([]string{"advise", "bad.star"}, args...)...).want(t, exitUsage)
	expect.Text(t, "an error of the script", e.complaint(t), "no such column")
	for _, wrong := range [][]string{{"--clients", "1"}, {"--pause", "0"}, {"--repeat", "0"}, {"--level", "chaos"}, {"--json", "--markdown"}} {
		assay(t, dir, append([]string{"advise", "wrong.star", "--duration", "300ms"}, wrong...)...).want(t, exitUsage)
	}
}
