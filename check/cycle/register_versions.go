package cycle

import (
	"cmp"
	"context"
	"slices"
)

type source uint8

const (
	// nothingBefore: the initial state precedes all.
	nothingBefore source = iota
	// writeFollowsRead: a transaction read the one and then wrote the other. In the opposite order
	// its read would depend on its write, which is G1c. So consequences hold from read committed
	// upwards.
	writeFollowsRead
	// sequentialKey and linearizableKey rest on the option of that name.
	sequentialKey
	linearizableKey
)

type versionEdge struct {
	from, to version
	source   source
	// first and second are the transactions that show it; the same one for writeFollowsRead.
	first, second int32
}

// orderVersions sets s.edges, the known order of a register's versions. It calls onCycle with a
// cycle of a source's edges, and omits that source.
func (in *inference) orderVersions(s *registerState, onCycle func([]versionEdge)) {
	sources := [][]versionEdge{in.followReads(s)}
	if in.o.SequentialKeys {
		sources = append(sources, in.followClients(s.uses))
	}
	if in.o.LinearizableKeys {
		sources = append(sources, in.followTime(s.uses))
	}
	s.edges = s.edges[:0]
	for _, more := range sources {
		if len(more) == 0 {
			continue
		}
		both := append(slices.Clip(s.edges), more...)
		if circle := s.findCycle(in, both); circle != nil {
			onCycle(circle)
			continue
		}
		s.edges = both
	}
	s.edges = append(s.edges, in.fromNothing(s, s.edges)...)
	slices.SortStableFunc(s.edges, func(a, b versionEdge) int { return int(a.from - b.from) })
}

// fromNothing leads from the initial state to all versions without another predecessor.
func (in *inference) fromNothing(s *registerState, edges []versionEdge) []versionEdge {
	later := make([]bool, len(s.table.entries)+1)
	for _, e := range edges {
		later[e.to] = true
	}
	var first []versionEdge
	for _, u := range s.uses {
		if u.wrote && !later[u.last] && in.effective(&s.keyState, u.last-1) {
			first = append(first, versionEdge{to: u.last, source: nothingBefore, second: u.txn})
		}
	}
	return first
}

func (in *inference) followReads(s *registerState) []versionEdge {
	var edges []versionEdge
	for _, u := range s.uses {
		if u.wrote && u.read != noVersion && u.read != u.last {
			edges = append(edges, versionEdge{u.read, u.last, writeFollowsRead, u.txn, u.txn})
		}
	}
	return edges
}

func (in *inference) followClients(uses []use) []versionEdge {
	var edges []versionEdge
	last := map[int32]use{}
	for _, u := range in.usesByTime(uses) {
		before, some := last[in.h.process(u.txn)]
		if some && in.h.complete(before.txn) <= in.h.invoke(u.txn) {
			edges = appendEdge(edges, before, u, sequentialKey)
		}
		if in.h.committed(u.txn) {
			last[in.h.process(u.txn)] = u
		}
	}
	return edges
}

// followTime orders versions by real time. It keeps the acknowledged transactions that no other
// acknowledged one follows: they precede the next transaction to begin.
func (in *inference) followTime(uses []use) []versionEdge {
	var edges []versionEdge
	begun := in.usesByTime(uses)
	acknowledged := slices.DeleteFunc(slices.Clone(begun), func(u use) bool { return !in.h.committed(u.txn) })
	slices.SortStableFunc(acknowledged, func(a, b use) int {
		return cmp.Compare(in.h.complete(a.txn), in.h.complete(b.txn))
	})
	var front []use
	for _, u := range begun {
		for len(acknowledged) > 0 && in.h.complete(acknowledged[0].txn) < in.h.invoke(u.txn) {
			next := acknowledged[0]
			acknowledged = acknowledged[1:]
			front = slices.DeleteFunc(front, func(f use) bool {
				return in.h.complete(f.txn) < in.h.invoke(next.txn)
			})
			front = append(front, next)
		}
		for _, f := range front {
			edges = appendEdge(edges, f, u, linearizableKey)
		}
	}
	return edges
}

func appendEdge(edges []versionEdge, a, b use, s source) []versionEdge {
	if a.last == noVersion || b.first == noVersion || a.last == b.first {
		return edges
	}
	return append(edges, versionEdge{a.last, b.first, s, a.txn, b.txn})
}

// usesByTime returns the uses by invocation, without those of no known version.
func (in *inference) usesByTime(all []use) []use {
	uses := slices.Clone(all)
	slices.SortStableFunc(uses, func(a, b use) int { return cmp.Compare(in.h.invoke(a.txn), in.h.invoke(b.txn)) })
	return slices.DeleteFunc(uses, func(u use) bool { return u.first == noVersion || u.last == noVersion })
}

func (s *registerState) findCycle(in *inference, edges []versionEdge) []versionEdge {
	all := append(slices.Clip(edges), in.fromNothing(s, nil)...)
	l := newEdgeList(0)
	l.nodes = int32(len(s.table.entries) + 1)
	for _, e := range all {
		l.add(e.from, e.to, ww)
	}
	inside := make([]bool, l.nodes)
	l.build().components(context.Background(), ww, func(members []int32) {
		if len(members) > 1 && !slices.Contains(inside, true) {
			for _, v := range members {
				inside[v] = true
			}
		}
	})
	at := slices.Index(inside, true)
	if at < 0 {
		return nil
	}
	// Each version of a component has an edge within it. Following these edges returns to a
	// version seen before.
	onward := map[version]versionEdge{}
	for _, e := range all {
		if inside[e.from] && inside[e.to] && e.from != e.to {
			onward[e.from] = e
		}
	}
	step := map[version]int{}
	var walk []versionEdge
	for v := version(at); ; v = walk[len(walk)-1].to {
		if begin, been := step[v]; been {
			return walk[begin:]
		}
		step[v] = len(walk)
		walk = append(walk, onward[v])
	}
}
