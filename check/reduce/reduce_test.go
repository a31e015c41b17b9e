package reduce_test

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	"assay/check/reduce"
)

func TestMinimizeFindsExactlyWhatIsNeeded(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for n := range 60 {
		var needed []int
		for i := range n {
			if random.IntN(8) == 0 {
				needed = append(needed, i)
			}
		}
		calls := 0
		got, whole := reduce.Minimize(t.Context(), n, func(parts []int) bool {
			calls++
			if !slices.IsSorted(parts) {
				t.Fatalf("parts %v are not in their order", parts)
			}
			for _, i := range needed {
				if !slices.Contains(parts, i) {
					return false
				}
			}
			return true
		})
		if !slices.Equal(got, needed) || !whole {
			t.Errorf("of %d parts %v, want %v (came to an end: %v)", n, got, needed, whole)
		}
		if calls > n*n+3*n {
			t.Errorf("%d calls for %d parts", calls, n)
		}
	}
}

// If several sets fail, no part that stays can be left out.
func TestMinimizeOfAlternatives(t *testing.T) {
	fails := func(parts []int) bool { return len(parts) >= 3 }
	if got, whole := reduce.Minimize(t.Context(), 50, fails); len(got) != 3 || !whole {
		t.Errorf("%v, %v", got, whole)
	}
	if got, whole := reduce.Minimize(t.Context(), 1, func(parts []int) bool { return len(parts) == 1 }); len(got) != 1 || !whole {
		t.Errorf("%v, %v", got, whole)
	}
}

// When its context ends, Minimize returns the smallest failing set so far.
func TestMinimizeEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	calls := 0
	got, whole := reduce.Minimize(ctx, 1000, func(parts []int) bool {
		calls++
		if calls == 3 {
			cancel()
		}
		return slices.Contains(parts, 0) && slices.Contains(parts, 999)
	})
	if whole || calls > 3 || !slices.Contains(got, 0) || !slices.Contains(got, 999) {
		t.Errorf("%d parts after %d calls, came to an end: %v", len(got), calls, whole)
	}
}
