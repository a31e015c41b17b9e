package tpcc

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"assay/history"
	"assay/store"
)

const (
	// closingBound is for a test's transactions to end after their context.
	scriptBound  = time.Minute
	closingBound = 10 * time.Second
	// repeats bounds the repetitions of a refused transaction.
	repeats = 3
)

// FileIsolation is the file in a run's folder with the record of the isolation tests.
const FileIsolation = "isolation_tests.json"

type isolationRecord struct {
	// NotTried says why no test was played; empty if tests were.
	NotTried string          `json:"not_tried,omitempty"`
	Tests    []IsolationTest `json:"tests,omitempty"`
}

// IsolationTest is the record of one test. Its script says what the numbers mean.
type IsolationTest struct {
	Test int `json:"test"`
	// NotPlayed says why the test did not finish; empty if it did.
	NotPlayed string `json:"not_played,omitempty"`
	// Steps are the transactions' steps in order, for the report.
	Steps []string `json:"steps"`
	// Early: the second transaction ended before the first was told to end.
	Waited bool `json:"waited"`
	Early  bool `json:"early"`
	// Refused is the class of the last error that refused one of the two.
	First   bool   `json:"first_committed"`
	Second  bool   `json:"second_committed"`
	Refused string `json:"refused,omitempty"`
	// Before is the state before the two transactions, After the state when they had ended.
	Before []int64 `json:"before"`
	After  []int64 `json:"after,omitempty"`
	// Done is what one transaction wrote. Seen is what the other or a reader read, Again its
	// second reading.
	Done  []int64 `json:"done,omitempty"`
	Seen  []int64 `json:"seen,omitempty"`
	Again []int64 `json:"again,omitempty"`
}

// Examine plays the tests and writes their record, after reading back. An error can mean that
// their rows could not be removed.
func (w *Work) Examine(ctx context.Context, folder string) error {
	record, err := playIsolation(ctx, w.Database)
	return errors.Join(err, history.WriteJSON(filepath.Join(folder, FileIsolation), record))
}

func playIsolation(ctx context.Context, db store.Database) (record isolationRecord, err error) {
	var terminals [3]*terminal
	for i := range terminals {
		if terminals[i], err = newTerminal(ctx, db); err != nil {
			return isolationRecord{NotTried: fmt.Sprintf("no session could be opened: %v", err)}, nil
		}
		defer terminals[i].connection.Close()
	}
	if err := remove(ctx, terminals[0]); err != nil {
		return isolationRecord{NotTried: err.Error()}, nil
	}
	if err := loadRows(ctx, db, testRows()); err != nil {
		record.NotTried = fmt.Sprintf("their rows could not be loaded: %v", err)
	} else {
		for _, script := range isolationScripts() {
			record.Tests = append(record.Tests, playScript(ctx, script, terminals))
		}
	}
	return record, remove(ctx, terminals[0])
}

// remove removes the tests' rows. Remains of their transactions may block it for a moment.
func remove(ctx context.Context, t *terminal) (err error) {
	for range repeats {
		var session *session
		if session, err = t.connection.Session(ctx); err != nil {
			continue
		}
		r := session.Remove(ctx)
		t.connection.After(r.Outcome, r.Broken)
		if err = committed(r.Reply); err == nil {
			return nil
		}
	}
	return fmt.Errorf("remove the rows of the isolation tests: %w", err)
}

// isolationPlay plays one test. Once err is set, its methods do nothing.
type isolationPlay struct {
	*IsolationTest
	script isolationScript
	ctx    context.Context
	err    error
	// aside does the transactions before and after first's and second's.
	first, second, aside *terminal
	begun                []*stepped
	operations           int64
}

func playScript(ctx context.Context, script isolationScript, terminals [3]*terminal) IsolationTest {
	ctx, cancel := context.WithTimeout(ctx, scriptBound)
	defer cancel()
	p := &isolationPlay{IsolationTest: &IsolationTest{Test: script.Number}, script: script, ctx: ctx,
		first: terminals[0], second: terminals[1], aside: terminals[2]}
	script.play(p)
	if p.err != nil {
		p.NotPlayed = p.err.Error()
	}
	cancel()
	p.close()
	return *p.IsolationTest
}

// close waits until no transaction runs, and gives up a session whose transaction does not end.
func (p *isolationPlay) close() {
	bound := time.After(closingBound)
	for _, x := range p.begun {
		if x.over {
			continue
		}
		select {
		case reply := <-x.replies:
			x.ended(reply)
		case <-bound:
			x.terminal.connection.Close()
		}
	}
}

func (p *isolationPlay) note(format string, of ...any) {
	if p.err == nil {
		p.Steps = append(p.Steps, fmt.Sprintf(format, of...))
	}
}

func (p *isolationPlay) start(by *terminal, at Point, do transaction) (x *stepped) {
	if p.err != nil {
		return nil
	}
	if x, p.err = by.start(p.ctx, at, do); p.err == nil {
		p.begun = append(p.begun, x)
	}
	return x
}

// finish waits for the end of a transaction that stops no more.
func (p *isolationPlay) finish(x *stepped) {
	if p.err == nil {
		_, p.err = x.await()
	}
}

// repeat lets a stopped transaction read again; nil if it ends instead.
func (p *isolationPlay) repeat(x *stepped) (read []int64) {
	if p.err == nil {
		read, p.err = x.send(errAgain)
	}
	return read
}

// stopped begins a transaction and waits until it stops. Ending before is an error.
func (p *isolationPlay) stopped(by *terminal, at Point, do transaction) (x *stepped, read []int64) {
	if x = p.start(by, at, do); p.err != nil {
		return nil, nil
	}
	if read, p.err = x.await(); p.err == nil && x.over {
		p.err = fmt.Errorf("the transaction that was to stop %s", x.outcome())
	}
	return x, read
}

// beside begins the second transaction and waits until it has ended or is blocked.
func (p *isolationPlay) beside(name string, do transaction) *stepped {
	x := p.start(p.second, 0, do)
	if p.err != nil {
		return nil
	}
	if p.err = x.settle(); p.err != nil {
		return nil
	}
	p.Waited, p.Early = x.waited, x.over
	if p.Early {
		p.note("%s %s", name, x.outcome())
	} else {
		p.note("%s waits", name)
	}
	return x
}

// closeFirst lets the first transaction commit or roll back, and notes its end.
func (p *isolationPlay) closeFirst(name string, x *stepped, rollBack bool) {
	if p.err != nil {
		return
	}
	var command error
	if rollBack {
		command = errRolledBack
	}
	if _, p.err = x.send(command); p.err != nil {
		return
	}
	p.First = x.committed()
	p.Refused = cmp.Or(x.refusal(), p.Refused)
	p.note("%s %s", name, x.outcome())
}

// closeSecond awaits the second transaction's answer. Like an application, it repeats a refused
// one.
func (p *isolationPlay) closeSecond(name string, x *stepped, do transaction) (answered []int64) {
	for n := 0; ; n++ {
		if p.finish(x); p.err != nil {
			return nil
		}
		if !p.Early || n > 0 {
			p.note("%s %s", name, x.outcome())
		}
		p.Refused = cmp.Or(x.refusal(), p.Refused)
		if x.refusal() == "" || n == repeats {
			break
		}
		p.note("%s is repeated", name)
		x = p.start(p.second, 0, do)
	}
	if p.Second = x.committed(); !p.Second {
		p.err = fmt.Errorf("%s %s", name, x.outcome())
	}
	return x.reply.Values
}

// alone does a transaction while no other runs.
func (p *isolationPlay) alone(do transaction) (answered []int64) {
	for n := 0; ; n++ {
		x := p.start(p.aside, 0, do)
		if p.finish(x); p.err != nil {
			return nil
		}
		if x.refusal() == "" || n == repeats {
			p.err = committed(x.reply.Reply)
			return x.reply.Values
		}
	}
}
