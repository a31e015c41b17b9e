// Package wiretest listens on both sides of a wire.Proxy, for the tests of protocols: what went in
// must come out.
package wiretest

import (
	"bytes"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"assay/application/wire"
	"assay/internal/expect"
)

// Tap passes on between clients and a server and keeps the bytes of both ways, by connections.
type Tap struct {
	Address string

	mu          sync.Mutex
	connections []*connection
	running     sync.WaitGroup
	copying     sync.WaitGroup // of the connections
}

// connection has the bytes of both ways. The server may have ended it before the client did: what the
// client sends then need not arrive.
type connection struct {
	up, down                bytes.Buffer
	clientLeft, serverFirst atomic.Bool
}

// NewTap listens on loopback. It ends with the test.
func NewTap(t *testing.T, to string) *Tap {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	expect.NoError(t, err)
	p := &Tap{Address: listener.Addr().String()}
	t.Cleanup(func() { _ = listener.Close(); p.running.Wait(); p.copying.Wait() })
	p.running.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("tcp", to)
			if err != nil {
				t.Error(err)
				return
			}
			c := &connection{}
			p.mu.Lock()
			p.connections = append(p.connections, c)
			p.mu.Unlock()
			p.copying.Go(func() { // to close at once would reset the connection, and lose what has not been read
				_, _ = io.Copy(server, io.TeeReader(client, &c.up))
				c.clientLeft.Store(true)
				_ = server.(*net.TCPConn).CloseWrite()
			})
			p.copying.Go(func() {
				_, _ = io.Copy(client, io.TeeReader(server, &c.down))
				c.serverFirst.Store(!c.clientLeft.Load())
				_, _ = io.Copy(io.Discard, server)
				_, _ = client.Close(), server.Close()
			})
		}
	})
	return p
}

// Authority is a file with who has signed a proxy's certificate.
func Authority(t *testing.T, proxy *wire.Proxy) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "ca.pem")
	expect.NoError(t, os.WriteFile(path, proxy.Authority(), 0o644))
	return path
}

// Listen has a proxy of the protocol listen on loopback. It ends with the test.
func Listen(t *testing.T, protocol wire.Protocol) *wire.Proxy {
	t.Helper()
	proxy, err := wire.Listen("127.0.0.1:0", protocol)
	expect.NoError(t, err)
	expect.AtEnd(t, proxy.Close)
	return proxy
}

// Between has work go through a proxy with a tap on either side, and compares the bytes. It returns
// how many there were. product makes the protocol for the address of its server. greeting is up to
// where the first answer of a server may differ. A client that has left reads no more.
func Between(t *testing.T, server string, product func(address string) wire.Protocol, greeting int, work func(address string, p wire.Protocol)) (*wire.Recorder, int) {
	t.Helper()
	behind := NewTap(t, server)
	protocol := product(behind.Address)
	proxy := Listen(t, protocol)
	before := NewTap(t, proxy.Address())
	recorder := proxy.Recorder()
	work(before.Address, protocol)
	expect.NoError(t, proxy.Quiet(t.Context()), recorder.Problem())
	before.copying.Wait()
	behind.copying.Wait()
	passed := 0
	for i, c := range before.connections {
		sent, read := c.up.Bytes(), c.down.Bytes()
		if len(sent) == 0 { // it need not reach a server
			continue
		}
		passed += len(sent) + len(read)
		j := slices.IndexFunc(behind.connections, func(b *connection) bool { // connections that are opened at once need not arrive in that order
			arrived, answered := b.up.Bytes(), b.down.Bytes()
			all := len(arrived) == len(sent) || b.serverFirst.Load()
			return bytes.HasPrefix(sent, arrived) && all && len(answered) >= len(read) && bytes.Equal(answered[min(greeting, len(read)):len(read)], read[min(greeting, len(read)):])
		})
		if j < 0 {
			t.Errorf("connection %d: the %d bytes that were sent and the %d that were answered passed through none", i, len(sent), len(read))
			continue
		}
		behind.connections = slices.Delete(behind.connections, j, j+1)
	}
	return recorder, passed
}

// Library has a library's own tests, as its module has them, work with a server, but for those that
// are left out. It returns how many passed.
func Library(t *testing.T, packages []string, leaveOut string, env ...string) (passed int) {
	t.Helper()
	cmd := exec.Command("go", append([]string{"test", "-count=1", "-v", "-p=1", "-skip", leaveOut}, packages...)...)
	cmd.Env = append(os.Environ(), env...)
	said, err := cmd.CombinedOutput()
	if err != nil {
		for _, failed := range regexp.MustCompile(`(?m)^.*\n.*\n.*\n *--- FAIL.*$`).FindAll(said, 20) {
			t.Errorf("%s", failed)
		}
		t.Errorf("%v: %s", err, said[max(0, len(said)-1000):])
	}
	return bytes.Count(said, []byte("--- PASS"))
}
