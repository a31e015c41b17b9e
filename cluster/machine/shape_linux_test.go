package machine

import (
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"time"

	"github.com/vishvananda/netlink"

	"assay/internal/expect"
)

// shaped is a link's token bucket filter: its rate in bytes a second, the bytes sent, and how often
// it held packets back.
type shaped struct {
	rate, sent uint64
	held       uint32
}

func shapedAt(t *testing.T, space *namespace, link string) (s shaped) {
	t.Helper()
	err := space.inside(func() error {
		return onLinks(func(links *netlink.Handle) error {
			at, err := links.LinkByName(link)
			if err != nil {
				return err
			}
			all, err := links.QdiscList(at)
			for _, q := range all {
				if tbf, is := q.(*netlink.Tbf); is && tbf.Statistics != nil {
					s = shaped{tbf.Rate, tbf.Statistics.Basic.Bytes, tbf.Statistics.Queue.Overlimits}
				}
			}
			return err
		})
	})
	expect.NoError(t, err)
	return s
}

func TestALinkPassesNoMoreThanItsBandwidth(t *testing.T) {
	s, err := Open(Options{ID: newID(), Names: []string{"n1"}, Bandwidth: 16_000_000})
	if isUnsupported(err) && os.Getenv("CI") == "" {
		t.Logf("refused: %v", err)
		return
	}
	expect.NoError(t, err)
	closed(t, s)
	n2, err := s.Add("n2")
	expect.NoError(t, err)

	// A fault's rules and the limit are independent.
	d := drop(t, n2, Rule{Direction: Both, Share: 0.01})
	at := echo(t, n2)
	expect.NoError(t, ask(at))
	remove(t, d)

	const size, rate = 1 << 20, 2_000_000
	conn, err := net.Dial("tcp4", at)
	expect.NoError(t, err)
	defer conn.Close()
	expect.NoError(t, conn.SetDeadline(time.Now().Add(time.Minute)))
	began := time.Now()
	sent := make(chan error, 1)
	go func() {
		_, err := conn.Write(make([]byte, size))
		sent <- err
	}()
	_, err = io.ReadFull(conn, make([]byte, size))
	took := time.Since(began)
	expect.NoError(t, errors.Join(err, <-sent))
	// The burst leaves before the filter's clock counts.
	if least := time.Duration(float64(size-2*leastBurst) / rate * float64(time.Second)); took < least {
		t.Errorf("%d bytes passed in %v, which takes %v at least", size, took, least)
	}
	for name, got := range map[string]shaped{"the node": shapedAt(t, n2.space, "eth0"), "the bridge": shapedAt(t, s.network.bridge, "port12")} {
		if got.rate != rate || got.sent < size || got.held == 0 {
			t.Errorf("%s sends %+v", name, got)
		}
	}
}

func TestNoBandwidthWithoutANetwork(t *testing.T) {
	if s, err := Loopback(Options{ID: newID(), Names: []string{"n1"}, Bandwidth: 1e9}); !isUnsupported(err) {
		t.Errorf("%v, %v", s, err)
	}
}
