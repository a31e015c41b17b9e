package cycle

// groups are items sorted by a small number: those of g are all[start[g]:start[g+1]], in the order
// in which they came.
type groups[T any] struct {
	all   []T
	start []int32
}

func (g *groups[T]) of(n int32) []T { return g.all[g.start[n]:g.start[n+1]] }

// group sorts items by numbers below n. It calls each twice, which must visit the same.
func group[T any](n int, each func(visit func(number int32, item T))) groups[T] {
	// Counts are two positions up, and summed one position up. While the items are filled in,
	// start[i+1] is where the next item of i goes; in the end it is the end of i.
	g := groups[T]{start: make([]int32, n+2)}
	each(func(number int32, _ T) { g.start[number+2]++ })
	for i := range n {
		g.start[i+2] += g.start[i+1]
	}
	g.all = make([]T, g.start[n+1])
	each(func(number int32, item T) {
		g.all[g.start[number+1]] = item
		g.start[number+1]++
	})
	return g
}
