// Package reduce makes a failing input small by delta debugging: the algorithm ddmin of Zeller
// and Hildebrandt, "Simplifying and Isolating Failure-Inducing Input", IEEE Transactions on
// Software Engineering 28(2), 2002.
package reduce

import "context"

// Minimize returns the smallest failing set of the parts 0 to n-1 that it found, in order. All
// n parts together are assumed to fail. whole is true if the search ended: then no single part
// can be left out. It is false if ctx ended first.
//
// fails gets parts in order and must not keep the slice. It is called at most n²+3n times, and
// about 2 log n times for each part that stays if few do.
func Minimize(ctx context.Context, n int, fails func(parts []int) bool) (parts []int, whole bool) {
	parts = make([]int, n)
	for i := range parts {
		parts[i] = i
	}
	pieces := 2
	for len(parts) > 0 {
		if ctx.Err() != nil {
			return parts, false
		}
		pieces = min(pieces, len(parts))
		smaller, isPiece := split(ctx, parts, pieces, fails)
		switch {
		case isPiece:
			parts, pieces = smaller, 2
		case smaller != nil:
			parts, pieces = smaller, max(pieces-1, 2)
		case ctx.Err() != nil:
			return parts, false
		case pieces == len(parts):
			return parts, true
		default:
			pieces *= 2
		}
	}
	return parts, true
}

// split tries each piece alone, and then all but one piece. It returns nil if nothing fails.
func split(ctx context.Context, parts []int, pieces int, fails func([]int) bool) (smaller []int, isPiece bool) {
	for i := range pieces {
		from, to := i*len(parts)/pieces, (i+1)*len(parts)/pieces
		if pieces > 1 && ctx.Err() == nil && fails(parts[from:to]) {
			return append([]int(nil), parts[from:to]...), true
		}
	}
	for i := range pieces {
		if pieces == 2 || ctx.Err() != nil { // the rest of two pieces is the other one
			continue
		}
		from, to := i*len(parts)/pieces, (i+1)*len(parts)/pieces
		rest := append(append(make([]int, 0, len(parts)), parts[:from]...), parts[to:]...)
		if fails(rest) {
			return rest, false
		}
	}
	return nil, false
}
