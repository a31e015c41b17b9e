package binlog

import (
	"strings"
	"testing"
)

func TestCountGTIDs(t *testing.T) {
	const a, b = "3e11fa47-71ca-11e1-9e33-c80aa9429562", "4e11fa47-71ca-11e1-9e33-c80aa9429562"
	for set, want := range map[string]int64{
		"": 0, a + ":1": 1, a + ":1-5": 5, a + ":1-5:7:9-10": 8, a + ":1-5,\n" + b + ":2-3": 7, a + ":tag:1-3:other:4": 4,
	} {
		if n, err := CountGTIDs(set); err != nil || n != want {
			t.Errorf("%q: %d, %v; want %d", set, n, err, want)
		}
	}
	for _, set := range []string{a + ":5-1", a + ":1-x"} {
		if n, err := CountGTIDs(set); err == nil {
			t.Errorf("%q: %d", set, n)
		}
	}
}

func TestSequence(t *testing.T) {
	for position, want := range map[string]int64{"": 0, "0-1-57": 57} {
		if n, err := sequence(position); err != nil || n != want {
			t.Errorf("%q: %d, %v; want %d", position, n, err, want)
		}
	}
	for _, position := range []string{"0-1-57,1-1-3", "57", "0-1-x"} {
		if n, err := sequence(position); err == nil {
			t.Errorf("%q: %d", position, n)
		}
	}
}

// TestChoose holds who is promoted, and why nobody is.
func TestChoose(t *testing.T) {
	members := []*member{{label: "n1"}, {label: "n2"}, {label: "n3"}}
	far, near := position{received: 9, executed: 3}, position{received: 7, executed: 7}
	for name, c := range map[string]struct {
		semisync bool
		sure     []int
		there    map[int]position
		silent   map[int]string
		best     int
		why      string
	}{
		"who has received most":                  {there: map[int]position{1: near, 2: far}, best: 2},
		"of equals the first":                    {there: map[int]position{2: near, 1: near}, best: 1},
		"who answers":                            {there: map[int]position{1: near}, silent: map[int]string{2: "is down"}, best: 1},
		"nobody answers":                         {silent: map[int]string{1: "is down", 2: "is down"}, why: "n2 is down, n3 is down; bring back n1"},
		"all that can have the last":             {semisync: true, sure: []int{1, 2}, there: map[int]position{1: near, 2: far}, best: 2},
		"one of them is missing":                 {semisync: true, sure: []int{1, 2}, there: map[int]position{1: near}, silent: map[int]string{2: "is down"}, why: "n3 is down: the last commits"},
		"the primary had gone on without others": {semisync: true, why: "only it is certain"},
	} {
		s := &Set{options: Options{Semisync: c.semisync}, members: members, sure: c.sure}
		best, why := s.choose(c.there, c.silent)
		if c.why == "" && (best != c.best || why != "") || !strings.Contains(why, c.why) {
			t.Errorf("%s: %d, %q; want %d, %q", name, best, why, c.best, c.why)
		}
	}
}

// TestAdmit: what goes beyond a later promotion is no part of the database.
func TestAdmit(t *testing.T) {
	for name, c := range map[string]struct {
		term int
		at   int64
		want bool
	}{"less": {0, 5, true}, "as far": {0, 10, true}, "beyond": {0, 11, false}, "beyond an old one": {1, 11, true}, "beyond the last": {1, 21, false}} {
		s := &Set{ends: []int64{10, 20}, members: []*member{{label: "n1", term: c.term}}}
		if got := s.admit(0, c.at); got != c.want || s.members[0].anew == c.want {
			t.Errorf("%s: %v, to be made anew: %v", name, got, s.members[0].anew)
		}
	}
}
