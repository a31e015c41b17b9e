package definition

import (
	"testing"
	"time"

	"assay/store/promise"
)

const second = int64(time.Second)

func TestLosses(t *testing.T) {
	for _, test := range []struct {
		name                string
		cuts                []promise.Moment
		began, acknowledged int64
		allowed             bool
	}{
		{"nothing is allowed", []promise.Moment{{At: 10 * second}}, 9 * second, 9*second + 1, false},
		{"within the window", []promise.Moment{{At: 10 * second, Allowed: time.Second}}, 9 * second, 9*second + 1, true},
		{"before the window", []promise.Moment{{At: 10 * second, Allowed: time.Second}}, 8 * second, 8*second + 1, false},
		{"without a bound", []promise.Moment{{At: 10 * second, Allowed: -1}}, second, 2 * second, true},
		{"the answer was on its way", []promise.Moment{{At: 10 * second, Allowed: time.Second}}, 10*second - 5, 10*second + 5, true},
		{"after the cut", []promise.Moment{{At: 10 * second, Allowed: -1}}, 10*second + 1, 11 * second, false},
		{"before a later cut", []promise.Moment{{At: 10 * second}, {At: 11 * second, Allowed: 2 * time.Second}}, 9 * second, 9*second + 1, true},
		{"long before a later cut", []promise.Moment{{At: 10 * second}, {At: 20 * second, Allowed: 2 * time.Second}}, 9 * second, 9*second + 1, false},
	} {
		l := &Losses{Cuts: test.cuts}
		if _, allowed := l.Add(test.began, test.acknowledged); allowed != test.allowed {
			t.Errorf("%s: allowed %v", test.name, allowed)
		}
		if beyond := l.Beyond == 1; l.Operations != 1 || beyond == test.allowed {
			t.Errorf("%s: %+v", test.name, l)
		}
	}
	var none *Losses
	if _, allowed := none.Add(0, 1); allowed || none.Text() != "" {
		t.Error("a run without cuts may lose something")
	}
}

func TestTheTextOfLosses(t *testing.T) {
	l := &Losses{Cuts: []promise.Moment{{At: 10 * second, Allowed: 600 * time.Millisecond}}, Source: "synchronous_commit=off"}
	if got := l.Text(); got != "acknowledged operations lost: none" {
		t.Error(got)
	}
	l.Add(9*second, 10*second-int64(410*time.Millisecond))
	l.Add(9*second, 10*second-int64(900*time.Millisecond))
	want := "acknowledged operations lost: 2, the newest 410 ms and the oldest 900 ms before the cut; synchronous_commit=off allows those of the last 600 ms, and 1 was acknowledged before"
	if got := l.Text(); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	l.Add(8*second, 8*second)
	want = "acknowledged operations lost: 3, the newest 410 ms and the oldest 2.0 s before the cut; synchronous_commit=off allows those of the last 600 ms, and 2 were acknowledged before"
	if got := l.Text(); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	l = &Losses{Cuts: []promise.Moment{{At: 10 * second}}, Source: "fsync=on"}
	l.Add(11*second, 12*second)
	if got, want := l.Text(), "acknowledged operations lost: 1; fsync=on promises that none is"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	l = &Losses{Cuts: []promise.Moment{{At: 10 * second, Until: 12 * second, Allowed: -1}}, Source: "w:1", Event: "the kill or failover"}
	l.Add(9*second, 9*second)
	l.Add(30*second, 31*second) // which convicts
	want = "acknowledged operations lost: 2, the newest 1.0 s and the oldest 1.0 s before the kill or failover; w:1 promises nothing at the kill or failover, and 1 was acknowledged at another time"
	if got := l.Text(); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
