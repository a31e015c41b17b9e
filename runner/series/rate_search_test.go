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
