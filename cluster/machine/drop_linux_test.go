package machine

import (
	"errors"
	"net"
	"net/netip"
	"os"
	"testing"
	"time"

	"assay/internal/expect"
)

func drop(t *testing.T, m *Machine, r Rule) *Dropping {
	t.Helper()
	d, err := m.Drop(r)
	expect.NoError(t, err)
	return d
}

func packets(t *testing.T, d *Dropping) int64 {
	t.Helper()
	n, err := d.Packets()
	expect.NoError(t, err)
	return n
}

func remove(t *testing.T, d *Dropping) {
	t.Helper()
	expect.NoError(t, d.Remove())
}

func TestASilentMachine(t *testing.T) {
	s := open(t, "n1", "n2")
	if s == nil {
		return
	}
	n1, n2 := s.All()[0], s.All()[1]
	at := echo(t, n1)
	old, err := net.Dial("tcp4", at)
	expect.NoError(t, err)
	defer old.Close()
	expect.NoError(t, sendAndReceive(old, 5*time.Second))
	d := drop(t, n1, Rule{Direction: Both, Share: 1})
	if err := ask(at); !timedOut(err) {
		t.Errorf("asked from the host: %v", err)
	}
	before := packets(t, d)
	if before == 0 {
		t.Error("no packet was counted")
	}
	if err := askFrom(n2, at); !timedOut(err) {
		t.Errorf("asked from a machine: %v", err)
	}
	if after := packets(t, d); after <= before {
		t.Errorf("%d packets, then %d", before, after)
	}
	if err := askFrom(n1, at); err != nil {
		t.Errorf("asked from the machine itself: %v", err)
	}
	if err := sendAndReceive(old, 300*time.Millisecond); !timedOut(err) {
		t.Errorf("an open connection: %v", err)
	}
	counted := packets(t, d)
	remove(t, d)
	remove(t, d)
	if n := packets(t, d); n < counted {
		t.Errorf("%d packets, %d after Remove", counted, n)
	}
	if err := errors.Join(ask(at), askFrom(n2, at)); err != nil {
		t.Errorf("healed: %v", err)
	}
	// TCP repeats lost packets.
	expect.NoError(t, old.SetDeadline(time.Now().Add(time.Minute)))
	if n, err := old.Read(make([]byte, 4)); n != 4 || err != nil {
		t.Errorf("the open connection: %d, %v", n, err)
	}
}

func TestOnePeerIsCutOff(t *testing.T) {
	s := open(t, "n1", "n2")
	if s == nil {
		return
	}
	n1, n2 := s.All()[0], s.All()[1]
	at := echo(t, n1)
	client := drop(t, n1, Rule{Direction: Both, Share: 1, Peers: []netip.Addr{s.Client()}})
	if err := ask(at); !timedOut(err) {
		t.Errorf("asked from the host: %v", err)
	}
	if err := askFrom(n2, at); err != nil {
		t.Errorf("asked from a machine: %v", err)
	}
	// Two rules at once are independent.
	both := drop(t, n1, Rule{Direction: In, Share: 1, Peers: []netip.Addr{n2.Address(), s.Client()}})
	remove(t, client)
	if err := ask(at); !timedOut(err) {
		t.Errorf("asked from the host: %v", err)
	}
	if err := askFrom(n2, at); !timedOut(err) {
		t.Errorf("asked from a machine: %v", err)
	}
	if n := packets(t, both); n < 2 {
		t.Errorf("%d packets", n)
	}
	third := drop(t, n1, Rule{Direction: Out, Share: 1, Peers: []netip.Addr{n2.Address()}})
	remove(t, both)
	if err := ask(at); err != nil {
		t.Errorf("asked from the host: %v", err)
	}
	if err := askFrom(n2, at); !timedOut(err) {
		t.Errorf("asked from a machine: %v", err)
	}
	remove(t, third)
	if err := errors.Join(ask(at), askFrom(n2, at)); err != nil {
		t.Errorf("healed: %v", err)
	}
}

// mail is a pair of UDP sockets, one on a machine and one here.
type mail struct {
	there, here *net.UDPConn
}

func exchange(t *testing.T, s *Set, m *Machine) mail {
	t.Helper()
	var e mail
	err := m.Run(func() (err error) {
		e.there, err = net.ListenUDP("udp4", net.UDPAddrFromAddrPort(netip.AddrPortFrom(m.Address(), 7002)))
		return err
	})
	expect.NoError(t, err)
	t.Cleanup(func() { _ = e.there.Close() })
	if e.here, err = net.ListenUDP("udp4", net.UDPAddrFromAddrPort(netip.AddrPortFrom(s.Client(), 0))); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.here.Close() })
	return e
}

// passes reports whether a datagram from one to the other arrives.
func passes(t *testing.T, from, to *net.UDPConn) bool {
	t.Helper()
	// The sender of a dropped packet gets EPERM.
	_, err := from.WriteTo([]byte("word"), to.LocalAddr())
	if err != nil && !errors.Is(err, os.ErrPermission) {
		t.Fatal(err)
	}
	expect.NoError(t, to.SetReadDeadline(time.Now().Add(300*time.Millisecond)))
	_, readErr := to.Read(make([]byte, 16))
	if readErr != nil && !timedOut(readErr) {
		t.Fatal(readErr)
	}
	return readErr == nil
}

func TestOneWay(t *testing.T) {
	s := open(t, "n1")
	if s == nil {
		return
	}
	e := exchange(t, s, s.All()[0])
	for _, c := range []struct {
		direction Direction
		in, out   bool
	}{{In, false, true}, {Out, true, false}, {Both, false, false}} {
		d := drop(t, s.All()[0], Rule{Direction: c.direction, Share: 1})
		if in, out := passes(t, e.here, e.there), passes(t, e.there, e.here); in != c.in || out != c.out {
			t.Errorf("%s dropped: in passes %v, out passes %v", c.direction, in, out)
		}
		if packets(t, d) == 0 {
			t.Errorf("%s: nothing counted", c.direction)
		}
		remove(t, d)
		if !passes(t, e.here, e.there) || !passes(t, e.there, e.here) {
			t.Errorf("%s: not healed", c.direction)
		}
	}
}

func TestAShareIsDropped(t *testing.T) {
	s := open(t, "n1")
	if s == nil {
		return
	}
	e := exchange(t, s, s.All()[0])
	const sent = 2000
	for _, share := range []float64{0.5, 0.1, 0.9} {
		d := drop(t, s.All()[0], Rule{Direction: In, Share: share, Peers: []netip.Addr{s.Client()}})
		for range sent {
			if _, err := e.here.WriteTo([]byte("word"), e.there.LocalAddr()); err != nil {
				t.Fatal(err)
			}
		}
		// Nine standard deviations of half of them.
		if n := float64(packets(t, d)); n < sent*share-200 || n > sent*share+200 {
			t.Errorf("share %v: %v of %d packets", share, n, sent)
		}
		remove(t, d)
	}
}

func TestDroppingOutlivesItsMachines(t *testing.T) {
	s := open(t, "n1")
	if s == nil {
		return
	}
	d := drop(t, s.All()[0], Rule{Direction: In, Share: 1})
	expect.NoError(t, s.Close())
	if _, err := d.Packets(); !errors.Is(err, os.ErrClosed) {
		t.Errorf("Packets: %v", err)
	}
	if err := d.Remove(); err != nil {
		t.Errorf("Remove: %v", err)
	}
	if _, err := s.All()[0].Drop(Rule{Direction: In, Share: 1}); !errors.Is(err, os.ErrClosed) {
		t.Errorf("Drop: %v", err)
	}
}
