package postgres

import (
	"context"
	"net"
	"strconv"
	"testing"
	"time"

	"assay/cluster/server"
	"assay/internal/expect"
)

// fakePostgres answers a connection as soon as it is released.
func fakePostgres(t *testing.T, release <-chan struct{}) *Server {
	t.Helper()
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	expect.NoError(t, err)
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			<-release
			conn.Write([]byte("R\x00\x00\x00\x08\x00\x00\x00\x0a"))
			defer conn.Close()
		}
	}()
	_, port, err := net.SplitHostPort(listener.Addr().String())
	expect.NoError(t, err)
	number, err := strconv.Atoi(port)
	expect.NoError(t, err)
	return &Server{options: Options{User: "assay"}, Node: &server.Node{Host: "127.0.0.1", Port: number}}
}

// TestALateAnswerCounts: what the server says at last is an answer; what could not be asked
// is none (server.Watch counts the time).
func TestALateAnswerCounts(t *testing.T) {
	release := make(chan struct{})
	p := fakePostgres(t, release)
	ctx, cancel := context.WithCancel(t.Context())
	looks := make(chan bool)
	look := func() { looks <- p.answers(ctx, time.Minute) }
	go look()
	go look()
	select {
	case <-looks:
		t.Fatal("a look ended without an answer")
	case <-time.After(50 * time.Millisecond):
	}
	close(release)
	for range 2 {
		if !<-looks {
			t.Error("a late answer was not taken for one")
		}
	}
	cancel()
	if p.answers(ctx, time.Minute) {
		t.Error("an attempt that could not be made was taken for an answer")
	}
}

func TestLSN(t *testing.T) {
	for _, text := range []string{"0/0", "0/3000148", "1A/FFFFFFFF"} {
		at, err := parseLSN(text)
		if err != nil || at.String() != text {
			t.Errorf("%s became %s, %v", text, at, err)
		}
	}
	low, _ := parseLSN("0/FFFFFFFF")
	high, _ := parseLSN("1/0")
	if high != low+1 {
		t.Errorf("%s does not follow %s", high, low)
	}
	for _, text := range []string{"", "1", "1/", "/1", "G/1", "100000000/0"} {
		if _, err := parseLSN(text); err == nil {
			t.Errorf("%q was taken for a position", text)
		}
	}
}

// TestChoose goes through who may be promoted, by who is certain to have all.
func TestChoose(t *testing.T) {
	down := "is down"
	for name, c := range map[string]struct {
		asynchronous bool
		sure         []int
		frozen       map[int]lsn
		silent       map[int]string
		best         int
		why          string
	}{
		"the furthest":                {sure: []int{1, 2}, frozen: map[int]lsn{1: 5, 2: 9}, best: 2},
		"the first of equals":         {sure: []int{1, 2}, frozen: map[int]lsn{1: 9, 2: 9}, best: 1},
		"one is all":                  {sure: []int{2}, frozen: map[int]lsn{2: 9}, best: 2},
		"one is silent":               {sure: []int{1, 2}, frozen: map[int]lsn{2: 9}, silent: map[int]string{1: down}, why: "n2 is down: the last commits may be only there and on n1; bring back n1, or all of these"},
		"nobody is sure":              {why: "only n1 is certain to have the last commits; bring it back"},
		"asynchronous, one is silent": {asynchronous: true, frozen: map[int]lsn{2: 3}, silent: map[int]string{1: down}, best: 2},
		"asynchronous, all are":       {asynchronous: true, silent: map[int]string{1: down, 2: down}, why: "n2 is down, n3 is down; bring back n1, or any of these"},
		"asynchronous and alone":      {asynchronous: true, why: "there is no standby; bring back n1"},
	} {
		s := &Set{options: SetOptions{Asynchronous: c.asynchronous}, quorum: quorum{sure: c.sure}}
		for _, label := range []string{"n1", "n2", "n3"} {
			s.nodes = append(s.nodes, &member{Server: &Server{label: label}})
		}
		if best, why := s.choose(c.frozen, c.silent); best != c.best || why != c.why {
			t.Errorf("%s: %d, %q; want %d, %q", name, best, why, c.best, c.why)
		}
	}
}

// TestAdmit has nodes come with logs that go beyond a promotion, or do not.
func TestAdmit(t *testing.T) {
	s := &Set{ends: []lsn{100, 80}}
	for _, c := range []struct {
		node member
		end  lsn
		want bool
	}{
		{member{term: 2}, 500, true}, // has followed the present primary
		{member{term: 1}, 80, true},
		{member{term: 1}, 81, false},
		{member{term: 0}, 80, true},
		{member{term: 0}, 90, false}, // part of the first promotion, not of the second
		{member{term: 2, rewind: true}, 10, false},
		{member{term: 2, copy: true}, 10, false},
	} {
		node := c.node
		if got := s.admit(&node, c.end); got != c.want || got && node.term != 2 {
			t.Errorf("term %d up to %d: %v, then term %d", c.node.term, c.end, got, node.term)
		}
		if !c.want && !node.rewind && !node.copy {
			t.Error("a node that went another way is not marked")
		}
	}
}
