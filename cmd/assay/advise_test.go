package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"assay/check"
	"assay/internal/expect"
)

// mostRounds bounds how often a run is made again, each time twice as long and from another seed,
// until an anomaly that its transactions make possible has come up. All transactions of a run
// are on one row, or one shift, so that any two that overlap make it.
const mostRounds = 6

// TestPromiseOfAScript wants the verdict of a script to say which of the two it was: where
// the isolation level does not rule out what its statements make possible, the promise was
// kept, and the transactions ask too little.
func TestPromiseOfAScript(t *testing.T) {
	t.Parallel()
	address := databaseOf(t, "promises")
	var folder string
	var e ended
	for round := range mostRounds {
		folder = filepath.Join(t.TempDir(), "run")
		e = assay(t, ".", "run", "script", example("doctors.star"), "--define", "shifts=1", "--isolation", "repeatable read", "--pause", "3", "--clients", "8",
			"--ops", strconv.Itoa(1000<<round), "--seed", strconv.Itoa(7+round), "--observe", "50", "--judge", "found", "--db", address, "--out", folder).
			want(t, exitViolated, exitValid, exitNoVerdict)
		if e.code == exitViolated {
			break
		}
		t.Logf("nothing went wrong in round %d", round)
	}
	r := resultOf(t, folder)
	if p := r.Promise; r.Verdict != check.Allowed || p.Kept == nil || !*p.Kept || p.Model == "" {
		t.Fatalf("%s %+v", r.Verdict, p)
	}
	expect.Text(t, "the output", unwrapped(e.stdout), "ALLOWED: ", "does not rule out a write skew",
		"the transactions ask too little of the database: write skew", "assay advise doctors.star")
	again := assay(t, ".", "check", folder).want(t, exitViolated)
	expect.Text(t, "checked again", unwrapped(again.stdout), "the transactions ask too little of the database: write skew")
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

// Scripts of several transactions, of which each is a program of its own, and of a floor that
// a constraint can keep.
const (
	severalSetup = "CREATE TABLE item (id bigint PRIMARY KEY, stock bigint NOT NULL);\nCREATE TABLE sale (pieces bigint NOT NULL);\nINSERT INTO item VALUES (1, 100000000);\n"
	severalSQL   = `-- assay: invariant pieces equals 100000000: SELECT (SELECT sum(stock) FROM item) + (SELECT coalesce(sum(pieces), 0) FROM sale)
BEGIN;
SELECT stock FROM item WHERE id = 1;
COMMIT;
BEGIN;
SELECT stock FROM item WHERE id = 1 \gset
UPDATE item SET stock = :stock - 1 WHERE id = 1;
INSERT INTO sale (pieces) VALUES (1);
COMMIT;
`
	lookSQL   = "SELECT stock FROM item WHERE id = 1;\n"
	floorStar = `
def setup(db):
    db.exec("CREATE TABLE account (id bigint PRIMARY KEY, balance bigint NOT NULL)")
    db.insert("account", columns = ["id", "balance"], count = 2, row = lambda i: (i + 1, 100))
def transfer(tx, r):
    source, amount = r.range(1, 2), r.range(1, 100)
    if tx.value("SELECT balance FROM account WHERE id = $1", source) < amount:
        reject("too little")
    for id in [1, 2]: # in one order, so that none waits for another that waits for it
        tx.exec("UPDATE account SET balance = balance + $1 WHERE id = $2", -amount if id == source else amount, id)
transaction("transfer", run = transfer)
invariant("floor", "SELECT id FROM account WHERE balance < 0", empty = True)
`
)

// TestAdvise finds on real servers what is known of the shop, of the doctors on call and of a
// transfer with a floor. Packages script and robustness try the look at statements on many more.
func TestAdvise(t *testing.T) {
	t.Parallel()
	for servers, cases := range map[string][]adviseCase{
		"postgres:1": {
			{args: []string{"shop.star", "--define", "items=1"}, want: map[string]string{
				"read committed": "violated, not robust, lost update", "repeatable read": "valid, robust", "serializable": "valid, robust",
				"FOR UPDATE at read committed": "valid, robust", "atomic update at read committed": "valid, not robust"}},
			{args: []string{"several.sql@3", "look.sql@1", "--setup", "setup.sql", "--level", "read committed", "--level", "repeatable read"}, want: map[string]string{
				"read committed": "violated, not robust, lost update", "repeatable read": "valid, robust", "FOR UPDATE at read committed": "valid, robust",
				"SERIALIZABLE for several (line 5) at read committed": "valid"}},
			{args: []string{"floor.star", "--level", "read committed", "--level", "serializable"}, want: map[string]string{
				"read committed": "violated, not robust, stale read (G-single)", "serializable": "valid, robust", "CHECK at read committed": "valid, not robust"}},
		},
		"mongodb:1": {
			{args: []string{"doctors-mongodb.star", "--define", "shifts=1", "--level", "snapshot, w=majority"}, want: map[string]string{
				"snapshot, w=majority": "violated, not robust, write skew", "lock by a write at snapshot, w=majority": "valid, not robust"}},
		},
	} {
		t.Run(servers, func(t *testing.T) {
			t.Parallel()
			address := ""
			if servers != "postgres:1" {
				address = serverFor(t, servers).address
			}
			for i, test := range cases {
				t.Run(test.args[0], func(t *testing.T) {
					if test.address = address; address == "" {
						t.Parallel()
						test.address = databaseOf(t, fmt.Sprintf("advice_%d", i))
					}
					test.made(t)
				})
			}
		})
	}
}

// adviseCase is an advice whose rows must be so.
type adviseCase struct {
	address string
	args    []string
	want    map[string]string
}

// made makes the advice, again if not all was seen.
func (test adviseCase) made(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"several.sql": severalSQL, "look.sql": lookSQL, "setup.sql": severalSetup, "floor.star": floorStar} {
		expect.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	if script, err := os.ReadFile(example(test.args[0])); err == nil {
		expect.NoError(t, os.WriteFile(filepath.Join(dir, test.args[0]), script, 0o644))
	}
	for round := 0; !test.seen(t, dir, round); round++ {
		if round == mostRounds {
			t.Fatalf("%v on %s: not seen in %d rounds", test.args, test.address[:8], mostRounds)
		}
	}
}

// seen makes the advice once, and reports whether all that can go wrong did. What is kept must
// be kept, and the look at the statements right, in any case.
func (test adviseCase) seen(t *testing.T, dir string, round int) (all bool) {
	t.Helper()
	out, seed, duration := fmt.Sprintf("out%d", round), strconv.Itoa(7+round), (400*time.Millisecond)<<round
	run := command{dir: dir, env: []string{"ASSAY_DB=" + test.address}, args: append(append([]string{"advise"}, test.args...),
		"--repeat", "1", "--duration", duration.String(), "--warmup", "100ms", "--pause", "3", "--seed", seed, "--out", out)}
	shown := test.address[:8] == "postgres" && test.args[0] == "shop.star"
	if !shown {
		run.args = append(run.args, "--json")
	}
	e := ends(t, run).want(t, exitValid)
	keepsSecret(t, e, dir)
	var a advised
	if shown {
		expect.NoError(t, json.Unmarshal([]byte(readFile(t, dir, out, "advice.json")), &a))
	} else {
		expect.NoError(t, json.Unmarshal([]byte(e.stdout), &a))
	}
	got := map[string]string{}
	all = true
	for _, r := range append(a.Levels, a.Changes...) {
		name := r.Level
		if r.Change != "" {
			name = r.Change + " at " + r.Level
		}
		if r.Throughput.PerSecond > 0 { // else nothing was done on a busy machine
			got[name] = r.told()
		}
		if r.Model == "" {
			t.Errorf("%v, %s: %+v", test.args, name, r)
		}
	}
	for name, want := range test.want {
		text, tried := got[name]
		unseen := strings.HasPrefix(want, "violated") && strings.HasPrefix(want, strings.Replace(text, "valid", "violated", 1)) || !tried
		if anomaly := strings.LastIndex(want, ", "); strings.HasPrefix(want, "violated, not robust, ") && strings.HasPrefix(text, want[:anomaly]) {
			unseen = true // a short run met fewer transactions, whose first danger is another
		}
		switch {
		case text == want:
		case unseen:
			all = false
		default:
			t.Errorf("%v on %s: %s is %q, want %q; all: %v", test.args, test.address[:8], name, text, want, got)
		}
	}
	if a.Alone.Verdict != "valid" || len(a.Right) == 0 {
		t.Errorf("%v: alone %+v, right %v", test.args, a.Alone, a.Right)
	}
	if !all {
		t.Logf("%v on %s, seed %s, %s: not all was seen: %v", test.args, test.address[:8], seed, duration, got)
	} else if shown {
		test.shown(t, e.stdout, filepath.Join(dir, out))
	}
	return all
}

// shown is what the shop looks like in 80 columns, and in a browser.
func (adviseCase) shown(t *testing.T, text, folder string) {
	t.Helper()
	for line := range strings.SplitSeq(text, "\n") {
		if utf8.RuneCountInString(line) > 80 {
			t.Errorf("%d columns: %s", utf8.RuneCountInString(line), line)
		}
	}
	expect.Text(t, "text", unwrapped(text), "✗ lost update", "✓ kept", "T1: sell", "COMMIT", "by its statements it cannot go wrong at this level")
	page, err := os.ReadFile(filepath.Join(folder, "report.html"))
	expect.NoError(t, err)
	expect.Text(t, "page", string(page), "lost update", "T2: sell")
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
	e := assay(t, dir, append([]string{"advise", "wrong.star"}, args...)...).want(t, exitUsage)
	expect.Text(t, "wrong by itself", e.complaint(t), "breaks invariant \"n\" with one client alone: before it 0, after it 1")
	e = assay(t, dir, append([]string{"advise", "bad.star", "--out", "bad"}, args...)...).want(t, exitUsage)
	expect.Text(t, "an error of the script", e.complaint(t), "no such column")
	for _, wrong := range [][]string{{"--clients", "1"}, {"--pause", "0"}, {"--repeat", "0"}, {"--level", "chaos"}, {"--json", "--markdown"}} {
		assay(t, dir, append([]string{"advise", "wrong.star", "--duration", "300ms"}, wrong...)...).want(t, exitUsage)
	}
}
