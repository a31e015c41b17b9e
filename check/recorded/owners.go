package recorded

import (
	"cmp"
	"slices"
)

// ownership is a time in which a process certainly held the lock.
type ownership struct {
	by         *lockOp // the acquire
	start, end int64
}

// owned is what is known of who held a lock. In each operation of once its process held the lock for
// a moment at least: after an acquire, or before a release.
type owned struct {
	times []ownership
	once  []*lockOp
}

// ownerships judges a lock that only its owner may release. The history is right exactly if no two
// times overlap in which a process certainly holds the lock, and if each operation that needs its
// process to hold it for a moment has such a moment: each operation can then take effect at that
// end of its time.
//
// There is one exception. A process with both an acquire and a release of unknown outcome may have
// released the lock in the middle of a time and acquired it again. Such a pair counts for each of the
// process's times, though it was there for one of them only.
func (l *lock) ownerships(f *findings) {
	slices.SortFunc(l.ops, func(a, b lockOp) int { return byInvoke(&a.by, &b.by) })
	owners := map[int64]*owner{}
	var order []*owner // as they came up
	for i := range l.ops {
		op := &l.ops[i]
		of := owners[op.by.Process]
		if of == nil {
			of = &owner{reentrant: l.reentrant}
			owners[op.by.Process] = of
			order = append(order, of)
		}
		of.step(op, f)
	}
	var all owned
	for _, of := range order {
		of.holds(&all)
	}
	slices.SortFunc(all.times, func(a, b ownership) int { return cmp.Compare(a.start, b.start) })
	slices.SortFunc(all.once, func(a, b *lockOp) int { return byInvoke(&a.by, &b.by) })
	l.compare(all.times, f)
	all.compare(f)
	if l.fenced && f.Count() == 0 {
		all.compareFences(f)
	}
}

// owner follows one process through its operations. An operation of unknown outcome may take effect
// at any time after its invocation, also after later operations of its process, or never.
type owner struct {
	reentrant bool
	// unsure means that an acquire is of unknown outcome.
	unsure bool
	states []ownerState
	// given are the releases of unknown outcome, as states, that nothing has needed so far.
	given []int
}

// ownerState is the state after an operation if the operations of unknown outcome take effect only
// where others need them.
type ownerState struct {
	op *lockOp
	// depth is how often the process has acquired the lock without releasing it.
	depth int
	// acquires and releases are of unknown outcome, invoked by then and not needed by then.
	acquires, releases int
}

// step takes the process's next operation. One that cannot be right is a finding, and is left out.
func (o *owner) step(op *lockOp, f *findings) {
	var now ownerState
	if n := len(o.states); n > 0 {
		now = o.states[n-1]
	}
	now.op = op
	switch sure := op.by.Acknowledged(); {
	case !sure && op.release:
		now.releases++
		o.given = append(o.given, len(o.states))
	case !sure:
		now.acquires++
		o.unsure = true
	case op.release && now.depth > 0:
		now.depth--
	case op.release && now.acquires > 0: // which took effect just before
		now.acquires--
	case op.release:
		f.add(kindFree, &op.by, "released the lock, which it had not acquired, or had released before")
		return
	case o.reentrant || now.depth == 0:
		op.again = o.reentrant && now.depth+now.acquires > 0
		now.depth++
	case len(o.given) > 0:
		o.releaseEarlier()
		if !o.unsure {
			now.releases--
		}
	default:
		f.add(kindTwoHolders, &op.by, "acquired the lock, which it held already since %s", &o.states[o.acquired()].op.by)
		return
	}
	o.states = append(o.states, now)
}

// acquired returns the state in which the process last acquired the lock for certain.
func (o *owner) acquired() int {
	at := len(o.states) - 1
	for o.states[at].op.release || !o.states[at].op.by.Acknowledged() {
		at--
	}
	return at
}

// releaseEarlier lets the first release of unknown outcome that is left take effect as early as it
// can, after the last acquire. If an acquire of the process is of unknown outcome, another release
// may have done that instead. The first may then have taken effect before, so it stays spare.
func (o *owner) releaseEarlier() {
	at := max(o.given[0], o.acquired())
	o.given = o.given[1:]
	for i := range o.states[at:] {
		o.states[at+i].depth--
		if !o.unsure {
			o.states[at+i].releases--
		}
	}
}

// holds adds the times in which the process certainly held the lock, however the operations of
// unknown outcome that are left took effect. Each release among them may make the depth less by one
// from its invocation on, if later releases do not need that depth, or find an acquire for it.
func (o *owner) holds(all *owned) {
	spare := make([]int, len(o.states)) // how many releases may have taken effect, by state
	least := len(o.states)
	for i := len(o.states) - 1; i >= 0; i-- {
		s := &o.states[i]
		least = min(least, s.releases, s.depth+s.acquires)
		spare[i] = least
	}
	depth, from := 0, (*lockOp)(nil)
	for i := range o.states {
		op, before := o.states[i].op, depth
		depth = max(0, o.states[i].depth-spare[i])
		sure := op.by.Acknowledged()
		switch {
		case before > 0 && depth == 0:
			all.times = append(all.times, ownership{from, from.by.Complete, op.by.Invoke})
		case before == 0 && depth > 0:
			from = op
		case sure && before == 0:
			all.once = append(all.once, op)
		}
	}
	if depth > 0 {
		all.times = append(all.times, ownership{from, from.by.Complete, never})
	}
}

// compare finds ownerships that overlap, and tokens that are not greater than those before.
func (l *lock) compare(all []ownership, f *findings) {
	var last ownership
	var fence *lockOp
	for _, h := range all {
		if last.by != nil && h.start < last.end {
			f.add(kindTwoHolders, &h.by.by, "acquired the lock, which %s held: it had not begun to release it", &last.by.by)
		}
		if last.by == nil || h.end > last.end {
			last = h
		}
		switch {
		case !h.by.fenced || fence != nil && h.by.repeats(fence):
		case fence != nil && h.by.fence <= fence.fence:
			f.add(kindFence, &h.by.by, "was given the token %s, after %s had been given %s",
				field{"token", h.by.fence}, &fence.by, field{"other_token", fence.fence})
		default:
			fence = h.by
		}
	}
}

// compare finds operations that need their process to hold the lock while another process held it
// from before their invocation until after their end.
func (o *owned) compare(f *findings) {
	var last *ownership // the one that ends last among those begun before
	next := 0
	for _, op := range o.once {
		for ; next < len(o.times) && o.times[next].start < op.by.Invoke; next++ {
			if h := &o.times[next]; last == nil || h.end > last.end {
				last = h
			}
		}
		switch {
		case last == nil || last.end < op.by.Complete:
		case op.release:
			f.add(kindTwoHolders, &op.by, "released the lock as its owner, while %s held it: it had not begun to release it", &last.by.by)
		default:
			f.add(kindTwoHolders, &op.by, "acquired the lock, which %s held: it had not begun to release it", &last.by.by)
		}
	}
}

// compareFences puts all acquires in the order of their tokens, each as early as it can take effect.
// The times do not overlap, and their own tokens increase.
func (o *owned) compareFences(f *findings) {
	all := slices.Clone(o.times)
	for _, op := range o.once {
		if op.fenced {
			all = append(all, ownership{by: op}) // whose end follows from the others
		}
	}
	slices.SortFunc(all, func(a, b ownership) int {
		return cmp.Or(cmp.Compare(a.by.fence, b.by.fence), byInvoke(&a.by.by, &b.by.by))
	})
	free := int64(-1)
	for i := range all {
		h := &all[i]
		free = max(free, h.by.by.Invoke)
		if i > 0 && (free >= h.by.by.Complete || h.by.fence == all[i-1].by.fence && !h.by.repeats(all[i-1].by)) {
			before := all[i-1].by
			f.add(kindFence, &h.by.by, "was given the token %s, and %s, which was given %s, cannot have held the lock before",
				field{"token", h.by.fence}, &before.by, field{"other_token", before.fence})
			return
		}
		free = max(free, h.end)
	}
}
