package register

import (
	"cmp"
	"slices"
)

// The standing of an operation in flight in one state of the register.
const (
	fresh  = '0' // it has not taken effect
	free   = '1' // a read that took effect; a write that need not be seen
	effect = '2' // a write or compare-and-set that took effect
)

// registerState is one way in which all ended operations took effect: the register's value, and
// the standing of each operation in flight, by slot.
type registerState struct {
	value    int32
	standing string
}

// stateSearch moves through time with the set of all possible states. It is the search of Wing
// and Gong (JPDC 17, 1993), breadth first: an operation takes effect when it must, or before
// another that must. It is quick if many clients write few values at once, because equal
// operations stand for each other: among those in flight, the first acknowledged takes effect
// first, which leaves the most for later.
//
// A write need not be seen if another write takes effect while it is in flight: it can be placed
// just before that. It need not be seen either if the register holds its value anyway.
type stateSearch struct {
	s        *searcher
	ops      []*op // by slot, nil if it is not used
	byClass  []int // the slots in flight, by what they do and then by when they end
	present  map[registerState]bool
	seen     map[int32][]reached // by what the register holds
	left     int64               // of the memory, in bytes, and of the steps
	steps    int64
	hopeless *op // what no state explains, once that is known
	could    []int32
}

// Bounds of the operations in flight, of the states compared with each other, and of the steps,
// each of which looks at one operation in one state.
const (
	mostInFlight = 1 << 10
	mostCompared = 1 << 10
	mostSteps    = 1 << 28
)

type moment struct {
	at    int64
	op    *op
	ended bool
}

// searchStates reports whether ops are linearizable from a register with the value initial.
// decided is false if there were too many states.
func (s *searcher) searchStates(ops []op, initial int32) (c *stateSearch, decided bool) {
	c = &stateSearch{s: s, present: map[registerState]bool{{value: initial}: true}, seen: map[int32][]reached{}, left: s.memory, steps: mostSteps}
	slots := map[*op]int{}
	for _, m := range moments(ops) {
		if s.ctx.Err() != nil {
			s.stopped = outOfTime
			return c, false
		}
		if !m.ended {
			if slots[m.op] = c.begin(m.op); len(c.ops) > mostInFlight || c.steps < 0 {
				return c, false
			}
			continue
		}
		if !c.end(slots[m.op]) {
			return c, false
		}
		if len(c.present) == 0 {
			c.hopeless = m.op
			return c, true
		}
	}
	return c, true
}

// moments returns all invocations, and the completions of operations that took effect, by time.
// At equal times an invocation comes first.
func moments(ops []op) []moment {
	all := make([]moment, 0, 2*len(ops))
	for i := range ops {
		o := &ops[i]
		all = append(all, moment{at: o.invoke, op: o})
		if o.certain() {
			all = append(all, moment{at: o.complete, op: o, ended: true})
		}
	}
	slices.SortStableFunc(all, func(a, b moment) int {
		if a.at == b.at && a.ended != b.ended {
			if a.ended {
				return 1
			}
			return -1
		}
		return cmp.Compare(a.at, b.at)
	})
	return all
}

func (c *stateSearch) begin(o *op) int {
	slot := slices.Index(c.ops, nil)
	if slot < 0 {
		slot = len(c.ops)
		c.ops = append(c.ops, nil)
	}
	c.ops[slot] = o
	at, _ := slices.BinarySearchFunc(c.byClass, o, func(a int, o *op) int {
		x := c.ops[a]
		return cmp.Or(sameClass(x, o), cmp.Compare(x.complete, o.complete))
	})
	c.byClass = slices.Insert(c.byClass, at, slot)
	begun := make(map[registerState]bool, len(c.present))
	for x := range c.present {
		standing := []byte(x.standing)
		for len(standing) < len(c.ops) {
			standing = append(standing, fresh)
		}
		standing[slot] = fresh
		begun[c.settle(x.value, standing, false)] = true
	}
	c.present = begun
	return slot
}

// settle returns the state after the register took on a value; written says whether by a plain
// write. Reads of the value take effect. Writes of it, or all writes if written, need not be seen.
func (c *stateSearch) settle(value int32, standing []byte, written bool) registerState {
	for slot, o := range c.ops {
		if o == nil || standing[slot] != fresh || o.kind == CompareAndSet {
			continue
		}
		if o.value == value || written && o.kind == Write {
			standing[slot] = free
		}
	}
	c.steps -= int64(len(standing))
	return registerState{value, string(standing)}
}

// reached is a state on the way to the end of an operation. late means that the state before it
// needed nothing more. Then it counts only if the operation takes effect now, at the last moment.
type reached struct {
	registerState
	late bool
}

// end keeps the states in which the slot's operation took effect, if need be after others in
// flight, and frees the slot. It returns false if there are too many states.
func (c *stateSearch) end(slot int) bool {
	after := map[registerState]bool{}
	clear(c.seen)
	open := make([]reached, 0, len(c.present))
	for x := range c.present {
		open = append(open, reached{registerState: x})
		c.seen[x.value] = append(c.seen[x.value], reached{registerState: x})
	}
	c.could = c.could[:0]
	left := c.left
	for n := 1; len(open) > 0; n++ { // those with the least effects come first
		if n%1024 == 0 && c.s.ctx.Err() != nil {
			c.s.stopped = outOfTime
			return false
		}
		x := open[0]
		open = open[1:]
		if !slices.Contains(c.could, x.value) && len(c.could) < 100 {
			c.could = append(c.could, x.value)
		}
		stands := x.standing[slot]
		if stands == effect || stands == free && !x.late {
			standing := []byte(x.standing)
			standing[slot] = fresh // of nobody
			after[registerState{x.value, string(standing)}] = true
		}
		if stands == effect || stands == free && c.ops[slot].kind == Read {
			continue
		}
		c.each(x.registerState, func(y registerState) {
			if z := (reached{y, stands == free}); !c.worse(z, slot) {
				c.seen[y.value] = append(c.seen[y.value], z)
				open = append(open, z)
				left -= int64(len(y.standing)) + 64
			}
		})
		if left < 0 || c.steps < 0 {
			return false
		}
	}
	c.present = c.best(after)
	c.ops[slot] = nil
	c.byClass = slices.DeleteFunc(c.byClass, func(at int) bool { return at == slot })
	return true
}

// worse reports whether a state seen on the way to the end of the slot's operation is as good.
func (c *stateSearch) worse(x reached, slot int) bool {
	for _, y := range c.seen[x.value] {
		c.steps -= int64(len(x.standing)) / 8
		if x.standing[slot] == y.standing[slot] && (x.late || !y.late) && c.better(y.registerState, x.registerState) {
			return true
		}
	}
	return false
}

// each calls next with each state after one more operation that changes the register. Of equal
// operations only the first takes effect.
func (c *stateSearch) each(x registerState, next func(registerState)) {
	before := (*op)(nil)
	for _, at := range c.byClass {
		o := c.ops[at]
		if o.kind == Read || x.standing[at] == effect || o.kind == CompareAndSet && o.from != x.value || before != nil && sameClass(before, o) == 0 {
			continue
		}
		before = o
		if o.kind == Write && o.value == x.value {
			continue // it changes nothing
		}
		standing := []byte(x.standing)
		standing[at] = effect
		next(c.settle(o.value, standing, o.kind == Write))
	}
}

func sameClass(a, b *op) int {
	if kind := cmp.Compare(a.kind, b.kind); kind != 0 || a.kind != CompareAndSet {
		return cmp.Or(kind, cmp.Compare(a.value, b.value))
	}
	return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.value, b.value))
}

// best leaves out each state that is no better than another.
func (c *stateSearch) best(all map[registerState]bool) map[registerState]bool {
	if len(all) < 2 || len(all) > mostCompared {
		return all
	}
	list := make([]registerState, 0, len(all))
	for x := range all {
		list = append(list, x)
	}
	for i := range list {
		for j := range list {
			if i != j && all[list[i]] && all[list[j]] && c.better(list[i], list[j]) {
				delete(all, list[j])
			}
		}
	}
	return all
}

// better reports whether every explanation of the rest from y also works from x.
func (c *stateSearch) better(x, y registerState) bool {
	if x.value != y.value {
		return false
	}
	for slot := range len(x.standing) {
		a, b := x.standing[slot], y.standing[slot]
		if a != b && a != free && (b != effect || c.ops[slot] == nil || c.ops[slot].certain()) {
			return false
		}
	}
	return true
}

func (c *stateSearch) unexplained() finding {
	f := finding{kind: kindUnexplained, subject: c.hopeless, could: slices.Clone(c.could)}
	f.value, _ = c.hopeless.observes()
	return f
}
