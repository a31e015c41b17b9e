package wire

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"runtime"
	"sync"
	"time"

	"assay/internal/eventloop"
)

// Proxy listens as the server and passes on. Its methods are safe for concurrent use.
type Proxy struct {
	protocol Protocol
	listener net.Listener
	// config has the certificate for encrypted applications, and authority has signed it.
	config    *tls.Config
	authority []byte
	running   sync.WaitGroup
	loops     eventloop.Loops
	ctx       context.Context
	stop      context.CancelFunc

	mu       sync.Mutex
	recorder *Recorder
	fault    *Fault
	links    map[*link]struct{}
	// away is true while the server may be away: its application is then refused.
	away bool
}

// dialTime bounds how long the server is waited for: as long as a driver of MongoDB looks for one.
const dialTime = 30 * time.Second

// Listen opens a Proxy at a TCP address.
func Listen(address string, protocol Protocol) (*Proxy, error) {
	return ListenFor(address, protocol, nil)
}

// ListenFor is Listen with a first recording whose transactions sink takes, unless it is nil.
func ListenFor(address string, protocol Protocol, sink Sink) (*Proxy, error) {
	return (&Proxy{protocol: protocol}).listen(address, sink)
}

// Again opens another Proxy at an address of the same host, with the same certificate.
func (p *Proxy) Again(address string) (*Proxy, error) {
	return (&Proxy{protocol: p.protocol, config: p.config, authority: p.authority}).listen(address, nil)
}

func (p *Proxy) listen(address string, sink Sink) (*Proxy, error) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen for the application: %w", err)
	}
	p.listener, p.recorder, p.links = listener, NewRecorder(), map[*link]struct{}{}
	p.recorder.sink = sink
	if p.config == nil {
		if p.config, p.authority, err = certify(listener.Addr()); err != nil {
			return nil, errors.Join(err, listener.Close())
		}
	}
	p.ctx, p.stop = context.WithCancel(context.Background())
	p.loops = eventloop.Several(max(1, runtime.GOMAXPROCS(0)/2)) // application and server take the others
	p.running.Go(p.accept)
	return p, nil
}

// Address is where it listens, as host:port.
func (p *Proxy) Address() string { return p.listener.Addr().String() }

// Authority is the certificate, as PEM, of who has signed that of the proxy.
func (p *Proxy) Authority() []byte { return p.authority }

// Record begins a new recording, in which fault is done; nil for none. Connections that are open
// go on in the earlier one.
func (p *Proxy) Record(fault *Fault) *Recorder {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.recorder, p.fault = NewRecorder(), fault
	return p.recorder
}

// Tolerate says whether the server may be away, which is else a failure of the recording's.
func (p *Proxy) Tolerate(away bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.away = away
}

// tolerates reports whether an error is nobody's failure: the server is away, which it may be, or the
// proxy ends.
func (p *Proxy) tolerates(err error) bool {
	_, is := errors.AsType[*AwayError](err)
	p.mu.Lock()
	defer p.mu.Unlock()
	return is && p.away || p.ctx.Err() != nil
}

// Arm sets what is done next, in the recording that goes on; nil for nothing. What a failover has left ends.
func (p *Proxy) Arm(fault *Fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fault = fault
	p.recorder.failOver(0)
	for l := range p.links {
		if l.arm(fault); l.standby {
			l.reset()
		}
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
	leave := time.AfterFunc(leaveTime, func() { p.cut(every) })
	defer leave.Stop()
	for {
		p.mu.Lock()
		left := len(p.links)
		p.mu.Unlock()
		if left == 0 {
			p.Recorder().leave()
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("the server has not answered %d connections: %w", left, ctx.Err())
		}
	}
}

// Leave takes no more connections, and is Quiet.
func (p *Proxy) Leave(ctx context.Context) error {
	if err := p.listener.Close(); err != nil {
		return err
	}
	return p.Quiet(ctx)
}

// Close ends the proxy and all of its connections.
func (p *Proxy) Close() error {
	p.stop()
	err := p.listener.Close()
	if errors.Is(err, net.ErrClosed) { // by Leave
		err = nil
	}
	p.cut(every)
	p.running.Wait()
	p.Recorder().leave()
	p.loops.Release()
	return err
}

func every(*link) bool { return true }

// cut resets the application's side of connections.
func (p *Proxy) cut(which func(*link) bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := range p.links {
		if which(l) {
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
func (p *Proxy) serve(conn net.Conn) {
	app := &App{Conn: eventloop.Wrap(conn), config: p.config}
	defer app.Close()
	l := &link{proxy: p, app: app, gone: make(chan struct{})}
	p.mu.Lock()
	l.recorder, l.fault = p.recorder, p.fault
	l.standby = l.recorder.failedOver()
	p.links[l] = struct{}{}
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		delete(p.links, l)
		p.mu.Unlock()
	}()
	defer l.contain()
	first, talk, err := p.protocol.Greet(p.ctx, app)
	if err != nil && !left(err) && !p.tolerates(err) {
		l.recorder.Fail(err)
	}
	if err != nil || talk == nil {
		return
	}
	l.number, l.talk, l.begins = l.recorder.opened(), talk, p.protocol.Words().BeginCommits
	if login, is := talk.(Login); is {
		l.settings = login.Settings()
	}
	l.recorder.touch()
	l.recorder.came(PlaceConnect, Other, false, false, func() []string { return nil })
	if f := l.faulty(); f.meets(PlaceConnect, Other, func() string { return PlaceConnect }, l.recorder.Now(), l.number) && l.refuse(f) {
		return
	}
	if restrict := p.protocol.Words().Restrict; l.standby && restrict != nil {
		first = restrict(first)
	}
	ctx, cancel := context.WithTimeout(p.ctx, dialTime)
	server, err := p.protocol.Dial(ctx)
	cancel()
	if err != nil {
		if !p.tolerates(&AwayError{err}) {
			l.recorder.Fail(fmt.Errorf("the server: %w", err))
		}
		return
	}
	l.server = eventloop.Wrap(server)
	p.mu.Lock()
	l.host = l.server.RemoteAddr().String()
	p.mu.Unlock()
	l.run(first)
}
