package recorded

import (
	"context"
	"slices"

	"assay/check"
	"assay/check/cycle/acyclic"
)

// relations is a set of the ways in which one action precedes another.
type relations uint8

const (
	ww relations = 1 << iota
	wr
	rw
	realtime
)

// String names a single relation.
func (r relations) String() string {
	return map[relations]string{ww: "ww", wr: "wr", rw: "rw", realtime: "realtime"}[r]
}

type reason struct {
	kind            relations
	message, before int32 // what was sent or polled, of ww and rw also what stands before it
}

// dependencies is the graph of actions. The nodes after the actions stand for moments of real
// time. A long history has many edges, so only their targets are kept. Reasons are computed again
// for the edges that can be in a cycle.
type dependencies struct {
	j       *journal
	nodes   int
	moments []moment
	edges   map[relations]adjacency
	found   map[relations][]int32 // the components of those relations that were looked at
	reasons []reason
}

// adjacency has the targets to[start[v]:start[v+1]] of node v.
type adjacency struct{ start, to []int32 }

// dependencies needs the sorted offsets of all partitions (journal.positions).
func (j *journal) dependencies() *dependencies {
	d := &dependencies{j: j, nodes: int(j.all.len), edges: map[relations]adjacency{}, found: map[relations][]int32{}}
	d.moments = moments(int(j.all.len), func(i int) (int64, int64) {
		by := &j.all.at(int32(i)).by
		return by.Invoke, by.Complete
	})
	for i := range d.moments {
		if d.moments[i].ended {
			d.nodes++
		}
	}
	return d
}

// known reports whether the sender of a message is certain.
func (m *message) known() bool { return m.sent >= 0 && !m.again }

// each calls visit with each edge of one relation, always in the same order.
func (d *dependencies) each(kind relations, visit func(from, to int32, why reason)) {
	switch kind {
	case ww:
		d.eachSend(visit)
	case realtime:
		d.eachMoment(visit)
	default:
		var highest highestPolled
		for i := range d.j.all.len {
			switch {
			case !d.j.all.at(i).by.Acknowledged():
			case kind == wr:
				d.eachPolled(i, visit)
			default:
				d.eachLacked(i, &highest, visit)
			}
		}
	}
}

// eachSend visits the senders of consecutive values in a log.
func (d *dependencies) eachSend(visit func(from, to int32, why reason)) {
	for _, p := range d.j.order {
		var last *message
		before := int32(-1)
		for i, n := range p.standing {
			m := d.j.messages.at(n)
			if !m.known() || m.offset != p.offsets[i] {
				continue
			}
			if last != nil && last.sent != m.sent {
				visit(last.sent, m.sent, reason{ww, n, before})
			}
			last, before = m, n
		}
	}
}

// eachPolled visits the senders of the values that an action polled.
func (d *dependencies) eachPolled(i int32, visit func(from, to int32, why reason)) {
	for s := range d.j.stepsOf(i) {
		if s.send() {
			continue
		}
		if m, seen := d.j.messageOf(s); m.known() && m.sent != i {
			visit(m.sent, i, reason{wr, seen.message, -1})
		}
	}
}

// highestPolled is the last value of each log that an action polled, in the order of steps.
type highestPolled struct {
	of    []int32 // one more than the step, by the log's place in the journal, or 0
	steps []*sighting
}

// eachLacked visits the sender of the next value after the last one that an action polled from a
// log. A log does not promise that the action precedes this sender: a poll returns any part of
// the log.
func (d *dependencies) eachLacked(i int32, highest *highestPolled, visit func(from, to int32, why reason)) {
	if highest.of == nil {
		highest.of = make([]int32, len(d.j.order))
	}
	highest.steps = highest.steps[:0]
	for s := range d.j.stepsOf(i) {
		if s.send() {
			continue
		}
		m, seen := d.j.messageOf(s)
		highest.steps = append(highest.steps, seen)
		if last := &highest.of[m.on.index]; *last == 0 || highest.steps[*last-1].offset < seen.offset {
			*last = int32(len(highest.steps))
		}
	}
	for n, seen := range highest.steps {
		on := d.j.messages.at(seen.message).on
		if highest.of[on.index] != int32(n)+1 {
			continue
		}
		highest.of[on.index] = 0
		next, _ := slices.BinarySearch(on.offsets, seen.offset+1)
		if next == len(on.offsets) {
			continue
		}
		behind := on.standing[next]
		if m := d.j.messages.at(behind); m.known() && m.sent != i {
			visit(i, m.sent, reason{rw, behind, seen.message})
		}
	}
}

// eachMoment has a node for each acknowledgement. Edges lead from it to the next acknowledgement
// and to the actions that begin between the two.
func (d *dependencies) eachMoment(visit func(from, to int32, why reason)) {
	last, at := int32(-1), d.j.all.len
	for _, m := range d.moments {
		if !m.ended {
			if last >= 0 {
				visit(last, m.op, reason{kind: realtime})
			}
			continue
		}
		visit(m.op, at, reason{kind: realtime})
		if last >= 0 {
			visit(last, at, reason{kind: realtime})
		}
		last = at
		at++
	}
}

func (d *dependencies) adjacent(kind relations) adjacency {
	a, known := d.edges[kind]
	if known {
		return a
	}
	// Counts are summed one position up. While the edges are filled in, start[v+1] is where v's
	// next edge goes; in the end it is the end of v.
	a.start = make([]int32, d.nodes+2)
	d.each(kind, func(from, _ int32, _ reason) { a.start[from+2]++ })
	for v := range d.nodes {
		a.start[v+2] += a.start[v+1]
	}
	a.to = make([]int32, a.start[d.nodes+1])
	d.each(kind, func(from, to int32, _ reason) {
		a.to[a.start[from+1]] = to
		a.start[from+1]++
	})
	d.edges[kind] = a
	return a
}

// components numbers the strongly connected components; nil if there is no cycle, or if ctx ended.
func (d *dependencies) components(ctx context.Context, of relations) []int32 {
	for more, number := range d.found {
		if more == of || number == nil && of&^more == 0 {
			return number
		}
	}
	var all []adjacency
	for kind := ww; kind <= realtime; kind <<= 1 {
		if of&kind != 0 {
			all = append(all, d.adjacent(kind))
		}
	}
	number, count := acyclic.Numbers(ctx, d.nodes, func(v, n int32) (int32, bool) {
		for i := range all {
			from, to := all[i].start[v], all[i].start[v+1]
			if n < to-from {
				return all[i].to[from+n], true
			}
			n -= to - from
		}
		return 0, false
	})
	if count == d.nodes {
		number = nil
	}
	d.found[of] = number
	return number
}

// within returns the edges of some relations inside a component, tagged with their reasons.
func (d *dependencies) within(number []int32, of relations) []acyclic.Edge {
	var edges []acyclic.Edge
	d.reasons = d.reasons[:0]
	for kind := ww; kind <= realtime; kind <<= 1 {
		if of&kind == 0 {
			continue
		}
		d.each(kind, func(from, to int32, why reason) {
			if number[from] == number[to] {
				edges = append(edges, acyclic.Edge{From: from, To: to, Tag: int32(len(d.reasons))})
				d.reasons = append(d.reasons, why)
			}
		})
	}
	return edges
}

// cycles adds the forbidden cycles, and returns the names of the permitted ones that exist.
func (j *journal) cycles(ctx context.Context, f *findings) (permitted []string) {
	d := j.dependencies()
	look := func(kind string, forbidden bool, of relations) {
		number := d.components(ctx, of)
		if number != nil && !forbidden {
			permitted = append(permitted, kind)
		} else if number != nil {
			if cycle := acyclic.Cycle(ctx, d.nodes, d.within(number, of)); cycle != nil {
				f.Add(kind, func() check.Evidence { return d.evidence(kind, cycle) })
			}
		}
	}
	// Relations without a cycle have none in a subset, which is then not searched.
	d.components(ctx, wr|realtime)
	if d.components(ctx, ww|wr|rw) != nil {
		d.components(ctx, ww|wr)
	}
	look(kindG0, j.sendsInOrder, ww)
	look(kindG1c, true, wr)
	if f.Count(kindG1c) == 0 {
		look(kindG1cRealtime, true, wr|realtime)
		if f.Count(kindG0) == 0 && len(permitted) == 0 {
			look(kindG1c, j.pollsInOrder, ww|wr)
		}
	}
	if f.Count(kindG0, kindG1c) == 0 && len(permitted) == 0 {
		look(kindLogG2, j.pollsComplete, ww|wr|rw)
	}
	return permitted
}
