package main

import (
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	_ "modernc.org/sqlite" // the driver that database/sql opens by name

	"assay/check"
	"assay/history"
	"assay/internal/expect"
	"assay/workload"
	"assay/workload/bank"
)

// What standard error says once clients work, and once some of the hundred
// million accounts are in that nobody waits for.
const (
	working   = "overall"
	someAreIn = "of 100,000,000 ("
)

// TestOneInterruptEndsInOrder: what is in flight is waited for, everything is
// read back and judged, and the measurement says that it was cut. timeout(1) sends
// its signal to the program and to its group, so that it comes twice: the second is
// its echo.
func TestOneInterruptEndsInOrder(t *testing.T) {
	t.Parallel()
	for times, signals := range map[string][]syscall.Signal{"once": {syscall.SIGINT}, "twice": {syscall.SIGTERM, syscall.SIGINT}} { // the same would be one
		dir := t.TempDir()
		p := start(t, command{dir: dir, watched: true, args: []string{"run", "bank", "--duration", "1h", "--warmup", "100ms", "--out", "run"}})
		p.until(working)
		for _, s := range signals {
			p.signal(s)
		}
		e := p.wait().want(t, exitNoVerdict)
		r := resultOf(t, filepath.Join(dir, "run"))
		if r.Verdict != check.Valid || r.Measurement.Verdict != "invalid" || r.Outcomes.Committed == 0 {
			t.Errorf("%s: %v, %+v, %+v", times, r.Verdict, r.Measurement, r.Outcomes)
		}
		expect.Text(t, times, strings.Join(r.Measurement.Reasons, "\n"), "the run was cut:")
		expect.Text(t, times, e.stderr, "ending in order", "once more", "checking")
		expect.Text(t, times, e.stdout, "VALID", "cut")
		assay(t, dir, "check", "run").want(t, exitNoVerdict)
	}
}

// TestInterruptWhileLoading: there is nothing to judge yet, so the run ends
// without a verdict, and one sentence says what was done and what is left.
func TestInterruptWhileLoading(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, left := range map[string]string{"stays": "stays in sqlite:", "--drop": "was removed again"} {
		args := []string{"run", "bank", "--accounts", "100000000", "--out", name + "-run"}
		if name == "--drop" {
			args[len(args)-1] = "dropped"
			args = append(args, name)
		}
		folder := filepath.Join(dir, args[5])
		p := start(t, command{dir: dir, args: args})
		p.until(someAreIn)
		p.signal(syscall.SIGINT)
		e := p.wait().want(t, exitNoVerdict)
		for _, part := range []string{"interrupted while loading, with ", " of 100,000,000 rows in: nothing was measured or judged, and what was loaded " + left} {
			if strings.Count(e.stderr, part) != 1 {
				t.Errorf("%s: standard error does not say %q once: %v", name, part, e)
			}
		}
		r := resultOf(t, folder)
		if r.Verdict != check.Unknown || r.Measurement.Verdict != "invalid" || !strings.Contains(strings.Join(r.Measurement.Reasons, ""), left) {
			t.Errorf("%s: %v, %+v", name, r.Verdict, r.Measurement)
		}
		if _, err := os.Stat(filepath.Join(folder, "bank.sqlite")); errors.Is(err, os.ErrNotExist) != (name == "--drop") {
			t.Errorf("%s: the database's file: %v", name, err)
		}
		said := assay(t, dir, "check", args[5]).want(t, exitUsage).complaint(t)
		expect.Text(t, "judging it", said, "before its work began")
	}
}

// TestTwoInterruptsLeaveAtOnce: the second one waits for nothing, not even for
// clients that would not come back for seconds.
func TestTwoInterruptsLeaveAtOnce(t *testing.T) {
	t.Parallel()
	for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		p := start(t, command{watched: true, args: []string{"run", "bank", "--db", "mem://?latency=1h", "--duration", "1h", "--timeout", "1h", "--out", "run"}})
		p.until(working)
		p.signal(s)
		p.until("once more")
		time.Sleep(2 * sameInterrupt)
		p.signal(s)
		if e := p.wait(); e.code != exitInterrupted || strings.Contains(e.stderr, "waiting until nothing") {
			t.Errorf("%v: %v", s, e)
		}
	}
}

// TestKilledRunIsJudgedLater kills a run in the middle of its work: what it leaves says that
// nothing is known, and check finds out what can be. That what was acknowledged is in the state that
// was read, and in the database, is counted here on its own.
func TestKilledRunIsJudgedLater(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	folder := filepath.Join(dir, "run")
	p := start(t, command{dir: dir, messy: true, args: []string{"run", "bank", "--duration", "1h", "--warmup", "500ms", "--clients", "8", "--accounts", "1000", "--out", "run"}})
	committed := regexp.MustCompile(`(?m)^ +[0-9]+s +[0-9,]+ +[1-9]`) // in a line of progress
	p.untilTrue("line of progress with something committed", func() bool { return committed.MatchString(p.err.String()) })
	time.Sleep(500 * time.Millisecond) // anywhere in the middle
	p.signal(syscall.SIGKILL)
	at := time.Now()
	if e := p.wait(); e.code != -1 || e.stdout != "" {
		t.Fatalf("it was not killed: %v", e)
	}
	before := resultOf(t, folder)
	if before.Verdict != check.Unknown || before.Measurement.Verdict != "invalid" {
		t.Errorf("a killed run left the verdict %v and a measurement that is %s", before.Verdict, before.Measurement.Verdict)
	}
	assay(t, dir, "report", "run").want(t, 0).shows(t, "UNKNOWN", "killed")

	e := assay(t, dir, "check", "run").want(t, exitNoVerdict)
	r := resultOf(t, folder)
	if r.Verdict != check.Valid {
		t.Errorf("the verdict is %v: %v", r.Verdict, e)
	}
	if reasons := strings.Join(r.Measurement.Reasons, "\n"); r.Measurement.Verdict != "invalid" || !strings.Contains(reasons, "the run was cut:") {
		t.Errorf("measurement %+v", r.Measurement)
	}
	if !r.Started.Before(r.Ended) || r.Ended.After(at) {
		t.Errorf("it is said to have gone from %v to %v, and was killed at %v", r.Started, r.Ended, at)
	}
	acknowledged, journal, there := acknowledgedIn(t, folder), journalOf(t, folder), inSQLite(t, filepath.Join(folder, "bank.sqlite"))
	if len(acknowledged) == 0 || int64(len(acknowledged)) != r.Outcomes.Committed {
		t.Errorf("%d acknowledged transfers, and %d in the result", len(acknowledged), r.Outcomes.Committed)
	}
	for id := range acknowledged {
		if journal[id] != 1 || !there[id] {
			t.Errorf("transfer %d was acknowledged and is %d times in the journal, in the database: %v", id, journal[id], there[id])
		}
	}
	if len(journal) < len(acknowledged) {
		t.Errorf("%d rows of %d transfers", len(journal), len(acknowledged))
	}
	kept := readFile(t, folder, "result.json")
	assay(t, dir, "check", "run").want(t, exitNoVerdict)
	if readFile(t, folder, "result.json") != kept {
		t.Errorf("judged again, the verdict is %v, or another result was kept", resultOf(t, folder).Verdict)
	}
}

// inSQLite asks the database itself for the ids of its transfers.
func inSQLite(t *testing.T, path string) map[int64]bool {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	expect.NoError(t, err)
	defer db.Close()
	rows, err := db.Query("SELECT id FROM assay_transfer")
	expect.NoError(t, err)
	defer rows.Close()
	ids := map[int64]bool{}
	for rows.Next() {
		var id int64
		expect.NoError(t, rows.Scan(&id))
		ids[id] = true
	}
	expect.NoError(t, rows.Err())
	return ids
}

// acknowledgedIn returns the ids of the transfers that the history says are
// committed.
func acknowledgedIn(t *testing.T, folder string) map[int64]bool {
	t.Helper()
	ids := map[int64]bool{}
	_, err := history.Read(filepath.Join(folder, "history.bin"), history.Visitor{Op: func(op *history.Op) error {
		if op.Last && op.Final == history.Committed && op.Kind == bank.KindTransfer {
			ids[workload.OperationID(op.Client, op.Seq)] = true
		}
		return nil
	}})
	expect.NoError(t, err)
	return ids
}

// journalOf counts the rows of each id in the state that was read back.
func journalOf(t *testing.T, folder string) map[int64]int {
	t.Helper()
	rows := map[int64]int{}
	err := bank.Replay(filepath.Join(folder, bank.FileState), func(bank.Account) error { return nil },
		func(e bank.Entry) error { rows[e.ID]++; return nil })
	expect.NoError(t, err)
	return rows
}

// TestInterruptedLoadingIsReplaced kills a run after some of its accounts are in: the next one says
// what it found.
func TestInterruptedLoadingIsReplaced(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := start(t, command{dir: dir, messy: true, args: []string{"run", "bank", "--db", "sqlite:bank.sqlite", "--accounts", "100000000", "--out", "interrupted"}})
	p.until(someAreIn)
	p.signal(syscall.SIGKILL)
	p.wait()
	e := assay(t, dir, "run", "bank", "--db", "sqlite:bank.sqlite", "--accounts", "1000", "--duration", "300ms", "--warmup", "0s", "--out", "next").sound(t, filepath.Join(dir, "next"))
	said := unwrapped(e.stderr) // it may be broken into lines
	expect.Text(t, "standard error", said, "replacing what run", "of 100,000,000 rows", "its loading was interrupted")
	if strings.Contains(said, " 0 of 100000000") {
		t.Errorf("nothing of it was found: %v", e)
	}
	narrow(t, e.stderr)
}
