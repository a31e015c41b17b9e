package drivertest

import (
	"bufio"
	"errors"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"assay/internal/expect"
)

// lines is a server that answers each line with "ok " and the line, and keeps all lines.
type lines struct {
	listener net.Listener
	running  sync.WaitGroup
	mu       sync.Mutex
	got      []string
}

func startLines(t *testing.T) *lines {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	expect.NoError(t, err)
	s := &lines{listener: listener}
	s.running.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			s.running.Go(func() { s.serve(conn) })
		}
	})
	t.Cleanup(func() {
		listener.Close()
		s.running.Wait()
	})
	return s
}

func (s *lines) serve(conn net.Conn) {
	defer conn.Close()
	in := bufio.NewReader(conn)
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return
		}
		s.mu.Lock()
		s.got = append(s.got, line)
		s.mu.Unlock()
		if _, err := io.WriteString(conn, "ok "+line); err != nil {
			return
		}
	}
}

func (s *lines) has(line string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, got := range s.got {
		if got == line {
			return true
		}
	}
	return false
}

func (s *lines) await(t *testing.T, line string) {
	t.Helper()
	for end := time.Now().Add(patience); !s.has(line); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("the server never got %q", line)
		}
	}
}

type peer struct {
	t  *testing.T
	c  net.Conn
	in *bufio.Reader
}

func dial(t *testing.T, p *Proxy) *peer {
	t.Helper()
	c, err := net.Dial("tcp", p.Addr())
	expect.NoError(t, err)
	t.Cleanup(func() { c.Close() })
	return &peer{t: t, c: c, in: bufio.NewReader(c)}
}

func (p *peer) send(text string) {
	p.t.Helper()
	if _, err := io.WriteString(p.c, text); err != nil {
		p.t.Fatal(err)
	}
}

func (p *peer) ask(text string) {
	p.t.Helper()
	p.send(text)
	if answer, err := p.in.ReadString('\n'); answer != "ok "+text {
		p.t.Fatalf("%q was answered with %q, %v", text, answer, err)
	}
}

// mustEnd requires the connection's end without another byte.
func (p *peer) mustEnd() {
	p.t.Helper()
	p.c.SetReadDeadline(time.Now().Add(patience))
	rest, err := p.in.ReadString('\n')
	var timeout net.Error
	if rest != "" || err == nil || errors.As(err, &timeout) && timeout.Timeout() {
		p.t.Errorf("the connection should have ended: %q, %v", rest, err)
	}
}

func TestProxyCut(t *testing.T) {
	s := startLines(t)
	p := NewProxy(t, s.listener.Addr().String())
	a := dial(t, p)
	a.ask("one\n")
	p.Cut()
	a.mustEnd()
	dial(t, p).mustEnd()
	p.Pass()
	dial(t, p).ask("two\n")
}

func TestProxyFreezeKeepsWhatWasSent(t *testing.T) {
	s := startLines(t)
	p := NewProxy(t, s.listener.Addr().String())
	a := dial(t, p)
	a.ask("one\n")
	p.Freeze()
	a.send("two\n")
	a.c.Close()
	b := dial(t, p)
	b.send("three\n")
	if s.has("two\n") || s.has("three\n") {
		t.Error("a frozen proxy forwards")
	}
	p.Pass()
	s.await(t, "two\n")
	s.await(t, "three\n")
}

func TestProxySwallow(t *testing.T) {
	s := startLines(t)
	p := NewProxy(t, s.listener.Addr().String())
	a := dial(t, p)
	p.Swallow()
	a.send("one\n")
	s.await(t, "one\n")
	p.Cut()
	a.mustEnd()
}

func TestProxyArm(t *testing.T) {
	for name, deliver := range map[string]bool{"deliver": true, "withhold": false} {
		t.Run(name, func(t *testing.T) {
			s := startLines(t)
			p := NewProxy(t, s.listener.Addr().String())
			a, beside := dial(t, p), dial(t, p)
			a.ask("commit\n") // before it is armed
			beside.ask("one\n")
			seen := p.Arm([]byte("commit"), deliver)
			a.ask("comm comit\n")
			a.ask("it\n")
			select {
			case <-seen:
				t.Fatal("seen too early")
			default:
			}
			// Split over two reads, and in the other case.
			a.ask("begin\n")
			a.send("now COM")
			a.send("MIT;\n")
			<-seen
			p.Pass()
			a.mustEnd()
			beside.mustEnd()
			if got := s.has("now COMMIT;\n"); got != deliver {
				t.Errorf("the server got the marker: %v, want %v", got, deliver)
			}
			dial(t, p).ask("commit\n")
		})
	}
}
