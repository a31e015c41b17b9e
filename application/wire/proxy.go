package wire

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"
)

// Proxy listens as the server and passes on. Its methods are safe for concurrent use.
type Proxy struct {
	protocol Protocol
	listener net.Listener
	running  sync.WaitGroup
	ctx      context.Context
	stop     context.CancelFunc

	mu       sync.Mutex
	recorder *Recorder
	fault    *Fault
	links    map[*link]struct{}
}

// dialTime bounds how long the server is waited for.
const dialTime = 10 * time.Second

// Listen opens a Proxy at a TCP address.
func Listen(address string, protocol Protocol) (*Proxy, error) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen for the application: %w", err)
	}
	p := &Proxy{protocol: protocol, listener: listener, recorder: NewRecorder(), links: map[*link]struct{}{}}
	p.ctx, p.stop = context.WithCancel(context.Background())
	p.running.Go(p.accept)
	return p, nil
}

// Address is where it listens, as host:port.
func (p *Proxy) Address() string { return p.listener.Addr().String() }

// Record begins a new recording, in which fault is done; nil for none. Connections that are open
// go on in the earlier one.
func (p *Proxy) Record(fault *Fault) *Recorder {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.recorder, p.fault = NewRecorder(), fault
	return p.recorder
}

// Arm sets what is done next, in the recording that goes on; nil for nothing.
func (p *Proxy) Arm(fault *Fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fault = fault
	for l := range p.links {
		l.arm(fault)
	}
}

// Armed is what is done next; nil for nothing.
func (p *Proxy) Armed() *Fault {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.fault
}

// Recorder is the recording that goes on.
func (p *Proxy) Recorder() *Recorder {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.recorder
}

// leaveTime is how long connections may take to end whose application has.
const leaveTime = time.Second

// Quiet waits until all connections have ended whose application has, and ends what is left. It
// returns when the server has answered what had reached it, or when ctx ends.
func (p *Proxy) Quiet(ctx context.Context) error {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	leave := time.AfterFunc(leaveTime, func() { p.cut(nil) })
	defer leave.Stop()
	for {
		p.mu.Lock()
		left := len(p.links)
		p.mu.Unlock()
		if left == 0 {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("the server has not answered %d connections: %w", left, ctx.Err())
		}
	}
}

// Close ends the proxy and all of its connections.
func (p *Proxy) Close() error {
	p.stop()
	err := p.listener.Close()
	p.cut(nil)
	p.running.Wait()
	return err
}

// cut resets the application's side of every connection but one.
func (p *Proxy) cut(but *link) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := range p.links {
		if l != but {
			l.reset()
		}
	}
}

func (p *Proxy) accept() {
	for {
		app, err := p.listener.Accept()
		if err != nil {
			if p.ctx.Err() == nil && !errors.Is(err, net.ErrClosed) {
				p.Recorder().Fail(fmt.Errorf("assay could not take a connection: %w", err))
				if _, again := errors.AsType[net.Error](err); again {
					time.Sleep(10 * time.Millisecond)
					continue
				}
			}
			return
		}
		p.running.Go(func() { p.serve(app) })
	}
}

// serve is one connection's life.
func (p *Proxy) serve(app net.Conn) {
	defer app.Close()
	l := &link{proxy: p, app: app, gone: make(chan struct{})}
	p.mu.Lock()
	l.recorder, l.fault = p.recorder, p.fault
	p.links[l] = struct{}{}
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		delete(p.links, l)
		p.mu.Unlock()
	}()
	defer func() { // one connection's bytes must not end the others
		if cause := recover(); cause != nil {
			l.recorder.Fail(fmt.Errorf("assay failed at a connection: %v", cause))
		}
	}()
	first, talk, err := p.protocol.Greet(p.ctx, app)
	if err != nil {
		l.recorder.Fail(err)
		return
	}
	if talk == nil {
		return
	}
	l.number, l.talk = l.recorder.opened(), talk
	l.recorder.touch()
	l.recorder.came(PlaceConnect, Other, false, func() []string { return nil })
	if l.faulty().meets(PlaceConnect, Other, func() string { return PlaceConnect }, l.recorder.Now(), l.number) && l.refuse() {
		return
	}
	ctx, cancel := context.WithTimeout(p.ctx, dialTime)
	l.server, err = p.protocol.Dial(ctx)
	cancel()
	if err != nil {
		l.recorder.Fail(fmt.Errorf("the server: %w", err))
		return
	}
	l.run(first)
}
