package series

import (
	"context"
	"math"
)

// Try is one run of a search, at a rate of arrivals a second.
type Try struct {
	Rate float64 `json:"rate"`
	// Kept is true if the objective was kept.
	Kept bool `json:"kept"`
	// Confirms is true of a run that repeats a rate with another seed.
	Confirms bool `json:"confirms,omitempty"`
}

const (
	// closeEnough is how near the rate that is kept and the one that is not are to
	// come, as a ratio.
	closeEnough = 1.05
	// mostTries bounds the search, mostConfirmations the rates that are repeated.
	mostTries, mostConfirmations = 12, 4
	// smallestShare is the smallest rate that is tried, of the highest.
	smallestShare = 1.0 / 256
)

// HighestRate searches the highest rate up to most, in arrivals a second, at which
// try reports that an objective is kept, to within 5 %. It halves the range on a
// logarithmic scale, and then repeats what it has found; a rate that is not kept
// again is lowered by 5 % and repeated. It returns 0 if no rate was kept, or none a
// second time, and all tries. Objectives near their limit are kept now and then, so
// that the rate is one at which it was kept twice, and no more.
//
// An error of try ends the search, and so does ctx.
func HighestRate(ctx context.Context, most float64, try func(ctx context.Context, number int, rate float64) (kept bool, err error)) (rate float64, tries []Try, err error) {
	ask := func(rate float64, confirms bool) (bool, error) {
		if err := ctx.Err(); err != nil {
			return false, err
		}
		kept, err := try(ctx, len(tries)+1, rate)
		if err == nil {
			tries = append(tries, Try{rate, kept, confirms})
		}
		return kept, err
	}
	low, high := 0.0, most*closeEnough
	for len(tries) < mostTries && high > max(low, most*smallestShare)*closeEnough {
		next := math.Sqrt(low * high)
		if low == 0 {
			next = high / 2
		}
		kept, err := ask(next, false)
		switch {
		case err != nil:
			return 0, tries, err
		case kept:
			low = next
		default:
			high = next
		}
	}
	for range mostConfirmations {
		if low == 0 {
			break
		}
		kept, err := ask(low, true)
		if err != nil {
			return 0, tries, err
		}
		if kept {
			return low, tries, nil
		}
		low /= closeEnough
	}
	return 0, tries, nil
}
