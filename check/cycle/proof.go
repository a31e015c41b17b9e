package cycle

import (
	"context"
	"fmt"
	"strings"
	"time"

	"assay/check/cycle/acyclic"
)

const (
	proofTime  = 5 * time.Second
	proofPairs = 64
	proofCases = 4 // of nested alternatives
)

// proof explains why no order of versions satisfies a rule. It derives orders of pairs of versions,
// because the opposite order closes a cycle, until a cycle exists in any case.
type proof struct {
	in   *inference
	c    *constraints
	ctx  context.Context
	txns []int32
	// number has, by transaction, one plus its place in txns.
	number   map[int32]int
	numbered map[versionPair]int
	reasons  []string
}

// derived is an order of two versions, and the cycle that the opposite order closes.
type derived struct {
	pair  versionPair // a comes before b, whatever their numbers
	cycle []acyclic.Edge
	// assumed means that it is one of two cases.
	assumed bool
}

// prove makes the evidence of a cycle or, if nil, of a core of pairs whose every order closes one.
func (in *inference) prove(ctx context.Context, c *constraints, core []versionPair, cycle []acyclic.Edge) *Evidence {
	ctx, cancel := context.WithTimeout(ctx, proofTime)
	defer cancel()
	p := &proof{in: in, c: c, ctx: ctx, number: map[int32]int{}, numbered: map[versionPair]int{}}
	if cycle != nil {
		return p.evidence(cycle, nil)
	}
	if len(core) <= proofPairs {
		known, contradiction, open := p.saturate(c.edges, core, nil)
		if contradiction != nil {
			return p.evidence(contradiction, known)
		}
		if text := p.cases(known, open, 0); text != "" && ctx.Err() == nil {
			return p.summary("Neither order of two versions is possible. "+strings.TrimSuffix(text, "."), core)
		}
	}
	return p.summary(fmt.Sprintf("Of %d pairs of versions whose order no read shows, every choice leads to a cycle", len(core)), core)
}

// saturate derives orders of pairs until no more follow. It returns a cycle that exists in any
// case, or nil and the remaining pairs.
func (p *proof) saturate(edges []acyclic.Edge, pairs []versionPair, known []derived) ([]derived, []acyclic.Edge, []versionPair) {
	edges = append([]acyclic.Edge(nil), edges...)
	for _, d := range known {
		edges = append(edges, p.c.pair(d.pair.key, d.pair.a, d.pair.b)...)
	}
	if cycle := p.cycle(edges, nil); cycle != nil {
		return known, cycle, nil
	}
	for changed := true; changed; {
		changed = false
		left := pairs[:0:0]
		for _, v := range pairs {
			forward := p.c.pair(v.key, v.a, v.b)
			backward := p.c.pair(v.key, v.b, v.a)
			other := p.cycle(edges, backward)
			if other != nil {
				known = append(known, derived{pair: v, cycle: other})
				edges, changed = append(edges, forward...), true
				if cycle := p.cycle(edges, nil); cycle != nil {
					return known, cycle, nil
				}
				continue
			}
			if other = p.cycle(edges, forward); other != nil {
				known = append(known, derived{pair: versionPair{v.key, v.b, v.a}, cycle: other})
				edges, changed = append(edges, backward...), true
				continue
			}
			left = append(left, v)
		}
		pairs = left
	}
	return known, nil, pairs
}

func (p *proof) cycle(edges, more []acyclic.Edge) []acyclic.Edge {
	return acyclic.Cycle(p.ctx, int(p.c.nodes), append(edges[:len(edges):len(edges)], more...))
}

// cases tries both orders of the first remaining pair. It returns "" if that would be too long.
func (p *proof) cases(known []derived, open []versionPair, depth int) string {
	if len(open) == 0 || depth == proofCases || p.ctx.Err() != nil {
		return ""
	}
	v := open[0]
	var text []string
	for _, d := range []versionPair{v, {v.key, v.b, v.a}} {
		more := append(known[:len(known):len(known)], derived{pair: d, assumed: true})
		then, contradiction, left := p.saturate(p.c.edges, open[1:], more)
		line := fmt.Sprintf("Suppose that %s.", p.order(d))
		if contradiction != nil {
			line += " Then " + p.words(contradiction, then) + "."
		} else if rest := p.cases(then, left, depth+1); rest != "" {
			line += " " + rest
		} else {
			return ""
		}
		text = append(text, line)
	}
	return strings.Join(text, " ")
}

func (p *proof) order(v versionPair) string {
	k := &p.c.keys[v.key]
	return fmt.Sprintf("of key %s, %s (%s) comes before %s (%s)", p.in.h.keyName(k.key),
		p.in.h.name(k.values[v.a]), p.who(k.writers[v.a]), p.in.h.name(k.values[v.b]), p.who(k.writers[v.b]))
}

func (p *proof) who(txn int32) string {
	if p.number[txn] == 0 {
		p.txns = append(p.txns, txn)
		p.number[txn] = len(p.txns)
	}
	return fmt.Sprintf("T%d", p.number[txn])
}

func (p *proof) summary(text string, core []versionPair) *Evidence {
	for _, v := range core[:min(len(core), proofPairs/4)] {
		p.who(p.c.keys[v.key].writers[v.a])
		p.who(p.c.keys[v.key].writers[v.b])
	}
	e := &Evidence{Text: text, AnyOrder: true}
	p.finish(e, 0, nil)
	return e
}

func (p *proof) finish(e *Evidence, shown int, keys []string) {
	for _, t := range p.txns {
		e.Txns = append(e.Txns, p.in.view(t, keys...))
	}
	e.Reasons = p.reasons
	for i := shown; i < len(e.Txns); i++ {
		e.Reasons = append(e.Reasons, fmt.Sprintf("T%d is %s: %s", i+1, e.Txns[i].name(), e.Txns[i].Text))
	}
	if len(e.Reasons) > 0 {
		e.Text = strings.Join(append([]string{e.Text}, e.Reasons...), ". ")
	}
}

// evidence is the evidence of one cycle, with the reasons for the orders of versions that it needs.
func (p *proof) evidence(cycle []acyclic.Edge, known []derived) *Evidence {
	e := &Evidence{AnyOrder: true}
	steps := p.steps(cycle)
	for _, s := range steps {
		p.who(s.from)
	}
	shown := len(p.txns)
	var keys []string
	for _, s := range steps {
		edge := p.explain(s, known)
		e.Edges, keys = append(e.Edges, edge), append(keys, edge.Key)
	}
	e.Text = sentences(e.Edges)
	p.finish(e, shown, keys)
	e.Text += ". No order of these transactions can satisfy all of that."
	return e
}

func (p *proof) words(cycle []acyclic.Edge, known []derived) string {
	var edges []Edge
	for _, s := range p.steps(cycle) {
		edges = append(edges, p.explain(s, known))
	}
	return sentences(edges)
}

func sentences(edges []Edge) string {
	lines := make([]string, len(edges))
	for i, e := range edges {
		lines[i] = fmt.Sprintf("T%d is before T%d (%s): %s", e.From+1, e.To+1, e.Kind, e.Text)
	}
	return strings.Join(lines, ". ")
}

type step struct {
	reason
	from, to int32
}

// steps omits auxiliary nodes, and edges from a transaction to itself.
func (p *proof) steps(cycle []acyclic.Edge) []step {
	for i, e := range cycle {
		if p.c.owner(e.From) != noTxn {
			cycle = append(cycle[i:len(cycle):len(cycle)], cycle[:i]...)
			break
		}
	}
	var steps []step
	at := p.c.owner(cycle[0].From)
	var pending reason
	for _, e := range cycle {
		why := p.c.why[e.Tag]
		if pending.kind == 0 {
			pending = why
		} else if why.kind == 0 && why.key >= 0 {
			pending.b = why.b
		}
		to := p.c.owner(e.To)
		if to == noTxn {
			continue
		}
		if pending.kind != 0 && to != at {
			steps = append(steps, step{pending, at, to})
		}
		at, pending = to, reason{}
	}
	return steps
}
