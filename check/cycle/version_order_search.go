package cycle

import (
	"context"
	"math"
	"slices"

	"assay/check/cycle/acyclic"
)

// versionPair is two versions of one key in unknown order; a is the lower number.
type versionPair struct{ key, a, b int32 }

// arrangement is the search for an order of the versions of all keys that satisfies a rule. A pair
// of versions becomes an alternative only where the current order breaks the rule.
type arrangement struct {
	c     *constraints
	s     *acyclic.Solver
	ctx   context.Context
	known map[versionPair]int32 // to its alternative
	pairs []versionPair         // by alternative
	// dirty are the keys whose order must be examined, each once.
	dirty []int32
	queue []bool
	// keysOf has, by transaction, the keys with free versions that it uses.
	keysOf [][]int32
	order  []int32 // versions, for a moment
	last   int32
}

// arrange searches. If there is no such order, it returns the pairs of versions that show it.
func (c *constraints) arrange(ctx context.Context) (acyclic.Result, []versionPair) {
	if c.full {
		return acyclic.Undecided, nil
	}
	s := acyclic.New(int(c.nodes), c.edges, c.ranks())
	if s == nil {
		return acyclic.Impossible, nil
	}
	r := &arrangement{c: c, s: s, ctx: ctx, known: map[versionPair]int32{}}
	next := r.nextByCycle
	if c.rule == serial || c.rule == snapshot || c.rule == prefix {
		next = r.nextByPosition
		r.watch()
	} else if acyclic.Cycles(ctx, int(c.nodes), c.edges, c.ranks(), 1) != nil {
		return acyclic.Impossible, nil
	}
	result := s.Solve(ctx, next)
	if c.full || result == acyclic.Possible && ctx.Err() != nil {
		result = acyclic.Undecided // next had no room or no time to look
	}
	var core []versionPair
	for _, v := range s.Core() {
		core = append(core, r.pairs[v])
	}
	return result, core
}

// ranks orders the nodes by time as far as the edges allow. If the database keeps the rule, that is
// close to the order in which it worked.
func (c *constraints) ranks() []int64 {
	ranks := make([]int64, c.nodes)
	for i := range ranks {
		ranks[i] = math.MinInt64
	}
	for t := range c.txns {
		end := c.h.complete(t)
		if !c.h.committed(t) {
			end = c.h.invoke(t)
		}
		ranks[t] = end
		if c.commit(t) != t {
			ranks[t], ranks[c.commit(t)] = c.h.invoke(t), end
		}
	}
	return ranks
}

// watch queues all keys with free versions; later the keys of transactions that move are queued.
func (r *arrangement) watch() {
	r.queue = make([]bool, len(r.c.keys))
	r.keysOf = make([][]int32, r.c.txns)
	for i := range r.c.keys {
		k := &r.c.keys[i]
		if k.free() < 2 || r.c.rule != snapshot && len(k.reads) == int(k.first[k.chain+1]) {
			continue // nothing depends on the order
		}
		r.dirty, r.queue[i] = append(r.dirty, int32(i)), true
		use := func(t int32) {
			if n := len(r.keysOf[t]); n == 0 || r.keysOf[t][n-1] != int32(i) {
				r.keysOf[t] = append(r.keysOf[t], int32(i))
			}
		}
		for _, t := range k.writers[k.chain+1:] {
			use(t)
		}
		for _, a := range k.reads[k.first[k.chain+1]:] {
			use(a.txn)
		}
	}
}

// nextByPosition returns a choice for two versions whose current order a read breaks or, under
// snapshot, overlapping transactions break.
func (r *arrangement) nextByPosition() (acyclic.Literal, bool) {
	for _, node := range r.s.Moved() {
		t := r.c.owner(node)
		if t == noTxn {
			continue
		}
		for _, k := range r.keysOf[t] {
			if !r.queue[k] {
				r.queue[k] = true
				r.dirty = append(r.dirty, k)
			}
		}
	}
	for len(r.dirty) > 0 {
		key := r.dirty[len(r.dirty)-1]
		if l, some := r.broken(key); some {
			return l, true
		}
		r.queue[key] = false
		r.dirty = r.dirty[:len(r.dirty)-1]
	}
	return 0, false
}

// byPosition returns the free versions of a key in the current order.
func (r *arrangement) byPosition(key int32) []int32 {
	k := &r.c.keys[key]
	at := func(v int32) int32 { return r.s.Position(r.c.commit(k.writers[v])) }
	r.order = r.order[:0]
	for v := k.chain + 1; v < int32(len(k.writers)); v++ {
		r.order = append(r.order, v)
	}
	slices.SortFunc(r.order, func(a, b int32) int { return int(at(a) - at(b)) })
	return r.order
}

func (r *arrangement) broken(key int32) (acyclic.Literal, bool) {
	k := &r.c.keys[key]
	order := r.byPosition(key)
	for i := 0; i+1 < len(order); i++ {
		a, b := order[i], order[i+1]
		x, y := k.writers[a], k.writers[b]
		if r.c.rule == snapshot && r.s.Position(r.c.commit(x)) > r.s.Position(y) {
			return r.choose(key, a, b, true), true
		}
		for _, read := range k.readsOf(a) {
			if read.txn == y || r.s.Position(read.txn) < r.s.Position(r.c.commit(y)) {
				continue
			}
			// Either the read is earlier than b, or b is earlier than a.
			late := r.c.h.committed(y) && r.c.h.complete(y) <= r.c.h.invoke(read.txn)
			return r.choose(key, a, b, !late), true
		}
	}
	return 0, false
}

// choose returns the side of the pair on which a comes before b, or with before unset the other. A
// side chosen by the search earlier has priority.
func (r *arrangement) choose(key, a, b int32, before bool) acyclic.Literal {
	l := r.side(key, a, b)
	if saved, some := r.s.Saved(l.Alternative()); some {
		return saved
	}
	if !before {
		return l.Not()
	}
	return l
}

func (r *arrangement) side(key, a, b int32) acyclic.Literal {
	p := versionPair{key, min(a, b), max(a, b)}
	v, some := r.known[p]
	if !some {
		v = r.s.Add(r.c.pair(key, p.a, p.b), r.c.pair(key, p.b, p.a))
		r.known[p] = v
		r.pairs = append(r.pairs, p)
	}
	if a < b {
		return acyclic.Literal(2 * v)
	}
	return acyclic.Literal(2*v + 1)
}

const batch = 1024

// nextByCycle returns a choice for two versions that were in doubt before, or forbids the cycles
// that the current order of the versions closes.
func (r *arrangement) nextByCycle() (acyclic.Literal, bool) {
	if v, some := r.s.Undecided(r.last); some {
		r.last = v
		p := r.pairs[v]
		k := &r.c.keys[p.key]
		return r.choose(p.key, p.a, p.b, r.s.Position(k.writers[p.a]) < r.s.Position(k.writers[p.b])), true
	}
	r.forbid()
	return 0, false
}

// forbid looks for cycles, and forbids for each the undecided orders that it needs.
func (r *arrangement) forbid() {
	c := r.c
	tags := len(c.why)
	edges := c.collect(func() {
		for key := range int32(len(c.keys)) {
			if c.keys[key].free() > 1 {
				c.orderAll(key, r.byPosition(key))
			}
		}
	})
	if c.full {
		return
	}
	edges = append(c.edges, edges...) // which may use the room of what comes next, for now
	rank := make([]int64, c.nodes)
	for v := range rank {
		rank[v] = int64(r.s.Position(int32(v)))
	}
	var all [][]versionPair
	for _, cycle := range acyclic.Cycles(r.ctx, int(c.nodes), edges, rank, batch) {
		all = append(all, c.restsOn(cycle))
	}
	c.why = c.why[:tags]
	for _, pairs := range all {
		sides := make([]acyclic.Literal, len(pairs))
		for i, p := range pairs {
			sides[i] = r.side(p.key, p.a, p.b)
		}
		r.s.Forbid(sides)
	}
}

// restsOn returns the pairs of versions, in order, that a cycle needs and that no read shows.
func (c *constraints) restsOn(cycle []acyclic.Edge) []versionPair {
	var pairs []versionPair
	run := -1 // where an unbroken sequence of versions of one key begins
	for i, e := range cycle {
		why := c.why[e.Tag]
		if why.kind&(ww|rw) == 0 || why.known > 0 || why.a <= c.keys[why.key].chain {
			run = -1
			continue
		}
		if n := len(pairs); run >= 0 && pairs[n-1].key == why.key && pairs[n-1].b == why.a && c.transitive() &&
			(c.why[cycle[run].Tag].kind == ww || e.To < c.txns) && c.owner(e.To) != c.owner(cycle[run].From) {
			pairs[n-1].b = why.b // the order of the ends is enough for an edge between these transactions
			continue
		}
		run = i
		pairs = append(pairs, versionPair{why.key, why.a, why.b})
	}
	return pairs
}

func (c *constraints) orderAll(key int32, order []int32) {
	for i := range order {
		last := len(order) - 1
		if c.transitive() {
			last = min(i+1, last)
		}
		for j := i + 1; j <= last && !c.full; j++ {
			c.order(key, order[i], order[j], 0, noTxn)
		}
	}
}
