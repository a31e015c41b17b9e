package register

import (
	"cmp"
	"slices"
)

// Zone is what decides of one value of a register whose values are unique (Gibbons and
// Korach, "Testing Shared Memories", SIAM J. Comput. 26(4), 1997, section 4): Ends is
// when the first of the operations that wrote or read it ended, and Begins when the
// last of them began. An operation of unknown outcome that somebody saw ends at the
// latest when it was seen first; the initial value's write has ended before all else.
type Zone struct{ Ends, Begins int64 }

// forward means that something of the value ended before something else of it began:
// it was the register's value all the while.
func (z Zone) forward() bool { return z.Ends < z.Begins }

// Conflicts finds pairs of values of which each must come before the other: something
// of the one ended before something of the other began, both ways round. Each such
// pair proves that the history is not linearizable; where reads return what was
// written, and nothing before its write began, a history without such a pair is
// linearizable. If there are such pairs at least one is given: by its places in the
// list, the first a value that was the register's all the while. It takes n log n.
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
