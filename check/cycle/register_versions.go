package cycle

import (
	"cmp"
	"context"
	"slices"
)

// source is why one version of a register comes before another.
type source uint8

const (
	// nothingBefore: the initial state comes before all.
	nothingBefore source = iota
	// writeFollowsRead: a transaction read the one and then wrote the other.
	// If it were the other way round, what it read would depend on it, which
	// is G1c; so whatever follows holds from read committed upwards.
	writeFollowsRead
	// sequentialKey and linearizableKey rest on the assumption of that option.
	sequentialKey
	linearizableKey
)

// versionEdge means that one version comes before another.
type versionEdge struct {
	from, to version
	source   source
	// first and second are the transactions that show it; with
	// writeFollowsRead they are one.
	first, second int32
}

// orderVersions fills in s.edges: the order of a register's versions as far as
// it is known. A source whose edges make a circle is left out, after onCycle
// was called with one.
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

// fromNothing leads from the initial state to all versions that have nothing
// else before them; to the others it leads by way of those.
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
		before, some := last[in.h.process.at(u.txn)]
		if some && in.h.complete.at(before.txn) <= in.h.invoke.at(u.txn) {
			edges = appendEdge(edges, before, u, sequentialKey)
		}
		if in.h.committed(u.txn) {
			last[in.h.process.at(u.txn)] = u
		}
	}
	return edges
}

// followTime keeps those who have been acknowledged and of whom nobody later
// has been yet: they are before whoever is begun next.
func (in *inference) followTime(uses []use) []versionEdge {
	var edges []versionEdge
	begun := in.usesByTime(uses)
	acknowledged := slices.DeleteFunc(slices.Clone(begun), func(u use) bool { return !in.h.committed(u.txn) })
	slices.SortStableFunc(acknowledged, func(a, b use) int {
		return cmp.Compare(in.h.complete.at(a.txn), in.h.complete.at(b.txn))
	})
	var front []use
	for _, u := range begun {
		for len(acknowledged) > 0 && in.h.complete.at(acknowledged[0].txn) < in.h.invoke.at(u.txn) {
			next := acknowledged[0]
			acknowledged = acknowledged[1:]
			front = slices.DeleteFunc(front, func(f use) bool {
				return in.h.complete.at(f.txn) < in.h.invoke.at(next.txn)
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

// usesByTime returns the uses in the order in which they were begun, without
// those that neither saw nor left a known version.
func (in *inference) usesByTime(all []use) []use {
	uses := slices.Clone(all)
	slices.SortStableFunc(uses, func(a, b use) int { return cmp.Compare(in.h.invoke.at(a.txn), in.h.invoke.at(b.txn)) })
	return slices.DeleteFunc(uses, func(u use) bool { return u.first == noVersion || u.last == noVersion })
}

// findCycle returns edges that lead in a circle, or nil.
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
	// Within a component every version has an edge onwards; following them, one
	// comes back to where one was.
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
