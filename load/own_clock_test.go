package load

import (
	"reflect"
	"testing"
	"time"

	"assay/history"
)

// The clock tells of what lies beyond a tick that is very late, and whose doing it was.
func TestOwnClock(t *testing.T) {
	var now time.Duration
	var used float64
	var found []history.Stall
	c := &ownClock{now: func() int64 { return int64(now) }, used: func() float64 { return used }, stalled: func(s history.Stall) { found = append(found, s) }}
	for _, step := range []struct {
		at   time.Duration
		used float64
	}{
		{10 * time.Millisecond, 0.01}, {20 * time.Millisecond, 0.02}, {75 * time.Millisecond, 0.02}, // late, as on a busy machine
		{85 * time.Millisecond, 0.02}, {1600 * time.Millisecond, 0.03}, // stopped
		{1610 * time.Millisecond, 0.03}, {1800 * time.Millisecond, 0.4}, // busy by itself
	} {
		now, used = step.at, step.used
		c.look()
	}
	want := []history.Stall{
		{From: int64(95 * time.Millisecond), To: int64(1600 * time.Millisecond)},
		{From: int64(1620 * time.Millisecond), To: int64(1800 * time.Millisecond), Busy: true},
	}
	if !reflect.DeepEqual(found, want) {
		t.Errorf("found %+v, want %+v", found, want)
	}
}

// A share of the processors is not told of a moment, which would be more than all of them.
func TestUsageOfAMoment(t *testing.T) {
	clock := startOwnClock(func() int64 { return 0 }, func(history.Stall) {})
	defer clock.stop()
	p := startUsage(clock)
	p.cpu = 0 // all that the process has ever used
	if u := p.since(); u.CPUShare != -1 {
		t.Errorf("of a moment: %v", u.CPUShare)
	}
	p.at = p.at.Add(-time.Hour)
	if u := p.since(); u.CPUShare < 0 || u.CPUShare > 1 {
		t.Errorf("of an hour: %v", u.CPUShare)
	}
}
