package register

import (
	"cmp"
	"slices"
)

// Zone is the part of one value's history that decides, if values are unique (Gibbons and
// Korach, "Testing Shared Memories", SIAM J. Comput. 26(4), 1997, section 4). Ends is the first
// end of an operation that wrote or read the value, and Begins the last beginning. An operation
// of unknown outcome ends at the latest when it was first seen. The initial value's write has
// ended before everything.
type Zone struct{ Ends, Begins int64 }

// forward means that an operation on the value ended before another began: it was held in between.
func (z Zone) forward() bool { return z.Ends < z.Begins }

// Conflicts finds pairs of values that must each come before the other: an operation on each
// ended before an operation on the other began. Such a pair proves that the history is not
// linearizable. A history without such a pair is linearizable if each read returns a written
// value, and no value before its write began.
//
// Conflicts gives at least one pair if there is one, by the places in zones. The first of the
// pair is a forward zone. It takes n log n.
func Conflicts(zones []Zone, give func(forward, other int)) {
	var held []int // the forward ones, by when they end
	for i, z := range zones {
		if z.forward() {
			held = append(held, i)
		}
	}
	slices.SortStableFunc(held, func(a, b int) int { return cmp.Compare(zones[a].Ends, zones[b].Ends) })
	for i := 1; i < len(held); i++ { // if any two overlap, two neighbours do
		if zones[held[i]].Ends < zones[held[i-1]].Begins {
			give(held[i-1], held[i])
		}
	}
	for i, z := range zones {
		if z.forward() {
			continue
		}
		n, _ := slices.BinarySearchFunc(held, z.Begins, func(at int, begins int64) int {
			if zones[at].Ends < begins {
				return -1
			}
			return 1
		})
		if n > 0 && z.Ends < zones[held[n-1]].Begins {
			give(held[n-1], i)
		}
	}
}
