package wire

import (
	"errors"
	"io"
	"net"
	"time"
)

var errOwn = errors.New("assay failed at a connection, which proves nothing about the application")

// before reports whether it is done in place of passing the request on.
func (f *Fault) before() bool {
	return f.Action != AnswerLost && f.Action != AnswerSilent && f.delay() == 0
}

// act does something in place of passing a request on. It reports whether the connection goes
// on.
func (l *link) act(r *Request) bool {
	switch r.fault.Action {
	case GiveDeadlock, GiveSerialization, Standby:
	default: // it does not reach the server
		l.mu.Lock()
		l.add(r, true)
		l.mu.Unlock()
	}
	switch r.fault.Action {
	case Cut:
		l.proxy.cut(l)
		l.reset()
	case Silent:
		l.hush()
		l.server.Close()
		_, _ = io.Copy(io.Discard, l.app) // until the application gives it up
		l.reset()
	case Shutdown:
		l.show(l.proxy.protocol.Error(ShuttingDown, true))
		l.app.Close()
	case GiveDeadlock:
		return l.give(r, Deadlock)
	case GiveSerialization:
		return l.give(r, Serialization)
	case Standby:
		if !l.ask(l.talk.Ask(l.proxy.protocol.ReadOnly())) {
			return false
		}
		return l.forward(r)
	default:
		l.reset()
	}
	return false
}

// give has the application read an error that ends its transaction, in the place of what it has
// sent.
func (l *link) give(r *Request, code Code) bool {
	text := l.proxy.protocol.Raise(code)
	if r.kind() != Commit && text != "" {
		own := l.talk.Ask(text)
		own.shown, own.Statements, own.place = true, r.Statements, r.place
		return l.ask(own)
	}
	own := l.talk.Ask(l.proxy.protocol.Rollback())
	own.place, own.instead = r.place, l.proxy.protocol.Error(code, false)
	return l.ask(own)
}

// ask sends a request of assay's own.
func (l *link) ask(r *Request) bool {
	r.own, r.sent = true, l.recorder.Now()
	l.mu.Lock()
	l.queue = append(l.queue, r)
	l.mu.Unlock()
	return l.pass(r.Bytes)
}

// forward sends a request whose bytes were held.
func (l *link) forward(r *Request) bool {
	l.mu.Lock()
	l.queue = append(l.queue, r)
	l.mu.Unlock()
	r.fault = nil
	return l.pass(r.Bytes)
}

// answerFaulty deals with a part of the answer of a request of assay's own, or of one whose answer
// is not to come as it is.
func (l *link) answerFaulty(r *Request, part []byte, done bool) {
	switch {
	case r.own && r.shown:
		l.show(part)
	case r.own:
		if done && r.instead != nil {
			l.show(r.instead)
		}
	case r.fault.delay() > 0:
		if !r.delayed {
			r.delayed = true
			timer := time.NewTimer(r.fault.delay())
			defer timer.Stop()
			select {
			case <-timer.C:
			case <-l.gone:
			}
			l.recorder.touch()
		}
		l.show(part)
	case done && r.fault.Action == AnswerSilent:
		l.hush()
	case done:
		l.reset()
	}
}

// refuse answers a connection by an error; false if that is not what the fault does.
func (l *link) refuse() bool {
	switch l.fault.Action {
	case TooMany:
		_, _ = l.app.Write(l.proxy.protocol.Error(TooManyConnections, true))
	case Silent:
		_, _ = io.Copy(io.Discard, l.app)
	case Reset:
		l.reset()
	default:
		return false
	}
	return true
}

// hush lets nothing reach the application any more.
func (l *link) hush() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.silent = true
}

// reset ends the application's side at once, without a farewell.
func (l *link) reset() {
	l.mu.Lock()
	l.dead = true
	l.mu.Unlock()
	if tcp, is := l.app.(*net.TCPConn); is {
		_ = tcp.SetLinger(0)
	}
	l.app.Close()
}
