package exchange

import (
	"maps"
	"slices"
)

// inFlight are the operations that were invoked and not completed yet, by process.
type inFlight map[int64]*Operation

// empty takes out all operations, and returns them from the last to the first.
func (f inFlight) empty() []*Operation {
	all := slices.SortedFunc(maps.Values(f), func(a, b *Operation) int { return int(b.Invoke - a.Invoke) })
	clear(f)
	return all
}
