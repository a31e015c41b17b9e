package isolation

import (
	"cmp"
	"fmt"
	"slices"

	"assay/check"
	"assay/check/cycle/acyclic"
	"assay/history"
)

// predicateCycles finds transactions without an order, by what they counted of groups and
// inserted into them (G2, Adya: anti-dependencies by predicates). It does not use real time.
//
// Groups only grow. So if A precedes B and both count a group, B finds at least the rows that A
// found or inserted. If B finds fewer, B precedes A. A cycle of this relation has no serial
// order.
//
// Snapshot isolation allows such cycles: a transaction whose snapshot is older misses B's rows.
// But its snapshots are ordered: the later of two finds at least what the earlier found in each
// group. So the relation by found rows alone has no cycle, as no cycle has two adjacent
// anti-dependencies (G-nonadjacent; Cerone and Gotsman, PODC 2016). Models with unordered
// snapshots (PL-2+, parallel snapshot isolation) allow these cycles.
type predicateCycles struct {
	transactions []counter
	counts       []count
}

type counter struct {
	client, attempt int
	seq             uint64
	start, end      int64
}

// count is a group as found by a transaction, without its own rows in it; own is their number.
type count struct {
	group       int64
	found, own  int64
	transaction int32
}

func (p *predicateCycles) look(op *history.Op, ops []Op) {
	counts := false
	number := int32(len(p.transactions))
	for i := range ops {
		if ops[i].Kind != Count {
			continue
		}
		c := count{group: ops[i].Key, found: ops[i].Value, transaction: number}
		for j := range ops {
			if ops[j].Kind != Insert || ops[j].Key != c.group {
				continue
			}
			if c.own++; j < i {
				c.found--
			}
		}
		p.counts = append(p.counts, c)
		counts = true
	}
	if counts {
		p.transactions = append(p.transactions, counter{op.Client, op.Attempt, op.Seq, op.Start, op.End})
	}
}

const (
	kindSerial   = "G2"
	kindSnapshot = "G-nonadjacent"
)

// finds is the least that a transaction after this count finds.
func (c *count) finds(kind string) int64 {
	if kind == kindSnapshot {
		return c.found
	}
	return c.found + c.own
}

// before is the graph of the relation. For each group it has a chain of nodes behind the
// transactions, one per number found, in ascending order. A transaction has an edge to the node
// of the number that it found. The largest node below what it found and inserted (found, for
// snapshots) has an edge to it.
func (p *predicateCycles) before(kind string) (nodes int, edges []acyclic.Edge) {
	slices.SortFunc(p.counts, func(a, b count) int {
		return cmp.Or(cmp.Compare(a.group, b.group), cmp.Compare(a.found, b.found), cmp.Compare(a.transaction, b.transaction))
	})
	nodes = len(p.transactions)
	edge := func(from, to int) { edges = append(edges, acyclic.Edge{From: int32(from), To: int32(to)}) }
	for i := 0; i < len(p.counts); {
		end := i
		var found []int64 // the numbers, of which the first has node first
		first := nodes
		for ; end < len(p.counts) && p.counts[end].group == p.counts[i].group; end++ {
			c := &p.counts[end]
			if len(found) == 0 || found[len(found)-1] != c.found {
				if len(found) > 0 {
					edge(nodes-1, nodes)
				}
				found = append(found, c.found)
				nodes++
			}
			edge(int(c.transaction), nodes-1)
		}
		for ; i < end; i++ {
			c := &p.counts[i]
			if at, _ := slices.BinarySearch(found, c.finds(kind)); at > 0 {
				edge(first+at-1, int(c.transaction))
			}
		}
	}
	return nodes, edges
}

// result adds a finding for each set of transactions that precede one another.
func (p *predicateCycles) result(kind string) (found check.Result) {
	nodes, edges := p.before(kind)
	component := acyclic.Components(nodes, edges)
	all := make([][]int32, nodes+1) // transactions by their components
	for t := range p.transactions {
		all[component[t]] = append(all[component[t]], int32(t))
	}
	for _, members := range all {
		if len(members) < 2 {
			continue
		}
		e := check.Evidence{Kind: kind, Fields: map[string]int64{"transactions": int64(len(members))}}
		if found.Found < check.MaxEvidence {
			p.explain(&e, members)
		}
		found.Add(e)
	}
	return found
}

// most bounds the transactions searched for a short cycle.
const most = 400

// explain describes the shortest cycle among these transactions, sorted by number.
func (p *predicateCycles) explain(e *check.Evidence, members []int32) {
	members = members[:min(len(members), most)]
	counts := make([][]count, len(members))
	for _, c := range p.counts {
		if i, is := slices.BinarySearch(members, c.transaction); is {
			counts[i] = append(counts[i], c)
		}
	}
	cycle := shortestCycle(len(members), func(a, b int) bool { _, _, lacks := lacking(counts[a], counts[b], e.Kind); return lacks })
	e.Text = fmt.Sprintf("%d transactions each come before the others by what they counted and inserted", len(members))
	if cycle == nil {
		return
	}
	e.Cycle = &check.Cycle{}
	e.Text = ""
	for i, m := range cycle {
		t := p.transactions[members[m]]
		after := cycle[(i+1)%len(cycle)]
		a, b, _ := lacking(counts[m], counts[after], e.Kind)
		op := history.Op{Client: t.client, Seq: t.seq, Attempt: t.attempt, Start: t.start, End: t.end}
		name, other := fmt.Sprintf("T%d", i+1), fmt.Sprintf("T%d", (i+1)%len(cycle)+1)
		inserted := ""
		if e.Kind == kindSerial {
			inserted = " and inserted " + check.Count(b.own)
		}
		why := fmt.Sprintf("%s found %s of group %d, where %s found %s%s: %s comes before %s",
			name, check.Counted(a.found, "row", "rows"), a.group, other, check.Count(b.found), inserted, name, other)
		e.Cycle.Steps = append(e.Cycle.Steps, check.Step{Name: name, Kind: "rw", Why: why,
			Text: fmt.Sprintf("%s, from %s to %s", attempt(&op), seconds(t.start), seconds(t.end))})
		if i > 0 {
			e.Text += "; "
		}
		e.Text += fmt.Sprintf("%s is %s; %s", name, attempt(&op), why)
	}
	e.Text += "; no order of them exists"
}

// lacking finds a group in which a found fewer rows than every transaction after b: a precedes b.
func lacking(a, b []count, kind string) (of, than count, lacks bool) {
	for _, x := range a {
		for _, y := range b {
			if x.group == y.group && x.found < y.finds(kind) {
				return x, y, true
			}
		}
	}
	return count{}, count{}, false
}

// shortestCycle is a cycle of two or more of n nodes; nil if there is none.
func shortestCycle(n int, edge func(a, b int) bool) (best []int) {
	for from := range n {
		came := slices.Repeat([]int{-1}, n)
		queue := []int{from}
		for len(queue) > 0 {
			at := queue[0]
			queue = queue[1:]
			if at != from && edge(at, from) {
				var cycle []int
				for x := at; x != from; x = came[x] {
					cycle = append(cycle, x)
				}
				cycle = append(cycle, from)
				if best == nil || len(cycle) < len(best) {
					slices.Reverse(cycle)
					best = cycle
				}
				break
			}
			for to := range n {
				if to != from && came[to] < 0 && to != at && edge(at, to) {
					came[to] = at
					queue = append(queue, to)
				}
			}
		}
		if len(best) == 2 {
			break
		}
	}
	return best
}
