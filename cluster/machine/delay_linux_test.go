package machine

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"net/netip"
	"testing"
	"time"

	"assay/internal/expect"
)

// TestPacketsComeLater: packets of one peer wait, others do not, nothing is changed, and the end
// restores all.
func TestPacketsComeLater(t *testing.T) {
	s := open(t, "n1", "n2")
	if s == nil {
		return
	}
	n1, n2 := s.All()[0], s.All()[1]
	at := echo(t, n1)
	const by = 100 * time.Millisecond
	d, err := n1.Delay(Rule{Direction: Both, Share: 1, Peers: []netip.Addr{n2.Address()}}, by)
	expect.NoError(t, err)
	began := time.Now()
	if err := askFrom(n2, at); err != nil {
		t.Errorf("asked from a machine: %v", err)
	}
	if took := time.Since(began); took < 4*by { // to connect, and to be answered
		t.Errorf("an answer took %v", took)
	}
	later, err := d.Packets()
	if err != nil || later < 4 {
		t.Errorf("%d packets, %v", later, err)
	}
	sendMuch(t, n2, at)
	expect.NoError(t, errors.Join(d.Remove(), d.Remove()))
	if err := errors.Join(ask(at), askFrom(n2, at)); err != nil {
		t.Errorf("afterwards: %v", err)
	}
	if now, _ := d.Packets(); now <= later {
		t.Errorf("%d packets, then %d", later, now)
	}
	other, err := n1.Delay(Rule{Direction: Both, Share: 1, Peers: []netip.Addr{n2.Address()}}, by)
	expect.NoError(t, err)
	if err := ask(at); err != nil {
		t.Errorf("asked from the host: %v", err)
	}
	if n, err := other.Packets(); err != nil || n > 3 { // the end of n2's last connection may be among them
		t.Errorf("%d packets of another peer came later, %v", n, err)
	}
	expect.NoError(t, other.Remove())
	incoming, err := n1.Delay(Rule{Direction: In, Share: 1}, by)
	expect.NoError(t, err)
	began = time.Now()
	if err := ask(at); err != nil || time.Since(began) < 2*by {
		t.Errorf("asked from the host after %v: %v", time.Since(began), err)
	}
	expect.NoError(t, incoming.Remove())
	alone := open(t, "n1")
	idle, err := alone.All()[0].Delay(Rule{Direction: Both, Share: 1}, by)
	expect.NoError(t, err)
	expect.NoError(t, alone.Close())
	if err := idle.Remove(); err != nil {
		t.Errorf("removed after the machines: %v", err)
	}
}

func sendMuch(t *testing.T, from *Machine, at string) {
	t.Helper()
	var conn net.Conn
	err := from.Run(func() (err error) {
		conn, err = net.DialTimeout("tcp4", at, 10*time.Second)
		return err
	})
	expect.NoError(t, err)
	defer conn.Close()
	expect.NoError(t, conn.SetDeadline(time.Now().Add(time.Minute)))
	sent := make([]byte, 1<<20)
	for i := range sent {
		sent[i] = byte(rand.Uint32())
	}
	go func() { _, _ = conn.Write(sent) }()
	back := make([]byte, len(sent))
	_, err = io.ReadFull(conn, back)
	if err != nil || !bytes.Equal(sent, back) {
		t.Errorf("what came back is not what was sent: %v", err)
	}
}
