package wire

import "strings"

// requested enters a request, and reports whether something else is to be done than to pass it on.
func (l *link) requested(r *Request) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.recorder.Now()
	r.sent = now
	for _, s := range r.Statements {
		s.Sent, s.Answer = now, l.recorder.answer()
	}
	if r.Session != "" {
		l.tx = l.recorder.adopt(r.Session, l.number)
	}
	if l.tx != nil && len(l.queue) == 0 && l.tx.answered > 0 {
		l.tx.Idle += now - l.tx.answered
	}
	if len(r.Statements) == 0 {
		l.queue = append(l.queue, r)
		return false
	}
	kind := r.kind()
	shapes := l.shapes(r, kind)
	r.place = l.placeOf(shapes)
	l.recorder.came(r.place, kind, l.tx != nil || len(l.queue) > 0, func() []string { return shapes })
	if l.fault.meets(r.place, kind, func() string { return strings.Join(shapes, "\n") }, now, l.number) {
		r.fault = l.fault
		if !r.fault.before() { // and the answer is what it is about
			l.queue = append(l.queue, r)
			return false
		}
		return true
	}
	l.queue = append(l.queue, r)
	return false
}

// finish takes a request as answered, and reports whether nobody waits for anything more.
func (l *link) finish(r *Request) (last bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	defer func() { last = l.dead && len(l.queue) == 0 }()
	now := l.recorder.Now()
	l.queue = l.queue[1:]
	for _, s := range r.Statements {
		s.Answered = now
	}
	if r.own && !r.shown {
		if l.talk.State() == Idle && l.tx != nil {
			l.tx.Outcome = Refused
			l.end(r, true)
		}
		return false
	}
	if len(r.Statements) == 0 || l.tx == nil && r.kind() == Prepare {
		return false
	}
	l.add(r, l.talk.State() == Idle)
	l.tx.answered = now
	if l.talk.State() != Idle {
		l.park()
		return false
	}
	l.tx.Outcome = outcomeOf(r)
	if l.tx.Outcome == Committed && r.Once != "" && l.recorder.again(r.Once) {
		for _, s := range r.Statements { // which the server had done before
			s.Writes = false
		}
	}
	l.told = append(l.told, l.tx)
	l.end(r, !l.dead && !l.silent)
	return false
}

// add has a request be of the transaction that is open, or of a new one.
func (l *link) add(r *Request, alone bool) {
	if l.tx == nil {
		l.tx = &Transaction{Connection: l.number, Began: r.sent, Alone: alone && r.kind() == Other && r.Session == "", session: r.Session}
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
	outcome := Committed
	for _, s := range r.Statements {
		switch {
		case s.Doubtful:
			return Unknown
		case s.Error != "":
			return Refused
		case s.Kind == Rollback || s.Kind == Commit && strings.HasPrefix(s.Tag, "ROLLBACK"):
			outcome = RolledBack
		case s.Kind == Commit: // what comes behind it in one text takes nothing back
			return Committed
		}
	}
	return outcome
}

// end keeps the transaction that is open.
func (l *link) end(r *Request, told bool) {
	l.tx.Place, l.tx.Ended, l.tx.Told = r.place, l.recorder.Now(), told
	l.recorder.ended(l.tx)
	l.tx = nil
}

// over ends what the connection has left open.
func (l *link) over() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, r := range l.queue {
		if r.own || len(r.Statements) == 0 || l.tx == nil && r.kind() == Prepare {
			continue
		}
		l.add(r, true)
		if l.tx.Alone || r.kind() == Commit {
			l.tx.Outcome = Unknown
			if !l.park() {
				l.end(r, false)
			}
		}
	}
	if l.tx != nil && !l.park() {
		l.tx.Outcome = l.tx.left()
		l.end(&Request{}, false)
	}
}
