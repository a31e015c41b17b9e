package wire

import (
	"context"
	"io"
	"time"

	"assay/internal/eventloop"
)

// before reports whether it is done in place of passing the request on.
func (f *Fault) before() bool {
	return f.Action != AnswerLost && f.Action != AnswerSilent && f.Delay() == 0
}

// Replaces reports whether something else is sent in the request's place.
func (a Action) Replaces() bool {
	return a == GiveDeadlock || a == GiveSerialization
}

// act does something in place of passing a request on. It reports whether the connection goes
// on.
func (l *link) act(ctx context.Context, r *Request) bool {
	eventloop.Leave(ctx)
	if r.fault == nil { // what a standby does is asked for first
		return l.ask(ctx, l.talk.Ask(l.proxy.protocol.Words().ReadOnly, r)) && l.forward(ctx, r)
	}
	if r.fault.fails() && l.proxy.protocol.Error(NotPrimary, false, r) != nil { // and the server goes on
		l.proxy.cut(l.otherWatches)
		return l.give(ctx, r, NotPrimary)
	}
	if !r.fault.Action.Replaces() { // it does not reach the server
		l.mu.Lock()
		if r.Open = r.parted; !r.parted { // else it is in the queue
			l.add(r, true)
		}
		l.mu.Unlock()
	}
	switch action := r.fault.Action; {
	case r.fault.fails(): // another server has taken its address
		l.proxy.cut(func(other *link) bool { return other != l })
		l.farewell(ctx, ShuttingDown, r)
	case action == Cut:
		l.proxy.cut(func(other *link) bool { return other != l })
		l.reset()
	case action == Silent:
		l.hush()
		l.server.Close()
		_, _ = io.Copy(io.Discard, l.app) // until the application gives it up
		l.reset()
	case action == Shutdown:
		l.farewell(ctx, ShuttingDown, r)
	case action == GiveDeadlock:
		return l.give(ctx, r, Deadlock)
	case action == GiveSerialization:
		return l.give(ctx, r, Serialization)
	default:
		l.reset()
	}
	return false
}

// refuses reports whether the server has just stopped being the primary, and says so to r. l.mu is held.
func (l *link) refuses(r *Request) bool {
	return l.fault.fails() && l.recorder.failedOver() && l.proxy.protocol.Error(NotPrimary, false, r) != nil
}

// restricts reports whether a connection to a standby is to be told before r that it only reads, which
// holds until the application resets its session. l.mu is held.
func (l *link) restricts(r *Request) bool {
	if !l.standby || l.restricted || l.tx != nil || len(l.queue) > 0 {
		return false
	}
	l.restricted = l.proxy.protocol.Words().ReadOnly != ""
	return l.restricted
}

// farewell answers by an error, and ends the connection, and those that watch the server.
func (l *link) farewell(ctx context.Context, code Code, r *Request) {
	l.show(ctx, l.proxy.protocol.Error(code, true, r))
	l.app.Close()
	l.proxy.cut(l.otherWatches)
}

// otherWatches reports whether a library waits over another connection for the server to change, which it is to
// look at again.
func (l *link) otherWatches(other *link) bool { return other != l && other.watches() }

// give has the application read an error that ends its transaction, in the place of what it has
// sent.
func (l *link) give(ctx context.Context, r *Request, code Code) bool {
	words := l.proxy.protocol.Words()
	if text := words.Raise[code]; r.kind() != Commit && text != "" {
		own := l.talk.Ask(text, r)
		own.shown, own.Statements, own.place = true, r.Statements, r.place
		return l.ask(ctx, own)
	}
	own := l.talk.Ask(words.Rollback, r)
	own.place, own.instead, own.replaced = r.place, l.proxy.protocol.Error(code, false, r), r.Statements
	own.replaced[0].Error = "given by assay in the server's place"
	return l.ask(ctx, own)
}

// ask sends a request of assay's own.
func (l *link) ask(ctx context.Context, r *Request) bool {
	r.own, r.sent = true, l.recorder.Now()
	return l.forward(ctx, r)
}

// forward sends a request whose bytes were held.
func (l *link) forward(ctx context.Context, r *Request) bool {
	r.fault = nil
	l.mu.Lock()
	l.queue = append(l.queue, r)
	l.mu.Unlock()
	return l.pass(ctx, r.Bytes)
}

// answerFaulty deals with a part of the answer of a request of assay's own, or of one whose answer
// is not to come as it is.
func (l *link) answerFaulty(ctx context.Context, r *Request, part []byte, done bool) {
	switch {
	case r.own && r.shown:
		l.show(ctx, part)
	case r.own:
		if done && r.instead != nil {
			l.show(ctx, r.instead)
		}
	case r.fault.Delay() > 0:
		if !r.delayed {
			r.delayed = true
			eventloop.Leave(ctx)
			timer := time.NewTimer(r.fault.Delay())
			defer timer.Stop()
			select {
			case <-timer.C:
			case <-l.gone:
			}
			l.recorder.touch()
		}
		l.show(ctx, part)
	case done, r.Asks && r.tooMuch:
		l.lose(r.fault)
	case r.Asks: // else both sides would wait
		l.show(ctx, append(r.withheld, part...))
		r.Asks, r.withheld = false, nil
	default:
		r.withhold(part)
	}
}

// lose ends what has the application wait for an answer that does not come.
func (l *link) lose(f *Fault) {
	if f.Action == AnswerSilent {
		l.hush()
	} else {
		l.reset()
	}
}

// withhold keeps a part of an answer, which is shown if the server asks for data behind it.
func (r *Request) withhold(part []byte) {
	if r.tooMuch = r.tooMuch || len(r.withheld)+len(part) > bufferSize; r.tooMuch {
		r.withheld = nil
		return
	}
	r.withheld = append(r.withheld, part...)
}

// refuse answers a connection by an error; false if that is not what the fault does (see ActionsAt).
func (l *link) refuse(f *Fault) bool {
	switch f.Action {
	case TooMany:
		_, _ = l.app.Write(l.proxy.protocol.Error(TooManyConnections, true, nil))
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
	if tcp, is := l.app.Conn.(interface{ SetLinger(seconds int) error }); is {
		_ = tcp.SetLinger(0)
	}
	l.app.Conn.Close()
}
