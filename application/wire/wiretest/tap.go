// Package wiretest listens on both sides of a wire.Proxy, for the tests of protocols: what went in
// must come out.
package wiretest

import (
	"bytes"
	"io"
	"net"
	"sync"
	"testing"

	"assay/application/wire"
	"assay/internal/expect"
)

// Tap passes on between clients and a server and keeps the bytes of both ways, by connections.
type Tap struct {
	Address string

	mu       sync.Mutex
	up, down []*bytes.Buffer
	running  sync.WaitGroup
	copying  sync.WaitGroup // of the connections
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
			up, down := &bytes.Buffer{}, &bytes.Buffer{}
			p.mu.Lock()
			p.up, p.down = append(p.up, up), append(p.down, down)
			p.mu.Unlock()
			p.copying.Go(func() { _, _ = io.Copy(server, io.TeeReader(client, up)); _ = server.Close() })
			p.copying.Go(func() { _, _ = io.Copy(client, io.TeeReader(server, down)); _ = client.Close() })
		}
	})
	return p
}

// Between has work go through a proxy with a tap on either side, and compares the bytes. It returns
// how many there were. product makes the protocol for the address of its server. greeting is up to
// where the first answer of a server may differ. A client that has left reads no more.
func Between(t *testing.T, server string, product func(address string) wire.Protocol, greeting int, work func(address string, p wire.Protocol)) (*wire.Recorder, int) {
	t.Helper()
	behind := NewTap(t, server)
	protocol := product(behind.Address)
	proxy, err := wire.Listen("127.0.0.1:0", protocol)
	expect.NoError(t, err)
	expect.AtEnd(t, proxy.Close)
	before := NewTap(t, proxy.Address())
	recorder := proxy.Recorder()
	work(before.Address, protocol)
	expect.NoError(t, proxy.Quiet(t.Context()), recorder.Problem())
	before.copying.Wait()
	behind.copying.Wait()
	passed := 0
	for i := range before.up {
		sent, arrived, answered, read := before.up[i].Bytes(), behind.up[i].Bytes(), behind.down[i].Bytes(), before.down[i].Bytes()
		passed += len(sent) + len(read)
		if !bytes.Equal(sent, arrived) || len(answered) < len(read) || !bytes.Equal(answered[min(greeting, len(read)):len(read)], read[min(greeting, len(read)):]) {
			t.Errorf("connection %d: %d bytes were sent and %d arrived, %d were answered and %d arrived", i, len(sent), len(arrived), len(answered), len(read))
		}
	}
	return recorder, passed
}
