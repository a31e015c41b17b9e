package application

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"assay/application/wire"
	"assay/internal/expect"
)

// TestBounds follow from what an untouched run took, unless they are given.
func TestBounds(t *testing.T) {
	base := func(took, longest time.Duration) *baseline {
		return &baseline{run: &run{ending: ending{took: took}}, longest: longest}
	}
	for name, c := range map[string]struct {
		base         *baseline
		given, lasts time.Duration
		want         bounds
	}{
		"untouched":    {nil, 0, 0, bounds{time.Hour, time.Minute}},
		"and given":    {nil, time.Second, 0, bounds{time.Second, time.Minute}},
		"a short one":  {base(time.Second, time.Second), 0, 0, bounds{6 * time.Minute, time.Minute}},
		"a long one":   {base(time.Hour, time.Hour), 0, time.Second, bounds{13*time.Hour + time.Second, 3*time.Hour + time.Second}},
		"a given time": {base(time.Hour, time.Second), 2 * time.Hour, time.Second, bounds{2*time.Hour + time.Second, time.Minute + time.Second}},
	} {
		x := &trying{Plan: Plan{Patience: time.Minute, TimeLimit: c.given}, base: c.base}
		if got := x.bounds(c.lasts); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
	for event, lasts := range map[string]time.Duration{"read-only@abcd0123:1": standby, "read-only-30s@abcd0123:1": 30 * time.Second, "late-2s@abcd0123:1": 2 * time.Second, "reset@abcd0123:1": 0} {
		f, err := wire.ParseFault(event)
		expect.NoError(t, err)
		if f.Lasts() != lasts {
			t.Errorf("%s lasts for %v", event, f.Lasts())
		}
	}
}

const standby = 5 * time.Second

// TestWhyItHangs tells an application that waits when its time is over from one that goes on.
func TestWhyItHangs(t *testing.T) {
	for e, want := range map[ending]string{
		{hung: true, took: 70 * time.Second, silent: time.Minute, mute: true}:       "nothing passed for 60 s, and it did not end",
		{hung: true, took: 10 * time.Second, silent: 9 * time.Second}:               "it had not ended after 10 s (--time-limit), and nothing had passed for the last 9 s",
		{hung: true, took: 10 * time.Second, silent: leastQuiet}:                    "it had not ended after 10 s (--time-limit), and nothing had passed for the last 1 s",
		{hung: true, took: 10 * time.Second, silent: leastQuiet - time.Millisecond}: "it had not ended after 10 s (--time-limit), and did not fall silent: it tries again for ever, or one of its threads goes on while another hangs",
	} {
		if got := e.hanging(); got != want {
			t.Errorf("%+v: %s", e, got)
		}
	}
}

// TestLedger keeps each transaction, and says how many it could not.
func TestLedger(t *testing.T) {
	path := filepath.Join(t.TempDir(), "transactions.jsonl")
	for to, kept := range map[string]bool{path: true, "/dev/full": false, "": true} {
		l, err := openLedger(to, nil)
		expect.NoError(t, err)
		const n = 3 * mostQueued
		for range n {
			x := sold(1, true, "INSERT INTO sale VALUES (1, '"+strings.Repeat("a", 100)+"')")
			l.Ended(x)
			l.Settled(x)
		}
		err = l.Close()
		if l.tally.Transactions != n || (err == nil) != kept {
			t.Errorf("%q: %d transactions, and %v", to, l.tally.Transactions, err)
		}
		if !kept && (!errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), "/dev/full has 0 of 3000 transactions")) {
			t.Errorf("%q: %v", to, err)
		}
	}
	text, err := os.ReadFile(path)
	expect.NoError(t, err)
	if lines := strings.Count(string(text), "\n"); lines != 3*mostQueued {
		t.Errorf("%d lines", lines)
	}
}
