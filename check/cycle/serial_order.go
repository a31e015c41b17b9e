package cycle

import (
	"context"
	"math"
)

// serialOrder looks for an order of all transactions in which every edge leads forwards, and which
// keeps real time if that counts. If there is one, no cycle needs a name. It is Kahn's algorithm
// (CACM 1962). Real time takes no edges: a transaction may come once all transactions acknowledged
// before it began have come. whole is false if ctx ended first.
func (in *inference) serialOrder(ctx context.Context, realtime bool) (found, whole bool) {
	h := in.h
	var begun, acknowledged []int32
	if realtime {
		begun, acknowledged = h.begun(), h.byTime(h.complete, h.committed)
		in.edges.addSameMoment(h, begun, acknowledged)
	}
	g := in.edges.build()
	waiting := make([]int32, in.edges.nodes) // for so many others, -1 once it came
	for _, v := range g.to {
		waiting[v]++
	}
	for _, t := range begun {
		waiting[t]++ // to be begun
	}
	var ready []int32
	for v, n := range waiting {
		if n == 0 {
			ready = append(ready, int32(v))
		}
	}
	leave := func(v int32) {
		if waiting[v]--; waiting[v] == 0 {
			ready = append(ready, v)
		}
	}
	came := 0
	for {
		for len(acknowledged) > 0 && waiting[acknowledged[0]] < 0 {
			acknowledged = acknowledged[1:]
		}
		earliest := int64(math.MaxInt64)
		if len(acknowledged) > 0 {
			earliest = h.complete(acknowledged[0])
		}
		for len(begun) > 0 && h.invoke(begun[0]) <= earliest {
			leave(begun[0])
			begun = begun[1:]
		}
		if len(ready) == 0 {
			return came == len(waiting), true
		}
		if came%65536 == 0 && ctx.Err() != nil {
			return false, false
		}
		v := ready[len(ready)-1]
		ready = ready[:len(ready)-1]
		waiting[v] = -1
		came++
		for _, w := range g.to[g.start[v]:g.start[v+1]] {
			leave(w)
		}
	}
}
