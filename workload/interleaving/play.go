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
	// firstLook is how long a step may take before the database is asked whether it
	// waits, and looks is how often it is asked then.
	firstLook = 5 * time.Millisecond
	looks     = 20 * time.Millisecond
	// waitBound is how long a step may take, where the database does not tell of
	// waits, until it counts as waiting.
	waitBound = 3 * time.Second
	// endBound is how long, after the last step, the sessions may take to end. It
	// is longer than MySQL waits for a lock (innodb_lock_wait_timeout, 50 s).
	endBound = 75 * time.Second
	// closingBound is how long they may take once their context is over.
	closingBound = 10 * time.Second
	// setups is how often the rows of a script are tried to be written.
	setups = 5
)

// errAborted ends a transaction that a script aborts.
var errAborted = errors.New("interleaving: aborted by the script")

// errStopped ends a transaction that has steps left when the play is over.
var errStopped = errors.New("interleaving: the script was not played to its end")

// answer is what came of a step, or the end of a session's transaction.
type answer struct {
	session int
	rows    []Row
	ended   bool
	reply   store.Reply
}

// actor is one session of a script.
type actor struct {
	session store.Session
	given   chan step
	// latest is the step that was given last, busy is true until its answer.
	latest  step
	busy    bool
	queue   []step // for when it is not
	ended   bool
	reply   store.Reply
	waiting bool // as far as known now
	waited  bool // at some time
}

// play is one script under way.
type play struct {
	actors  []*actor // by the numbers of their sessions
	answers chan answer
	seen    observation
	trace   []string
	moved   time.Time // when the last step was given or answered
}

// pool keeps the sessions from one script to the next.
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

// play plays a script. The error says that the database could not be used.
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

// setUp writes the rows with which each script begins. What is left of the
// transactions of the script before may still be in the way for a moment.
func (p *pool) setUp(ctx context.Context) (err error) {
	for range setups {
		_, err = p.transact(ctx, []Operation{{Action: DeleteAll}, {Insert, 1, 10}, {Insert, 2, 20}})
		if err == nil || ctx.Err() != nil {
			return err
		}
	}
	return err
}

// transact does a transaction by itself and returns the rows of its last operation.
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

// run gives all steps in their order. A session whose step waits gets those that
// follow when it is done, and the others go on.
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

// sessions is how many sessions the script has.
func (s *Script) sessions() (n int) {
	for _, step := range s.steps {
		n = max(n, step.session+1)
	}
	return n
}

// writes is whether a session of the script changes anything.
func (s *Script) writes(session int) bool {
	return slices.ContainsFunc(s.steps, func(of step) bool { return of.session == session && of.end == 0 && of.Writes() })
}

// act does the transaction of one session, whose steps come one by one.
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

// give gives a step to its session, or keeps it until the session is free.
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

// take takes an answer, and gives the session the step that was kept for it.
func (p *play) take(r answer) {
	a := p.actors[r.session]
	s := a.latest
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

// ended describes how a transaction ended with its latest step.
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

// settle returns when each session is free, has ended, or waits for another.
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
		// An answer may have come meanwhile.
		if len(p.answers) == 0 && !p.any(func(a *actor) bool { return a.busy && !a.waiting }) {
			return nil
		}
	}
	return nil
}

// lookForWaits asks which of the busy sessions wait.
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

// end takes answers until all sessions have ended, ctx has, or the time is over.
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
