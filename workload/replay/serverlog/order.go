package serverlog

import (
	"cmp"
	"maps"
	"slices"
)

// inOrder are the sessions that are connected, by their numbers.
func (p *postgres) inOrder() []*pgSession {
	return slices.SortedFunc(maps.Values(p.sessions), func(a, b *pgSession) int { return cmp.Compare(a.number, b.number) })
}
