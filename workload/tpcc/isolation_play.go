package tpcc

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"assay/history"
	"assay/store"
)

const (
	// closingBound is for a test's transactions to end after their context.
	scriptBound  = time.Minute
	closingBound = 10 * time.Second
	// attempts bounds those of a transaction that runs while no other does.
	attempts = 4
	// After firstLook, then every looks, the database is asked whether a transaction is blocked.
	firstLook = 5 * time.Millisecond
	looks     = 20 * time.Millisecond
	// If the database cannot tell, a transaction counts as blocked after waitBound.
	waitBound = 3 * time.Second
)

var errRolledBack = errors.New("tpcc: rolled back by the isolation test")

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
func (w *work) Examine(ctx context.Context, folder string) error {
	record, err := playIsolation(ctx, w.Database)
	return errors.Join(err, history.WriteJSON(filepath.Join(folder, FileIsolation), record))
}

// terminals are the sessions of the roles. Every transaction that runs alone has the session of
// before.
type terminals [second + 1]store.Connection[*session]

func playIsolation(ctx context.Context, db store.Database) (record isolationRecord, err error) {
	var at terminals
	for i := range at {
		at[i], err = store.Connect(ctx, func(ctx context.Context) (*session, error) {
			return openSession(ctx, db, func(Point, []int64) (again bool, err error) { return false, nil })
		})
		if err != nil {
			return isolationRecord{NotTried: fmt.Sprintf("no session could be opened: %v", err)}, nil
		}
		defer at[i].Close()
	}
	remove := func() error {
		_, err := at.alone(ctx, func(ctx context.Context, s *session) Reply { return s.Remove(ctx) })
		if err != nil {
			return fmt.Errorf("remove the rows of the isolation tests: %w", err)
		}
		return nil
	}
	if err := remove(); err != nil {
		return isolationRecord{NotTried: err.Error()}, nil
	}
	if err := loadRows(ctx, db, testRows()); err != nil {
		record.NotTried = fmt.Sprintf("their rows could not be loaded: %v", err)
	} else {
		for _, script := range isolationScripts() {
			record.Tests = append(record.Tests, playScript(ctx, script, &at))
		}
	}
	return record, remove()
}

// alone does a transaction while no other runs, and repeats it if it fails, since remains of
// others may block it for a moment.
func (at *terminals) alone(ctx context.Context, do func(context.Context, *session) Reply) (answer []int64, err error) {
	for range attempts {
		var session *session
		if session, err = at[before].Session(ctx); err != nil {
			continue
		}
		r := do(ctx, session)
		at[before].After(r.Outcome, r.Broken)
		if err = committed(r.Reply); err == nil {
			return r.Values, nil
		}
	}
	return nil, err
}

func committed(r store.Reply) error {
	if r.Outcome == history.Committed {
		return nil
	}
	return fmt.Errorf("a transaction is %s: %s: %w", r.Outcome, r.Class, r.Err)
}

// isolationPlay plays one test. The test's goroutine does the first transaction, which begins the
// second one, in another goroutine, where it stops.
type isolationPlay struct {
	*IsolationTest
	script isolationScript
	ctx    context.Context
	at     *terminals
	// A driver may do the first transaction's work in a goroutine of its own, which may go on
	// after the reply. mu keeps it apart from the test's, and once over is set it stops no more.
	mu   sync.Mutex
	over bool
	err  error // of the stop
	// read and again are what the first transaction read where it stopped.
	read, again []int64
	answers     [after + 1][]int64
	// ended is closed when the second transaction has ended with reply; nil before it begins.
	ended chan struct{}
	reply Reply
}

func playScript(ctx context.Context, script isolationScript, at *terminals) IsolationTest {
	ctx, cancel := context.WithTimeout(ctx, scriptBound)
	defer cancel()
	p := &isolationPlay{IsolationTest: &IsolationTest{Test: script.Number}, script: script, ctx: ctx, at: at}
	if err := p.play(); err != nil {
		p.NotPlayed = err.Error()
		cancel()
		if p.ended != nil {
			select {
			case <-p.ended:
			case <-time.After(closingBound):
			}
		}
		at[first].Close() // a transaction may still go on
		at[second].Close()
	}
	return *p.IsolationTest
}

// note adds a step of a role's transaction, with the numbers that it read or answered.
func (p *isolationPlay) note(role int, does, format string, numbers []int64) {
	step := fmt.Sprintf("T%d, %s, %s", role+p.script.from, p.script.roles[role].name, does)
	if len(numbers) > 0 && format != "" {
		of := make([]any, len(numbers))
		for i, n := range numbers {
			of[i] = n
		}
		step += ": " + fmt.Sprintf(format, of...)
	}
	p.Steps = append(p.Steps, step)
}

func (p *isolationPlay) noteEnd(role int, r *Reply) {
	p.note(role, outcome(r), p.script.roles[role].answers, r.Values)
	if r.Conflict() && !errors.Is(r.Err, errRolledBack) {
		p.Refused = r.Class
	}
}

func (p *isolationPlay) do(role int) func(context.Context, *session) Reply {
	of := input{p.script.warehouse(), FirstTestOperation + int64(p.Test*1000+role), time.Now().UnixMilli()}
	return func(ctx context.Context, s *session) Reply { return p.script.roles[role].do(ctx, s, of) }
}

// alone does a role's transaction, if the script has one, while no other runs.
func (p *isolationPlay) alone(role int) (err error) {
	if p.script.roles[role].do == nil {
		return nil
	}
	if p.answers[role], err = p.at.alone(p.ctx, p.do(role)); err == nil {
		p.note(role, "is committed", p.script.roles[role].answers, p.answers[role])
	}
	return err
}

func (p *isolationPlay) play() error {
	if err := p.alone(before); err != nil {
		return err
	}
	session, err := p.at[first].Session(p.ctx)
	if err != nil {
		return fmt.Errorf("open a session: %w", err)
	}
	session.stop = p.stop
	r := p.do(first)(p.ctx, session)
	p.mu.Lock()
	p.over = true
	p.mu.Unlock()
	p.at[first].After(r.Outcome, r.Broken)
	switch {
	case p.err != nil:
		return p.err
	case p.ended == nil:
		return fmt.Errorf("the transaction that was to stop %s", outcome(&r))
	}
	p.First = r.Outcome == history.Committed
	p.noteEnd(first, &r)
	if err := p.endSecond(); err != nil {
		return err
	}
	if err := p.alone(after); err != nil {
		return err
	}
	p.script.keep(p)
	return nil
}

// stop is the first transaction's Stop.
func (p *isolationPlay) stop(at Point, read []int64) (again bool, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.over || at != p.script.at:
		return false, nil
	case p.ended == nil:
		p.read = read
		p.note(first, "stops", p.script.finds, read)
		if p.err = p.beside(); p.script.again && p.err == nil {
			return true, nil
		}
	default:
		p.again = read
		p.note(first, "reads again", p.script.finds, read)
	}
	p.over = true
	if p.script.rollBack && p.err == nil {
		return false, errRolledBack
	}
	return false, p.err
}

// beside begins the second transaction and waits until it has ended or is blocked.
func (p *isolationPlay) beside() error {
	session, err := p.at[second].Session(p.ctx)
	if err != nil {
		return fmt.Errorf("open a session: %w", err)
	}
	p.ended = make(chan struct{})
	go func() {
		p.reply = p.do(second)(p.ctx, session)
		close(p.ended)
	}()
	began := time.Now()
	for pause := firstLook; !p.Waited && !p.Early; pause = looks {
		select {
		case <-p.ended:
			p.Early = true
		case <-p.ctx.Done():
			return p.ctx.Err()
		case <-time.After(pause):
			waiting, known, err := session.Waiting(p.ctx)
			if err != nil {
				return fmt.Errorf("ask whether a transaction waits: %w", err)
			}
			p.Waited = waiting || !known && time.Since(began) >= waitBound
		}
	}
	select {
	case <-p.ended: // perhaps only now
		p.Early = true
		p.noteEnd(second, &p.reply)
	default:
		p.note(second, "waits", "", nil)
	}
	return nil
}

// endSecond awaits the second transaction's answer. Like an application, it repeats a refused
// transaction.
func (p *isolationPlay) endSecond() (err error) {
	select {
	case <-p.ended:
	case <-p.ctx.Done():
		return p.ctx.Err()
	}
	r := &p.reply
	p.at[second].After(r.Outcome, r.Broken)
	if !p.Early {
		p.noteEnd(second, r)
	}
	switch {
	case !r.Conflict():
		p.answers[second], err = r.Values, committed(r.Reply)
	case p.script.once:
		return nil
	default:
		err = p.alone(second)
	}
	p.Second = err == nil
	return err
}

func outcome(r *Reply) string {
	switch {
	case errors.Is(r.Err, errRolledBack), r.Class == ClassUnusedItem:
		return "is rolled back"
	case r.Outcome == history.Committed:
		return "is committed"
	case r.Conflict():
		return "is refused: " + r.Class
	default:
		return fmt.Sprintf("is %s: %s", r.Outcome, r.Class)
	}
}
