package wire

import (
	"cmp"
	"strings"
)

// requested enters a request, and reports whether something else is to be done than to pass it on.
func (l *link) requested(r *Request) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.recorder.Now()
	if !r.queued {
		r.sent = now
	}
	if r.Session != "" {
		l.tx = l.recorder.adopt(r.Session, l.number)
	}
	if len(l.queue) == 0 {
		l.resume(r)
	}
	if l.tx != nil && len(l.queue) == 0 && l.tx.answered > 0 {
		l.tx.Idle += now - l.tx.answered
	}
	if len(r.Statements) == 0 || r.Open {
		l.restricted = false // it may reset the session
		l.enqueue(r)
		return false
	}
	kind := r.kind()
	shapes := l.shapes(r, kind)
	if len(shapes) == 1 {
		r.place = l.learn(shapes[0]).place
	} else {
		r.place = placeOf(shapes)
	}
	within := l.tx != nil || len(l.queue) > 0 && l.queue[0] != r // which waits itself where it came in parts
	l.recorder.came(r.place, kind, within, r.parted, func() []string { return shapes })
	met := !(r.parted && l.fault != nil && l.fault.Action.Replaces()) && l.fault.meets(r.place, kind, func() string { return strings.Join(shapes, "\n") }, now, l.number)
	if met && l.fault.fails() {
		l.recorder.failOver(l.fault.Lasts())
	}
	if met || l.refuses(r) {
		r.fault = l.fault
		if !r.fault.before() { // and the answer is what it is about
			l.enqueue(r)
			return false
		}
		return true
	}
	if l.restricts(r) {
		return true
	}
	l.enqueue(r)
	return false
}

// finish takes a request as answered, and reports whether nobody waits for anything more.
func (l *link) finish(r *Request) (last bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	defer func() { last = l.dead && !l.waits() }()
	now := l.recorder.Now()
	l.dequeue(r)
	for _, s := range r.Statements {
		s.Answered = now
		s.concealError()
	}
	if r.own && !r.shown {
		if r.instead != nil {
			for _, s := range r.replaced {
				s.Answered = now
			}
			l.add(&Request{Statements: r.replaced, Session: r.Session, place: r.place, sent: r.sent}, true)
		}
		if l.talk.State() == Idle && l.tx != nil {
			l.tx.Outcome = Refused
			l.end(r, true)
		}
		return false
	}
	if len(r.Statements) == 0 {
		l.cleared()
		return false
	}
	if l.tx == nil && r.kind() == Prepare {
		return false
	}
	state, told := l.talk.State(), !l.dead && !l.silent
	ended, r := r.parts(state != Idle && r.Session == "", l.begins) // a session's commit may be sent again
	for _, part := range ended {
		l.enter(part, true, told)
		l.conclude(part, told)
	}
	if r == nil {
		return false
	}
	l.enter(r, state == Idle, told)
	l.tx.answered = now
	if state == Idle || prepares(r.Statements) != "" {
		l.conclude(r, told)
	} else {
		l.park()
	}
	return false
}

// enter is add of a request that was answered. One that begins, or that the server does in no
// transaction, has ended what was open.
func (l *link) enter(r *Request, alone, told bool) {
	if first := r.Statements[0]; l.tx != nil && first.parts(l.begins) {
		place := l.tx.Place
		if first.Before != "" {
			place = r.place // where it was committed
		}
		l.tx.Outcome = cmp.Or(first.Before, Committed)
		l.end(&Request{place: place}, told)
	}
	l.add(r, alone)
}

// cleared ends a transaction that the server has rolled back without a statement: a pool has reset the
// connection, or has given it to another user.
func (l *link) cleared() {
	if l.tx == nil || l.tx.session != "" || l.talk.State() != Idle {
		return
	}
	l.tx.Outcome = RolledBack
	l.end(&Request{}, !l.dead && !l.silent)
}

// add has a request be of the transaction that is open, or of a new one.
func (l *link) add(r *Request, alone bool) {
	l.resume(r)
	if l.tx == nil {
		l.tx = &Transaction{Connection: l.number, Began: r.sent, Alone: alone && r.kind() == Other && r.Session == "", session: r.Session, Settings: l.settings}
	}
	if len(l.tx.Statements) < maxStatements {
		l.tx.Statements = append(l.tx.Statements, r.Statements...)
	}
	l.tx.Place = r.place
}

// park leaves a transaction that can go on over another connection for that.
func (l *link) park() bool {
	if l.tx == nil || l.tx.session == "" {
		return false
	}
	l.recorder.park(l.tx)
	l.tx = nil
	return true
}

// maxStatements bounds what is kept of one transaction.
const maxStatements = 10_000

// outcomeOf is what became of the transaction that this request has ended.
func outcomeOf(r *Request) Outcome {
	outcome := cmp.Or(r.before, Committed)
	for _, s := range r.Statements {
		switch {
		case s.Doubtful:
			return Unknown
		case s.Error != "":
			return Refused
		case s.Kind == Rollback || s.fell():
			outcome = RolledBack
		case s.Kind == Commit: // what comes behind it in one text takes nothing back
			return Committed
		}
	}
	return outcome
}

// fell reports whether the server has rolled back where it was asked for something else.
func (s *Statement) fell() bool {
	return strings.HasPrefix(s.Tag, "ROLLBACK") && (s.Kind == Commit || prepares([]*Statement{s}) != "")
}

// end keeps the transaction that is open.
func (l *link) end(r *Request, told bool) {
	l.tx.Place = r.place
	if l.undecided() {
		return
	}
	l.tx.Ended, l.tx.Told = l.recorder.Now(), told
	if l.recorder.ended(l.tx); told {
		l.told = append(l.told, l.tx)
	}
	l.tx = nil
}

// owes reports whether data of the application's are missing for which the server has asked.
func (l *link) owes() bool {
	owing, is := l.talk.(Owing)
	return is && owing.Owes()
}

// over ends what the connection has left open.
func (l *link) over() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, r := range l.queue {
		if r.own || len(r.Statements) == 0 || l.tx == nil && r.kind() == Prepare {
			continue
		}
		ended, r := r.parts(false, l.begins)
		for _, part := range ended {
			l.add(part, true)
			l.tx.Outcome = outcomeOf(part)
			l.end(part, false)
		}
		// Of one whose end, or whose data's, was not sent the server commits nothing.
		if l.add(r, !r.Open); prepares(r.Statements) != "" {
			l.tx.session = prepares(r.Statements)
		} else if !l.tx.Alone && !r.commits() || r.Discards && l.owes() {
			continue
		}
		l.tx.Outcome = Unknown
		if !l.park() {
			l.end(r, false)
		}
	}
	if l.tx != nil && !l.park() {
		l.tx.Outcome = l.tx.left()
		l.end(&Request{}, false)
	}
}
