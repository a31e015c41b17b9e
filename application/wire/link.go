package wire

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"time"

	"assay/internal/eventloop"
)

// link is one connection of the application, and the one to the server behind it.
type link struct {
	proxy    *Proxy
	recorder *Recorder
	number   int
	app      *App
	server   net.Conn
	host     string // of the server; the proxy's mu guards it
	talk     Talk
	begins   bool // Words.BeginCommits
	settings map[string]string
	standby  bool // it leads to a server that takes no writes

	mu    sync.Mutex
	fault *Fault
	// queue are the requests that the server has not answered, the oldest first.
	queue []*Request
	open  *Request // whose end has not come; the goroutine that reads requests has it
	tx    *Transaction
	// learned is by the shapes that were met.
	learned map[string]learned
	// silent is true once nothing is to pass any more, and dead once the application's side was
	// reset.
	silent, dead bool
	restricted   bool // the server was told that a standby only reads
	// gone is closed when the application's side has ended.
	gone    chan struct{}
	writing sync.Mutex // of what goes to the application
	// told are transactions whose answers are about to reach the application. The goroutine that
	// reads answers has them.
	told []*Transaction
}

// bufferSize bounds what is kept of one direction: a request or a message beyond it passes in parts.
// It begins at firstSize, since many connections are idle.
const (
	bufferSize = 64 << 10
	firstSize  = 4 << 10
)

// drainTime bounds how long the server's answer is waited for once the application is gone.
const drainTime = 10 * time.Second

// run passes on until both sides have ended.
func (l *link) run(first []byte) {
	defer l.server.Close()
	if !l.pass(l.proxy.ctx, first) {
		return
	}
	var attached sync.WaitGroup
	attached.Add(2)
	answers, requests := l.start(l.server, &attached, l.fromServer), l.start(l.app.now(), &attached, l.fromApplication)
	<-requests
	// What has reached the server has its effect: what that is decides the outcome.
	l.mu.Lock()
	l.dead = true
	waits := l.waits()
	l.mu.Unlock()
	close(l.gone) // once an answer that was held back is not told any more
	if waits {
		defer time.AfterFunc(drainTime, func() { _ = l.server.Close() }).Stop()
	} else {
		l.server.Close()
	}
	<-answers
	l.over()
}

// waits reports whether the server is to answer something that decides an outcome. Of a pipeline whose
// end does not come it commits nothing but by a COMMIT within, and of data whose end does not come nothing.
// It keeps its locks meanwhile. l.mu is held.
func (l *link) waits() bool {
	return !l.owes() && slices.ContainsFunc(l.queue, func(r *Request) bool { return !r.Quiet && (!r.Open || r.commits()) })
}

// start has one direction be passed on once both are attached, since one writes where the other reads.
// What it returns is closed at its end.
func (l *link) start(reads net.Conn, attached *sync.WaitGroup, direction func(context.Context)) <-chan struct{} {
	ended := make(chan struct{})
	l.proxy.loops.Start(l.proxy.ctx, l.number, func(ctx context.Context) {
		defer close(ended)
		defer l.contain()
		eventloop.Attach(ctx, reads)
		attached.Done()
		attached.Wait()
		direction(ctx)
	})
	return ended
}

// contain keeps one connection's bytes from ending the others.
func (l *link) contain() {
	if cause := recover(); cause != nil {
		l.recorder.Fail(fmt.Errorf("assay failed at a connection, which proves nothing about the application: %v", cause))
	}
}

// room has a buffer take more once it was filled, and no more than it has to once it is empty.
func room(buffer []byte, held int, filled bool) []byte {
	switch {
	case held == len(buffer), filled && len(buffer) < bufferSize:
		return append(buffer, make([]byte, len(buffer))...)
	case held == 0 && len(buffer) > bufferSize:
		return make([]byte, bufferSize)
	}
	return buffer
}

// fromApplication passes requests on until the application's side ends.
func (l *link) fromApplication(ctx context.Context) {
	buffer := make([]byte, firstSize)
	held, coming := 0, 0
	replaced := false // the last request, by one of assay's own
	for {
		n, err := l.app.Read(buffer[held:])
		held += n
		filled := held == len(buffer)
		at, from, alive := 0, 0, true
		for at < held && alive {
			size, r, rest := coming, (*Request)(nil), coming > 0
			if !rest {
				size, r = l.talk.Request(buffer[at:held], at == 0 && filled && held >= bufferSize)
				rest = r != nil && r.Rest
			}
			if size == 0 {
				break
			}
			coming = max(0, size-(held-at))
			size -= coming
			if r == nil || !r.Quiet {
				l.recorder.touch()
			}
			if replaced = replaced && rest; replaced {
				alive = l.pass(ctx, buffer[from:at])
				at += size
				from = at
				continue
			}
			if r != nil && r.Encrypts {
				alive = l.pass(ctx, buffer[from:at]) && l.encrypt(ctx, buffer[at+size:held])
				held, at, from = 0, 0, 0
				break
			}
			if r != nil && r.Replaced != nil {
				alive = l.pass(ctx, buffer[from:at]) && l.replace(ctx, r)
				at += size
				from = at
				continue
			}
			if r != nil && !rest {
				r = l.joined(r)
			}
			if r != nil && !rest && l.requested(r) {
				r.Bytes = buffer[at : at+size]
				alive = l.pass(ctx, buffer[from:at]) && l.act(ctx, r)
				from = at + size
				replaced = r.fault != nil // one that was sent has none any more
			}
			at += size
		}
		if err != nil { // what it broke off in, too
			at = held
		}
		if !alive || !l.pass(ctx, buffer[from:at]) || err != nil {
			return
		}
		copy(buffer, buffer[at:held])
		held -= at
		buffer = room(buffer, held, filled)
	}
}

// encrypt does so with the application's side, of whose handshake something was read already.
func (l *link) encrypt(ctx context.Context, read []byte) bool {
	eventloop.Detach(l.app.Conn)
	eventloop.Leave(ctx)
	err := l.app.Encrypt(slices.Clone(read))
	if err != nil && !left(err) {
		l.recorder.Fail(err)
	}
	return err == nil
}

// replace passes on what is made in a request's place.
func (l *link) replace(ctx context.Context, r *Request) bool {
	eventloop.Leave(ctx)
	b, err := r.Replaced(ctx)
	if err != nil {
		if !l.proxy.tolerates(err) {
			l.recorder.Fail(fmt.Errorf("the server: %w", err))
		}
		return false
	}
	return l.pass(ctx, b)
}

// pass sends bytes to the server.
func (l *link) pass(ctx context.Context, b []byte) bool {
	if len(b) == 0 {
		return true
	}
	_, err := eventloop.Write(ctx, l.server, b)
	l.refused(err)
	return err == nil
}

// refused enters that the server's connection cannot be made.
func (l *link) refused(err error) {
	if failed, is := errors.AsType[*LoginError](err); is {
		l.recorder.Fail(fmt.Errorf("the server: %w", failed))
	}
}

// fromServer passes answers on until the server's side ends.
func (l *link) fromServer(ctx context.Context) {
	defer func() {
		if !l.quiet() { // and one that is silent stays as it is
			l.app.Close()
		}
	}()
	buffer := make([]byte, firstSize)
	held, coming, last := 0, 0, false
	for {
		n, err := l.server.Read(buffer[held:])
		held += n
		at, from := 0, 0
		for at < held {
			r, altered := l.head()
			size := coming
			if coming == 0 {
				size, last = l.talk.Answer(buffer[at:held], r)
			}
			if size == 0 {
				break
			}
			coming = max(0, size-(held-at))
			size -= coming
			done := last && coming == 0
			if r == nil || !r.Quiet {
				l.recorder.touch()
			}
			at += size
			over := r != nil && r.Asks && l.feeds(r)
			if altered {
				l.tell(ctx, buffer[from:at-size])
				l.answerFaulty(ctx, r, buffer[at-size:at], done)
				from = at
			}
			if r != nil {
				r.Asks = false
			}
			if over || done && r != nil && l.finish(r) {
				l.tell(ctx, buffer[from:at])
				return
			}
			if r != nil && r.Moved {
				l.tell(ctx, buffer[from:at])
				l.proxy.cut(func(other *link) bool { return other != l && other.host == l.host })
				return
			}
		}
		l.tell(ctx, buffer[from:at])
		if err != nil {
			l.refused(err)
			return
		}
		filled := held == len(buffer)
		copy(buffer, buffer[at:held])
		held -= at
		buffer = room(buffer, held, filled)
	}
}

// head is the request that is answered now, nil if there is none; altered is true if its answer does not
// pass as it is.
func (l *link) head() (r *Request, altered bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.queue) == 0 {
		return nil, false
	}
	r = l.queue[0]
	return r, r.own || r.fault != nil
}

// joined is the request that r is a part of, with what has come of it.
func (l *link) joined(r *Request) *Request {
	whole, now := l.open, l.recorder.Now()
	for _, s := range r.Statements {
		s.Sent, s.Answer = now, l.recorder.answer()
		s.conceal(l.learn(s.Shape).secret)
	}
	switch {
	case whole == nil && r.Open:
		l.open, r.joining = r, &sync.Mutex{}
		return r
	case whole == nil:
		return r
	case !r.Open:
		l.open = nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	whole.joining.Lock()
	defer whole.joining.Unlock()
	whole.Statements = append(whole.Statements, r.Statements...)
	whole.Open, whole.parted = r.Open, true
	return whole
}

// enqueue has a request wait for its answer. l.mu is held.
func (l *link) enqueue(r *Request) {
	if !r.queued {
		r.queued = true
		l.queue = append(l.queue, r)
	}
}

// dequeue takes out the one that is answered. l.mu is held.
func (l *link) dequeue(r *Request) {
	answered := 1
	if r.fed && len(l.queue) > 1 && l.queue[1].Follows {
		answered = 2
	}
	l.queue = slices.Delete(l.queue, 0, answered) // it keeps its memory
}

// feeds enters that the server takes data for r now, and reports whether nobody waits for what comes of that:
// the application has gone before it could send them.
func (l *link) feeds(r *Request) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	r.fed = true
	return l.dead && !l.waits()
}

// watches reports whether a library waits there for the server to change.
func (l *link) watches() bool {
	head, _ := l.head()
	return head != nil && head.Quiet
}

// tell shows answers. What did not reach the application was not told.
func (l *link) tell(ctx context.Context, b []byte) {
	l.recorder.settle(l.told, l.show(ctx, b))
	l.told = l.told[:0]
}

// show sends bytes to the application, and reports whether they were. One that is gone reads none, and
// the server's answers are read all the same.
func (l *link) show(ctx context.Context, b []byte) bool {
	if len(b) == 0 || l.quiet() {
		return len(b) == 0
	}
	l.writing.Lock()
	defer l.writing.Unlock()
	_, err := eventloop.Write(ctx, l.app.now(), b)
	if err != nil {
		l.mu.Lock()
		l.dead = true
		l.mu.Unlock()
	}
	return err == nil
}

// quiet is true if nothing is to reach the application any more.
func (l *link) quiet() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.silent || l.dead
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
