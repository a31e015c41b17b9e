package series

import (
	"context"
	"errors"
	"testing"
)

func TestHighestRate(t *testing.T) {
	for _, limit := range []float64{1000, 730, 40, 5} {
		rate, tries, err := HighestRate(t.Context(), 1000, func(_ context.Context, _ int, rate float64) (bool, error) { return rate <= limit, nil })
		if err != nil || rate > limit || rate < limit/closeEnough/closeEnough {
			t.Errorf("of %g it found %g in %d tries, %v", limit, rate, len(tries), err)
		}
		if last := tries[len(tries)-1]; !last.Confirms || !last.Kept || last.Rate != rate {
			t.Errorf("the last try is %+v", last)
		}
	}
}

func TestNoRateIsKept(t *testing.T) {
	rate, tries, err := HighestRate(t.Context(), 1000, func(context.Context, int, float64) (bool, error) { return false, nil })
	if rate != 0 || err != nil || len(tries) == 0 || len(tries) > mostTries {
		t.Errorf("%g in %d tries, %v", rate, len(tries), err)
	}
	// A rate kept once and never again is not kept.
	rate, tries, err = HighestRate(t.Context(), 1000, func(_ context.Context, n int, _ float64) (bool, error) { return n == 1, nil })
	if rate != 0 || err != nil || len(tries) > mostTries+mostConfirmations {
		t.Errorf("%g in %d tries, %v", rate, len(tries), err)
	}
}

// TestARateIsKeptTwice also if the one that was found is not kept again.
func TestARateIsKeptTwice(t *testing.T) {
	confirmed := false
	seen := map[float64]bool{}
	rate, tries, err := HighestRate(t.Context(), 1000, func(_ context.Context, _ int, rate float64) (bool, error) {
		missed := seen[rate] && !confirmed
		confirmed = confirmed || seen[rate]
		seen[rate] = true
		return rate <= 730 && !missed, nil
	})
	if err != nil || rate == 0 || rate > 730 {
		t.Fatalf("%g in %d tries, %v", rate, len(tries), err)
	}
	kept := 0
	for _, try := range tries {
		if try.Rate == rate && try.Kept {
			kept++
		}
	}
	if kept != 2 {
		t.Errorf("%g was kept %d times: %+v", rate, kept, tries)
	}
}

func TestRateSearchEnds(t *testing.T) {
	broken := errors.New("no servers")
	if _, _, err := HighestRate(t.Context(), 1000, func(context.Context, int, float64) (bool, error) { return false, broken }); !errors.Is(err, broken) {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	n := 0
	_, _, err := HighestRate(ctx, 1000, func(context.Context, int, float64) (bool, error) { n++; cancel(); return true, nil })
	if !errors.Is(err, context.Canceled) || n != 1 {
		t.Errorf("%d tries, %v", n, err)
	}
}

// TestWhatARateRestsOn: a highest rate needs a lower bound and an upper one that are believed.
func TestWhatARateRestsOn(t *testing.T) {
	kept, again, bound, far := Try{Rate: 100, Kept: true}, Try{Rate: 100, Kept: true, Confirms: true}, Try{Rate: 105}, Try{Rate: 200}
	in := func(t Try) Try { t.Doubted = true; return t }
	for name, c := range map[string]struct {
		tries []Try
		rate  float64
		want  bool
	}{
		"all believed":                       {[]Try{far, kept, bound, again}, 100, true},
		"a doubted miss far above":           {[]Try{in(far), kept, bound, again}, 100, true},
		"a doubted upper bound":              {[]Try{far, kept, in(bound), again}, 100, false},
		"a bound missed again":               {[]Try{far, in(bound), kept, bound, again}, 100, true},
		"a doubted confirmation":             {[]Try{far, kept, bound, in(again)}, 100, false},
		"nothing above was tried":            {[]Try{kept, again}, 100, true},
		"no rate, all believed":              {[]Try{far, bound}, 0, true},
		"no rate, one doubted":               {[]Try{in(far), bound}, 0, false},
		"kept once above, missed in doubt":   {[]Try{{Rate: 105, Kept: true}, in(bound), kept, again}, 100, false},
		"kept once above, missed believably": {[]Try{{Rate: 105, Kept: true}, bound, kept, again}, 100, true},
	} {
		if got := Established(c.tries, c.rate); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
