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
	// scriptBound is how long one test may take, and closingBound how long its
	// transactions may take to end once their context is over.
	scriptBound  = time.Minute
	closingBound = 10 * time.Second
	// repeats is how often a transaction that is refused is done again.
	repeats = 3
)

// FileIsolation is the name of the file in a run's folder that has what came of the
// isolation tests, beside FileState.
const FileIsolation = "isolation_tests.json"

type isolationRecord struct {
	// NotTried says why none was played; empty if they were.
	NotTried string          `json:"not_tried,omitempty"`
	Tests    []IsolationTest `json:"tests,omitempty"`
}

// IsolationTest is what came of one isolation test. What the numbers are is said at its
// script.
type IsolationTest struct {
	Test int `json:"test"`
	// NotPlayed says why it did not come to its end; empty if it did.
	NotPlayed string `json:"not_played,omitempty"`
	// Steps are what each transaction did, in their order.
	Steps []string `json:"steps"`
	// Waited is whether the transaction that came second waited for the first, and Early
	// whether it had ended before the first was told to end.
	Waited bool `json:"waited"`
	Early  bool `json:"early"`
	// First and Second are whether the two were committed, Second after at most three
	// repetitions. Refused is the class of the last error by which one of them was refused.
	First   bool   `json:"first_committed"`
	Second  bool   `json:"second_committed"`
	Refused string `json:"refused,omitempty"`
	// Before was there before the two, and After when they had ended.
	Before []int64 `json:"before"`
	After  []int64 `json:"after,omitempty"`
	// Done is what one has done; Seen what the other, or a reader, was shown, and Again
	// the same when it has read a second time.
	Done  []int64 `json:"done,omitempty"`
	Seen  []int64 `json:"seen,omitempty"`
	Again []int64 `json:"again,omitempty"`
}

// Examine plays the isolation tests and leaves what came of them in the run's folder. It
// is called when the rows of the run were read back, so that the tests change nothing of
// what the run is judged by, and they meet what the run has left and nothing in flight.
// They have rows of their own, which are removed at the end; the error may be that they
// could not be.
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

// remove removes the rows of the tests. What is left of their transactions may be in the
// way for a moment.
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

// isolationPlay is one test that is played. Once err is set, its methods do nothing more.
type isolationPlay struct {
	*IsolationTest
	script isolationScript
	ctx    context.Context
	err    error
	// first and second do the two transactions, and aside those before and after them.
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

// close waits until no transaction of the test is under way. A session whose transaction
// does not end is given up.
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

// start begins a transaction of the test; see terminal.start.
func (p *isolationPlay) start(by *terminal, at Point, do transaction) (x *stepped) {
	if p.err != nil {
		return nil
	}
	if x, p.err = by.start(p.ctx, at, do); p.err == nil {
		p.begun = append(p.begun, x)
	}
	return x
}

// finish waits for the end of a transaction that does not stop any more.
func (p *isolationPlay) finish(x *stepped) {
	if p.err == nil {
		_, p.err = x.await()
	}
}

// repeat has a transaction that has stopped read the same again; nil if it ends instead.
func (p *isolationPlay) repeat(x *stepped) (read []int64) {
	if p.err == nil {
		read, p.err = x.send(errAgain)
	}
	return read
}

// stopped begins a transaction and returns when it stops, with what it has read. That it
// does not come to its point is an error.
func (p *isolationPlay) stopped(by *terminal, at Point, do transaction) (x *stepped, read []int64) {
	if x = p.start(by, at, do); p.err != nil {
		return nil, nil
	}
	if read, p.err = x.await(); p.err == nil && x.over {
		p.err = fmt.Errorf("the transaction that was to stop %s", x.outcome())
	}
	return x, read
}

// beside begins the second transaction, while the first has stopped, and returns when it
// has ended or waits. name is what it is called in the steps.
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

// closeFirst has the first transaction commit or, if rollBack, roll back, and notes how it
// has ended.
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

// closeSecond waits for the end of the second transaction, and does it again if it was
// refused for the sake of the first, as an application would. It gives what the transaction has
// answered.
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

// alone does a transaction while none is under way, and gives what it has answered.
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
