package wire

import (
	"bytes"
	"context"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"assay/internal/expect"
)

// sizedTalk has messages whose second byte is how many bytes follow: 'q' is a request, '+' more of it,
// 'd' data, 'g' asks for data, and 'z' ends an answer. 'Q' is a request of more bytes than are kept.
type sizedTalk struct{ Talk }

const longSize = bufferSize + 1000

func (sizedTalk) Request(b []byte, full bool) (int, *Request) {
	if len(b) < 2 || len(b) < 2+int(b[1]) && !full {
		return 0, nil
	}
	switch n := 2 + int(b[1]); b[0] {
	case 'Q':
		if len(b) < longSize && !full {
			return 0, nil
		}
		return longSize, &Request{Statements: []*Statement{{Shape: "q"}}}
	case 'q':
		return n, &Request{Statements: []*Statement{{Shape: "q"}}}
	case '+':
		return n, &Request{Rest: true}
	default:
		return n, nil
	}
}

func (sizedTalk) Answer(b []byte, r *Request) (int, bool) {
	if len(b) < 2 || len(b) < 2+int(b[1]) {
		return 0, false
	}
	if r != nil && b[0] == 'g' {
		r.Asks = true
	}
	return 2 + int(b[1]), b[0] == 'z'
}
func (sizedTalk) State() State                  { return Idle }
func (sizedTalk) Ask(string, *Request) *Request { return &Request{Bytes: []byte("q\x01!")} }

type sizedProtocol struct {
	Protocol
	server string
}

func (p sizedProtocol) Dial(ctx context.Context) (net.Conn, error) {
	return (&net.Dialer{}).DialContext(ctx, "tcp", p.server)
}
func (sizedProtocol) Greet(context.Context, *App) ([]byte, Talk, error) { return nil, sizedTalk{}, nil }
func (sizedProtocol) Error(Code, bool, *Request) []byte                 { return []byte("z\x05error") }
func (sizedProtocol) Words() Words                                      { return Words{Rollback: "ROLLBACK"} }

// proxied is a server, and a proxy before it.
func proxied(t *testing.T) (server net.Listener, p *Proxy) {
	t.Helper()
	server, err := net.Listen("tcp", "127.0.0.1:0")
	expect.NoError(t, err)
	expect.AtEnd(t, server.Close)
	p, err = Listen("127.0.0.1:0", sizedProtocol{server: server.Addr().String()})
	expect.NoError(t, err)
	expect.AtEnd(t, p.Close)
	return server, p
}

// between opens a connection through a proxy at which a fault is done, and returns both of its ends.
func between(t *testing.T, fault *Fault) (app, server net.Conn) {
	t.Helper()
	listener, p := proxied(t)
	return opened(t, listener, p, fault)
}

func opened(t *testing.T, listener net.Listener, p *Proxy, fault *Fault) (app, server net.Conn) {
	t.Helper()
	p.Record(fault)
	app, err := net.Dial("tcp", p.Address())
	expect.NoError(t, err)
	server, err = listener.Accept()
	expect.NoError(t, err)
	for _, conn := range []net.Conn{app, server} { // what never comes fails the test
		expect.NoError(t, conn.SetDeadline(time.Now().Add(time.Minute)))
	}
	t.Cleanup(func() { _, _ = app.Close(), server.Close() })
	return app, server
}

func send(t *testing.T, to net.Conn, text string) {
	t.Helper()
	_, err := to.Write([]byte(text))
	expect.NoError(t, err)
}

func arrives(t *testing.T, at net.Conn, want string) {
	t.Helper()
	got := make([]byte, len(want))
	if n, err := io.ReadFull(at, got); err != nil || string(got) != want {
		t.Fatalf("%q arrives, and not %q: %v", got[:n], want, err)
	}
}

// TestAskedForData: an answer that is lost is one that the application can cause, so that what the
// server asks for comes.
func TestAskedForData(t *testing.T) {
	for _, action := range []Action{AnswerLost, AnswerSilent} {
		app, server := between(t, &Fault{Action: action, Place: placeOf([]string{"q"}), Time: 1})
		send(t, app, "q\x00")
		arrives(t, server, "q\x00")
		send(t, server, "r\x03row")
		send(t, server, "g\x00")
		arrives(t, app, "r\x03rowg\x00")
		send(t, app, "d\x04data")
		arrives(t, server, "d\x04data")
		send(t, server, "z\x00")
		if action == AnswerSilent {
			expect.NoError(t, app.(*net.TCPConn).CloseWrite())
		}
		if left, _ := io.ReadAll(app); len(left) > 0 {
			t.Errorf("%s: %q arrives", action, left)
		}
	}
}

// TestReplacedWhole: of a request in whose place another is sent, nothing reaches the server, however
// long it is and in however many messages. It is recorded as what it is: refused, though no transaction was open.
func TestReplacedWhole(t *testing.T) {
	long := "Q\x00" + string(bytes.Repeat([]byte("x"), longSize-2))
	for _, request := range []string{"q\x02xx", "q\x02xx+\x03yyy+\x00", long, long + "+\x03yyy"} {
		listener, p := proxied(t)
		app, server := opened(t, listener, p, &Fault{Action: GiveDeadlock, Place: placeOf([]string{"q"}), Time: 1})
		send(t, app, request[:3])
		send(t, app, request[3:])
		arrives(t, server, "q\x01!")
		send(t, server, "z\x00")
		arrives(t, app, "z\x05error")
		send(t, app, "q\x05after+\x01s")
		arrives(t, server, "q\x05after+\x01s")
		send(t, server, "z\x00")
		arrives(t, app, "z\x00")
		if got := strings.Join(outcomes(p.Recorder()), "|"); got != "refused: q|committed: q" {
			t.Errorf("what is recorded is %s", got)
		}
	}
}

// waitingProtocol has a server that is dialed until it is given up.
type waitingProtocol struct {
	sizedProtocol
	dialed chan struct{}
}

func (p waitingProtocol) Dial(ctx context.Context) (net.Conn, error) {
	close(p.dialed)
	<-ctx.Done()
	return nil, ctx.Err()
}

// TestClosedWhileItDials is no failure of assay's.
func TestClosedWhileItDials(t *testing.T) {
	protocol := waitingProtocol{dialed: make(chan struct{})}
	p, err := Listen("127.0.0.1:0", protocol)
	expect.NoError(t, err)
	app, err := net.Dial("tcp", p.Address())
	expect.NoError(t, err)
	<-protocol.dialed
	expect.NoError(t, p.Close(), app.Close(), p.Recorder().Problem())
	again, err := p.Again("127.0.0.1:0") // which applications know by the same certificate
	expect.NoError(t, err)
	if string(again.Authority()) != string(p.Authority()) || len(again.Authority()) == 0 {
		t.Error("another listener has another certificate")
	}
	expect.NoError(t, again.Close())
}
