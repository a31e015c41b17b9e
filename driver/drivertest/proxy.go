package drivertest

import (
	"bytes"
	"net"
	"sync"
	"testing"
	"time"

	"assay/internal/expect"
)

// Proxy stands between a client and a server on loopback TCP and breaks the traffic. Its
// methods are safe for concurrent use.
type Proxy struct {
	server   string
	listener net.Listener
	running  sync.WaitGroup
	http2    bool

	mu      sync.Mutex
	mode    mode
	trigger *trigger
	rewrite [2][]byte
	sent    *bytes.Buffer // what clients have sent since Record; nil before
	links   map[*link]struct{}
	changed chan struct{} // closed and replaced when mode changes
}

type mode int

const (
	pass    mode = iota // forward both ways
	cut                 // no connection lives, and none comes about
	swallow             // forward to the server, drop its answers
	freeze              // keep the connections, forward nothing until later
)

type trigger struct {
	marker  []byte
	deliver bool
	seen    chan struct{}
}

type link struct {
	client, server net.Conn
	// tail is the end of the client's last bytes, for a marker split over two reads. Only the
	// pump towards the server uses it.
	tail []byte
	// doomed is set, under the proxy's lock, when the marker has passed. The server's next
	// answer is swallowed and cuts everything.
	doomed *trigger
	// frames follow an HTTP/2 server; other servers send only answers.
	frames frames
}

// answerWait bounds the wait for the answer to the marker; after it everything is cut.
const answerWait = 5 * time.Second

// NewProxy listens on a free port of 127.0.0.1 and forwards to server ("host:port"). It ends
// with the test.
func NewProxy(t *testing.T, server string) *Proxy {
	t.Helper()
	return newProxy(t, server, false)
}

func newProxy(t *testing.T, server string, http2 bool) *Proxy {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	expect.NoError(t, err)
	p := &Proxy{server: server, http2: http2, listener: listener, links: map[*link]struct{}{}, changed: make(chan struct{})}
	p.running.Go(p.accept)
	t.Cleanup(p.close)
	return p
}

// Addr is the proxy's own "host:port".
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// Pass forwards everything, beginning with the bytes that Freeze held back.
func (p *Proxy) Pass() { p.set(pass) }

// Cut closes all connections, and new ones at once, until Pass.
func (p *Proxy) Cut() { p.set(cut) }

// Swallow drops the server's answers.
func (p *Proxy) Swallow() { p.set(swallow) }

// Freeze holds all bytes back, as a silent network does. They arrive after Pass.
func (p *Proxy) Freeze() { p.set(freeze) }

// Arm waits for the marker, in upper or lower case, in the client's bytes and then cuts as Cut
// does. With deliver it cuts after the server has got the marker and answered, and no client
// gets the answer; otherwise before the server gets it. The channel is closed after the cut; call
// Pass only then.
func (p *Proxy) Arm(marker []byte, deliver bool) (seen <-chan struct{}) {
	t := &trigger{marker: bytes.ToLower(marker), deliver: deliver, seen: make(chan struct{})}
	p.mu.Lock()
	p.trigger = t
	p.mu.Unlock()
	return t.seen
}

// Rewrite replaces bytes of the client by others of the same length.
func (p *Proxy) Rewrite(from, to string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rewrite = [2][]byte{[]byte(from), []byte(to)}
}

// Record keeps what clients send from now on, for Sent.
func (p *Proxy) Record() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sent = new(bytes.Buffer)
}

// Sent is what clients have sent since Record, connections mixed.
func (p *Proxy) Sent() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.sent.String()
}

func (p *Proxy) set(m mode) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.setLocked(m)
}

func (p *Proxy) setLocked(m mode) {
	p.mode = m
	close(p.changed)
	p.changed = make(chan struct{})
	if m == cut {
		for l := range p.links {
			l.close()
		}
	}
}

func (p *Proxy) close() {
	p.mu.Lock()
	p.setLocked(cut)
	p.mu.Unlock()
	p.listener.Close()
	p.running.Wait()
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.running.Go(func() { p.serve(client) })
	}
}

func (p *Proxy) serve(client net.Conn) {
	defer client.Close()
	l := &link{client: client}
	p.mu.Lock()
	p.links[l] = struct{}{}
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		delete(p.links, l)
		p.mu.Unlock()
	}()
	if p.wait() == cut {
		return
	}
	server, err := net.DialTimeout("tcp", p.server, answerWait)
	if err != nil {
		return
	}
	defer server.Close()
	p.mu.Lock()
	l.server = server
	over := p.mode == cut
	p.mu.Unlock()
	if over {
		return
	}
	var pumps sync.WaitGroup
	pumps.Go(func() { p.toServer(l) })
	pumps.Go(func() { p.toClient(l) })
	pumps.Wait()
}

func (p *Proxy) wait() mode {
	for {
		p.mu.Lock()
		m, changed := p.mode, p.changed
		p.mu.Unlock()
		if m != freeze {
			return m
		}
		<-changed
	}
}

func (p *Proxy) toServer(l *link) {
	defer closeWrite(l.server)
	buf := make([]byte, 64<<10)
	for {
		n, err := l.client.Read(buf)
		if n > 0 && (p.wait() == cut || !p.inspect(l, buf[:n])) {
			return
		}
		if n > 0 {
			if _, err := l.server.Write(buf[:n]); err != nil {
				return
			}
		}
		if err != nil {
			p.wait() // a close is no faster than what was sent before it
			return
		}
	}
}

func (p *Proxy) inspect(l *link, chunk []byte) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if from := p.rewrite[0]; len(from) > 0 {
		copy(chunk, bytes.ReplaceAll(chunk, from, p.rewrite[1]))
	}
	if p.sent != nil {
		p.sent.Write(chunk)
	}
	t := p.trigger
	if t == nil {
		l.tail = l.tail[:0]
		return true
	}
	text := bytes.ToLower(append(l.tail, chunk...))
	l.tail = append(l.tail[:0], text[max(0, len(text)-len(t.marker)+1):]...)
	if !bytes.Contains(text, t.marker) {
		return true
	}
	p.trigger = nil
	if !t.deliver {
		close(t.seen) // before the cut, which a client may notice at once
		p.setLocked(cut)
		return false
	}
	l.doomed = t
	// The answer ends the read in toClient; without an answer this deadline does.
	l.server.SetReadDeadline(time.Now().Add(answerWait))
	return true
}

func (p *Proxy) toClient(l *link) {
	defer closeWrite(l.client)
	buf := make([]byte, 64<<10)
	for {
		n, err := l.server.Read(buf)
		answer := !p.http2 || l.frames.answers(buf[:n]) || err != nil
		p.mu.Lock()
		over := l.doomed != nil && answer
		if over {
			close(l.doomed.seen)
			p.setLocked(cut)
		}
		p.mu.Unlock()
		if over {
			return
		}
		m := p.wait()
		if m == cut {
			return
		}
		if n > 0 && m == pass {
			if _, err := l.client.Write(buf[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

func (l *link) close() {
	l.client.Close()
	if l.server != nil {
		l.server.Close()
	}
}

// closeWrite passes a half-close on.
func closeWrite(c net.Conn) {
	if tcp, ok := c.(*net.TCPConn); ok {
		tcp.CloseWrite()
	}
}
