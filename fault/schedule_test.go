package fault

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"assay/internal/expect"
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
		{[]string{"kill any at 10s for ever"}, 60 * s, []Occurrence{{0, 0, 10 * s, Ever}}},
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
		if n++; n == 1_000 {
			break
		}
	}
	if last != 1_000*time.Minute {
		t.Errorf("the last is at %v", last)
	}
	// Time ends after 292 years.
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
	expect.NoError(t, CheckSchedule(faults, 21*time.Second))
	var never *ScheduleError
	if err := CheckSchedule(faults, 20*time.Second); !errors.As(err, &never) || never.Fault != faults[0] {
		t.Errorf("%v", err)
	}
	expect.NoError(t, CheckSchedule(faults, 0))
}

// TestExplicit: the written times mean the same to Schedule, whatever the run's length.
func TestExplicit(t *testing.T) {
	for _, c := range []struct {
		fault    string
		duration time.Duration
		want     string
	}{
		{"isolate primary at 10s", time.Minute, "isolate primary at 10s for 15s"},
		{"kill primary", 20 * time.Second, "kill primary at 5s for 5s"},
		{"kill primary", 0, "kill primary at 5s for 15s"},
		{"kill primary every 10s", time.Minute, "kill primary every 10s for 5s"},
		{"kill primary at 3s for ever", 10 * time.Second, "kill primary at 3s for ever"},
		{"restart any", 10 * time.Second, "restart any at 2.5s"},
		{"kill primary while loading", 10 * time.Second, "kill primary while loading at 5s for 15s"},
	} {
		f := parse(t, c.fault)[0]
		explicit := f.Explicit(c.duration)
		if explicit.String() != c.want {
			t.Errorf("%s in %v: %s, want %s", c.fault, c.duration, explicit, c.want)
		}
		if f.Loading {
			c.duration = 0
		}
		want := slices.Collect(Schedule([]Fault{f}, c.duration))
		for _, other := range []time.Duration{c.duration, 10 * c.duration} {
			got := slices.Collect(Schedule(parse(t, explicit.String()), other))
			if len(got) < len(want) || !slices.Equal(got[:len(want)], want) {
				t.Errorf("%s in %v: %v, want %v", explicit, other, got, want)
			}
		}
	}
}

func TestFaultsThatStandInTheWay(t *testing.T) {
	for _, c := range []struct {
		faults   []string
		duration time.Duration
		want     string // what the error says, empty for none
	}{
		{[]string{"kill n2 at 5s for ever", "pause n2 at 9s"}, time.Minute, `"pause n2 at 9s" never happens, since "kill n2 at 5s for ever"`},
		{[]string{"kill n2 at 5s for ever", "pause n2 every 10s"}, time.Minute, "never happens, since"},
		{[]string{"isolate all at 5s for ever", "partition halves at 9s", "isolate any at 9s"}, time.Minute, `"isolate any at 9s" never happens`},
		{[]string{"kill n2 at 5s for ever", "pause n2 at 2s for 1s"}, time.Minute, ""},
		{[]string{"kill n2 at 5s for ever", "pause n1 at 9s", "kill primary at 9s for ever", "isolate n2 at 10s"}, time.Minute, ""},
		{[]string{"kill primary at 5s for ever", "kill primary at 9s for ever"}, time.Minute, ""},
		{[]string{"kill all at 5s for ever", "grow cluster at 9s"}, time.Minute, ""},
		{[]string{"restore at 9s"}, time.Minute, `"restore backup at 9s" has no backup before it`},
		{[]string{"restore at 9s", "backup n1 at 9s"}, time.Minute, "has no backup before it"},
		{[]string{"restore at 9s", "backup n1 at 8s"}, time.Minute, ""},
		{[]string{"kill all dcs at 5s for ever", "isolate all at 9s", "pause dcs2 at 9s"}, time.Minute, `"pause dcs2 at 9s" never happens`},
		{[]string{"kill pooler at 5s for ever", "pause pooler at 9s"}, time.Minute, "never happens"},
		{[]string{"kill dcs at 5s for ever", "kill dcs at 9s", "kill all at 10s"}, time.Minute, ""},
		{[]string{"kill all at 5s for ever", "kill pooler at 9s"}, time.Minute, ""},
		{[]string{"kill all at 5s for ever"}, 0, "without end"},
		{[]string{"kill all at 5s for 1m", "slowcpu all for ever"}, 0, ""},
	} {
		err := CheckSchedule(parse(t, c.faults...), c.duration)
		var wrong *ScheduleError
		if c.want == "" && err != nil || c.want != "" && (!errors.As(err, &wrong) || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%v in %v: %v, want %q", c.faults, c.duration, err, c.want)
		}
	}
}
