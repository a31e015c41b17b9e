package series

import (
	"context"
	"math"
)

// Try is one run of a search. Its rate is in arrivals a second.
type Try struct {
	Rate float64 `json:"rate"`
	Kept bool    `json:"kept"`
	// Confirms marks a try after the search, of the rate it found or of a lower one.
	Confirms bool `json:"confirms,omitempty"`
	// Doubted marks a run that has no verdict or whose measurement is invalid.
	Doubted bool `json:"doubted,omitempty"`
}

const (
	// closeEnough is the ratio of the lowest rate not kept to the highest kept at which the
	// search ends.
	closeEnough = 1.05
	// mostTries bounds the search, mostConfirmations the repeats.
	mostTries, mostConfirmations = 12, 6
	smallestShare                = 1.0 / 256
)

// HighestRate finds, to within 5 %, the highest rate up to most, in arrivals a second, at which
// try reports an objective as kept. It halves the range on a logarithmic scale and repeats the
// rate it found, since an objective near its limit is kept now and then. It lowers a rate
// that is not kept again by 5 %, and tries that one until it was kept twice. It returns 0 if no rate
// was.
//
// An error of try ends the search, and so does ctx.
func HighestRate(ctx context.Context, most float64, try func(ctx context.Context, number int, rate float64) (kept bool, err error)) (rate float64, tries []Try, err error) {
	ask := func(rate float64, confirms bool) (bool, error) {
		if err := ctx.Err(); err != nil {
			return false, err
		}
		kept, err := try(ctx, len(tries)+1, rate)
		if err == nil {
			tries = append(tries, Try{Rate: rate, Kept: kept, Confirms: confirms})
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
	keeps := 1 // of low
	for range mostConfirmations {
		if low == 0 {
			break
		}
		kept, err := ask(low, true)
		if err != nil {
			return 0, tries, err
		}
		if !kept {
			low, keeps = low/closeEnough, 0
			continue
		}
		if keeps++; keeps == 2 {
			return low, tries, nil
		}
	}
	return 0, tries, nil
}

// Established reports whether tries that must be believed bear out rate, the answer of HighestRate:
// all tries at it, and one that missed at the lowest rate missed above it, since otherwise a higher
// rate may be kept. An answer of 0 rests on all tries.
func Established(tries []Try, rate float64) bool {
	lowest, missed := math.Inf(1), true
	for _, t := range tries {
		switch {
		case t.Doubted && (rate == 0 || t.Rate == rate):
			return false
		case t.Kept || t.Rate <= rate || t.Rate > lowest:
		case t.Rate < lowest:
			lowest, missed = t.Rate, !t.Doubted
		default:
			missed = missed || !t.Doubted
		}
	}
	return missed
}
