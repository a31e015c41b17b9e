package fault

import (
	"errors"
	"slices"
	"testing"
	"time"
)

func TestSchedule(t *testing.T) {
	const s = time.Second
	for _, c := range []struct {
		faults   []string
		duration time.Duration
		want     []Occurrence
	}{
		{[]string{"kill any at 10s for 3s"}, 60 * s, []Occurrence{{0, 0, 10 * s, 3 * s}}},
		{[]string{"kill any"}, 120 * s, []Occurrence{{0, 0, 30 * s, 15 * s}}},
		{[]string{"kill any"}, 20 * s, []Occurrence{{0, 0, 5 * s, 5 * s}}},
		{[]string{"kill any"}, 0, []Occurrence{{0, 0, 5 * s, 15 * s}}},
		{[]string{"restart any every 20s"}, 60 * s, []Occurrence{{0, 0, 20 * s, 0}, {0, 1, 40 * s, 0}}},
		{[]string{"kill any every 20s"}, 100 * s, []Occurrence{{0, 0, 20 * s, 10 * s}, {0, 1, 40 * s, 10 * s}, {0, 2, 60 * s, 10 * s}, {0, 3, 80 * s, 10 * s}}},
		{[]string{"pause any every 10s for 90s", "kill n1 at 10s for 1s"}, 25 * s,
			[]Occurrence{{0, 0, 10 * s, 90 * s}, {1, 0, 10 * s, s}, {0, 1, 20 * s, 90 * s}}},
		{[]string{"kill n1 at 60s"}, 60 * s, nil},
		{nil, 0, nil},
	} {
		got := slices.Collect(Schedule(parse(t, c.faults...), c.duration))
		if !slices.Equal(got, c.want) {
			t.Errorf("%v in %v: %v, want %v", c.faults, c.duration, got, c.want)
		}
	}
}

func TestScheduleWithoutEnd(t *testing.T) {
	n := 0
	var last time.Duration
	for o := range Schedule(parse(t, "kill any every 1m"), 0) {
		if o.At <= last {
			t.Fatalf("%v after %v", o.At, last)
		}
		last = o.At
		if n++; n == 100_000 {
			break
		}
	}
	if last != 100_000*time.Minute {
		t.Errorf("the last is at %v", last)
	}
	// Time itself has an end: 292 years.
	n = 0
	for range Schedule(parse(t, "kill any every 8784h"), 0) {
		n++
	}
	if n != 291 {
		t.Errorf("%d times a year", n)
	}
}

func TestFaultsThatNeverHappen(t *testing.T) {
	faults := parse(t, "kill any every 20s", "kill any at 9s", "pause any")
	if err := CheckSchedule(faults, 21*time.Second); err != nil {
		t.Error(err)
	}
	var never *ScheduleError
	if err := CheckSchedule(faults, 20*time.Second); !errors.As(err, &never) || never.Fault != faults[0] {
		t.Errorf("%v", err)
	}
	if err := CheckSchedule(faults, 0); err != nil {
		t.Error(err)
	}
}
