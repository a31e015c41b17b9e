package wire

import (
	"net"
	"strings"
	"sync"
	"time"
)

// link is one connection of the application, and the one to the server behind it.
type link struct {
	proxy       *Proxy
	recorder    *Recorder
	number      int
	app, server net.Conn
	talk        Talk

	mu    sync.Mutex
	fault *Fault
	// queue are the requests that the server has not answered, the oldest first.
	queue []*Request
	tx    *Transaction
	// answered is when the server last answered while a transaction is open.
	answered time.Duration
	// silent is true once nothing is to pass any more, and dead once the application's side was
	// reset.
	silent, dead bool
	// gone is closed when the application's side has ended.
	gone    chan struct{}
	writing sync.Mutex // of what goes to the application
}

// bufferSize bounds what is kept of one direction: a request or a message beyond it passes in parts.
const bufferSize = 64 << 10

// drainTime bounds how long the server's answer is waited for once the application is gone.
const drainTime = 10 * time.Second

// run passes on until both sides have ended.
func (l *link) run(first []byte) {
	defer l.server.Close()
	if _, err := l.server.Write(first); err != nil {
		return
	}
	answers := make(chan struct{})
	go func() {
		defer close(answers)
		defer func() {
			if recover() != nil {
				l.recorder.Fail(errOwn)
			}
			if !l.quiet() { // and one that is silent stays as it is
				l.app.Close()
			}
		}()
		l.fromServer()
	}()
	l.fromApplication()
	close(l.gone)
	// What has reached the server has its effect: what that is decides the outcome.
	l.mu.Lock()
	l.dead = true
	waiting := len(l.queue) > 0
	l.mu.Unlock()
	if waiting {
		_ = l.server.SetReadDeadline(time.Now().Add(drainTime))
		<-answers
	} else {
		l.server.Close()
		<-answers
	}
	l.over()
}

// fromApplication passes requests on until the application's side ends.
func (l *link) fromApplication() {
	buffer := make([]byte, bufferSize)
	held := 0
	for {
		n, err := l.app.Read(buffer[held:])
		if n > 0 {
			l.recorder.touch()
		}
		held += n
		at, from, alive := 0, 0, true
		for at < held && alive {
			size, r := l.talk.Request(buffer[at:held], at == 0 && held == len(buffer))
			if size == 0 {
				break
			}
			if r != nil && l.requested(r) {
				r.Bytes = buffer[at : at+size]
				alive = l.pass(buffer[from:at]) && l.act(r)
				from = at + size
			}
			at += size
		}
		if alive && !l.pass(buffer[from:at]) || !alive || err != nil {
			return
		}
		copy(buffer, buffer[at:held])
		held -= at
	}
}

// pass sends bytes to the server.
func (l *link) pass(b []byte) bool {
	if len(b) == 0 {
		return true
	}
	_, err := l.server.Write(b)
	return err == nil
}

// requested enters a request, and reports whether something else is to be done than to pass it on.
func (l *link) requested(r *Request) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.recorder.Now()
	r.sent = now
	for _, s := range r.Statements {
		s.Sent = now
	}
	state := l.talk.State()
	if state != Idle && l.tx != nil && len(l.queue) == 0 && l.answered > 0 {
		l.tx.Idle += now - l.answered
	}
	if len(r.Statements) == 0 {
		l.queue = append(l.queue, r)
		return false
	}
	kind := r.kind()
	shapes := l.shapes(r, kind)
	r.place = placeOf(shapes)
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

// shapes tell the place: of COMMIT, also what the transaction has sent.
func (l *link) shapes(r *Request, kind Kind) (all []string) {
	if kind == Commit {
		if l.tx != nil {
			all = l.tx.Shapes()
		}
		for _, q := range l.queue {
			for _, s := range q.Statements {
				if s.Kind == Other {
					all = append(all, s.Shape)
				}
			}
		}
	}
	for _, s := range r.Statements {
		all = append(all, s.Shape)
	}
	return all
}

// fromServer passes answers on until the server's side ends.
func (l *link) fromServer() {
	buffer := make([]byte, bufferSize)
	held := 0
	for {
		n, err := l.server.Read(buffer[held:])
		if n > 0 {
			l.recorder.touch()
		}
		held += n
		at, from := 0, 0
		for at < held {
			r := l.head()
			size, done := l.talk.Answer(buffer[at:held], r)
			if size == 0 {
				break
			}
			at += size
			if r != nil && (r.own || r.fault != nil) {
				l.show(buffer[from : at-size])
				l.answerFaulty(r, buffer[at-size:at], done)
				from = at
			}
			if done && r != nil && l.finish(r) {
				return
			}
		}
		l.show(buffer[from:at])
		if err != nil {
			return
		}
		copy(buffer, buffer[at:held])
		held -= at
	}
}

func (l *link) head() *Request {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.queue) == 0 {
		return nil
	}
	return l.queue[0]
}

// show sends bytes to the application. One that is gone reads none, and the server's answers
// are read all the same.
func (l *link) show(b []byte) {
	if len(b) == 0 || l.quiet() {
		return
	}
	l.writing.Lock()
	defer l.writing.Unlock()
	if _, err := l.app.Write(b); err != nil {
		l.mu.Lock()
		l.dead = true
		l.mu.Unlock()
	}
}

// quiet is true if nothing is to reach the application any more.
func (l *link) quiet() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.silent || l.dead
}

// finish takes a request as answered, and reports whether nobody waits for anything more.
func (l *link) finish(r *Request) (last bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	defer func() { last = l.dead && len(l.queue) == 0 }()
	now := l.recorder.Now()
	l.queue = l.queue[1:]
	l.answered = now
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
	if l.talk.State() == Idle {
		l.tx.Outcome = outcomeOf(r)
		l.end(r, !l.dead && !l.silent)
	}
	return false
}

// add has a request be of the transaction that is open, or of a new one.
func (l *link) add(r *Request, alone bool) {
	if l.tx == nil {
		l.tx = &Transaction{Connection: l.number, Began: r.sent, Alone: alone && r.kind() == Other}
	}
	if len(l.tx.Statements) < maxStatements {
		l.tx.Statements = append(l.tx.Statements, r.Statements...)
	}
}

// maxStatements bounds what is kept of one transaction.
const maxStatements = 10_000

// outcomeOf is what became of the transaction that this request has ended.
func outcomeOf(r *Request) Outcome {
	outcome := Committed
	for _, s := range r.Statements {
		switch {
		case s.Error != "":
			return Refused
		case s.Kind == Rollback || s.Kind == Commit && strings.HasPrefix(s.Tag, "ROLLBACK"):
			outcome = RolledBack
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
			l.end(r, false)
		}
	}
	if l.tx != nil {
		l.tx.Outcome = Abandoned
		l.end(&Request{}, false)
	}
}

func (l *link) arm(f *Fault) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.fault = f
}

func (l *link) faulty() *Fault {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.fault
}
