package interleaving

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"assay/history"
	"assay/store"
)

const (
	// After firstLook the database is asked whether a step is blocked, then every looks.
	firstLook = 5 * time.Millisecond
	looks     = 20 * time.Millisecond
	// waitBound applies to databases that do not tell: a longer step counts as blocked.
	waitBound = 3 * time.Second
	// endBound is the time for sessions to end after the last step. It is above MySQL's wait for
	// a lock (innodb_lock_wait_timeout, 50 s).
	endBound = 75 * time.Second
	// closingBound is the time for them to end once their context is over.
	closingBound = 10 * time.Second
	// setups bounds the attempts to write a script's rows.
	setups = 5
)

var errAborted = errors.New("interleaving: aborted by the script")

var errStopped = errors.New("interleaving: the script was not played to its end")

// answer is the result of a step, or the end of a session's transaction.
type answer struct {
	session int
	rows    []Row
	ended   bool
	reply   store.Reply
}

type actor struct {
	session store.Session
	given   chan step
	// latest is the last step given; busy is true until its answer.
	latest  step
	busy    bool
	queue   []step // for when it is not
	ended   bool
	reply   store.Reply
	waiting bool // as far as known now
	waited  bool // at some time
}

type play struct {
	actors  []*actor // by the numbers of their sessions
	answers chan answer
	seen    observation
	trace   []string
	moved   time.Time // when the last step was given or answered
}

// pool keeps sessions for the next script.
type pool [sessions]store.Connection[store.Session]

func newPool(db store.Database) (p pool) {
	for i := range p {
		p[i].Open = func(ctx context.Context) (store.Session, error) { return db.Session(ctx, statements()) }
	}
	return p
}

func (p *pool) close() {
	for i := range p {
		p[i].Close()
	}
}

// play returns an error if the database could not be used.
func (p *pool) play(ctx context.Context, script *Script) (*play, error) {
	if err := p.setUp(ctx); err != nil {
		return nil, err
	}
	x := &play{answers: make(chan answer, 2*sessions)}
	for i := range script.sessions() {
		session, err := p[i].Session(ctx)
		if err != nil {
			return nil, err
		}
		x.actors = append(x.actors, &actor{session: session, given: make(chan step, 1)})
	}
	err := x.run(ctx, script)
	for i, a := range x.actors {
		p[i].After(a.reply.Outcome, a.reply.Broken)
	}
	if err != nil {
		return nil, err
	}
	x.seen.final, err = p.transact(ctx, []Operation{{Action: ReadAll}})
	return x, err
}

// setUp writes the opening rows. Remains of the last script's transactions may block it for a
// moment.
func (p *pool) setUp(ctx context.Context) (err error) {
	for range setups {
		_, err = p.transact(ctx, []Operation{{Action: DeleteAll}, {Insert, 1, 10}, {Insert, 2, 20}})
		if err == nil || ctx.Err() != nil {
			return err
		}
	}
	return err
}

// transact does a transaction and returns the rows of its last operation.
func (p *pool) transact(ctx context.Context, operations []Operation) (rows []Row, err error) {
	session, err := p[t1].Session(ctx)
	if err != nil {
		return nil, err
	}
	r := session.Transaction(ctx, operations[0].Writes(), func(_ context.Context, t store.Transaction) (err error) {
		for _, o := range operations {
			if rows, err = do(ctx, t, o); err != nil {
				return err
			}
		}
		return nil
	})
	if r.Outcome != history.Committed {
		p[t1].Close()
		return nil, fmt.Errorf("interleaving: prepare or read the rows: %s: %w", r.Class, r.Err)
	}
	return rows, nil
}

// run gives all steps in order. A blocked session gets its further steps when it is free, while
// the others go on.
func (p *play) run(ctx context.Context, script *Script) (err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for i, a := range p.actors {
		go a.act(ctx, i, script.writes(i), p.answers)
	}
	for _, s := range script.steps {
		p.give(s)
		if err = p.settle(ctx); err != nil {
			break
		}
	}
	if err == nil {
		p.end(ctx, endBound)
		err = ctx.Err()
	}
	cancel()
	p.end(context.WithoutCancel(ctx), closingBound)
	return err
}

func (s *Script) sessions() (n int) {
	for _, step := range s.steps {
		n = max(n, step.session+1)
	}
	return n
}

func (s *Script) writes(session int) bool {
	return slices.ContainsFunc(s.steps, func(of step) bool { return of.session == session && of.end == 0 && of.Writes() })
}

// act does one session's transaction, step by step.
func (a *actor) act(ctx context.Context, session int, writes bool, answers chan<- answer) {
	reply := a.session.Transaction(ctx, writes, func(_ context.Context, t store.Transaction) error {
		for {
			var s step
			select {
			case s = <-a.given:
			case <-ctx.Done():
				return errStopped
			}
			switch s.end {
			case commits:
				return nil
			case aborts:
				return errAborted
			}
			rows, err := do(ctx, t, s.Operation)
			if err != nil {
				return err
			}
			answers <- answer{session: session, rows: rows}
		}
	})
	answers <- answer{session: session, ended: true, reply: reply}
}

func (p *play) give(s step) {
	a := p.actors[s.session]
	switch {
	case a.ended:
	case a.busy:
		a.queue = append(a.queue, s)
	default:
		a.latest, a.busy, a.waiting = s, true, false
		a.given <- s
		p.moved = time.Now()
	}
}

// take takes an answer, and gives the session its next queued step.
func (p *play) take(r answer) {
	a := p.actors[r.session]
	s := a.latest
	s.session = r.session // also before its first step
	a.waiting, p.moved = false, time.Now()
	waited := ""
	if a.waited && a.busy {
		waited = ", after it had waited"
	}
	if r.ended {
		a.ended, a.reply, a.busy, a.queue = true, r.reply, false, nil
		p.seen.committed[r.session] = r.reply.Outcome == history.Committed
		p.trace = append(p.trace, ended(s, r.reply)+waited)
		for _, other := range p.actors {
			other.waiting = false // what it had locked is free, so that it is asked anew who waits
		}
		return
	}
	a.busy = false
	text := s.String()
	if !s.Writes() {
		p.seen.reads[r.session] = append(p.seen.reads[r.session], r.rows)
		text += ": " + format(r.rows)
	}
	p.trace = append(p.trace, text+waited)
	if len(a.queue) > 0 {
		next := a.queue[0]
		a.queue = a.queue[1:]
		p.give(next)
	}
}

func ended(s step, r store.Reply) string {
	switch {
	case r.Outcome == history.Committed, errors.Is(r.Err, errAborted):
		return s.String()
	case r.Outcome == history.Failed:
		return s.String() + ": refused, " + r.Class
	default:
		return s.String() + ": outcome unknown, " + r.Class
	}
}

// settle returns when each session is free, has ended or is blocked.
func (p *play) settle(ctx context.Context) error {
	pause := firstLook
	for p.any(func(a *actor) bool { return a.busy }) {
		select {
		case r := <-p.answers:
			p.take(r)
			pause = firstLook
			continue
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
			pause = looks
		}
		if err := p.lookForWaits(ctx); err != nil {
			return err
		}
		if len(p.answers) == 0 && !p.any(func(a *actor) bool { return a.busy && !a.waiting }) {
			return nil
		}
	}
	return nil
}

func (p *play) lookForWaits(ctx context.Context) error {
	for _, a := range p.actors {
		if !a.busy || a.waiting {
			continue
		}
		waiting, known, err := a.session.Waiting(ctx)
		if err != nil {
			return err
		}
		if !known {
			waiting = time.Since(p.moved) >= waitBound
		}
		a.waiting = waiting
		a.waited = a.waited || waiting
	}
	return nil
}

func (p *play) end(ctx context.Context, bound time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, bound)
	defer cancel()
	for p.any(func(a *actor) bool { return !a.ended }) {
		select {
		case r := <-p.answers:
			p.take(r)
		case <-ctx.Done():
			return
		}
	}
}

func (p *play) any(is func(*actor) bool) bool { return slices.ContainsFunc(p.actors, is) }
