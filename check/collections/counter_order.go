package collections

import (
	"cmp"
	"context"
	"math/bits"
	"slices"

	"assay/check/operation"
)

// Bounds of the search for an order: of additions, and of reads, in flight at once, of
// different amounts of unknown outcome, of states at one moment, and of steps.
const (
	mostAtOnce       = 64
	mostCounterState = 1 << 13
	counterSteps     = 1 << 21
)

// counterState is one way in which all that has ended took effect: the sum, which of the
// additions and reads in flight took effect already, and how often each amount of
// unknown outcome did.
type counterState struct {
	sum         int64
	added, read uint64
	spent       string
}

// counterOrder goes through time with all states that are possible (the search of Wing
// and Gong, JPDC 17, 1993, breadth first: an operation takes effect when it must, or
// before another that must). A read takes effect as soon as it can, because it leaves
// the counter as it is.
type counterOrder struct {
	adds, reads          [mostAtOnce]int64 // amounts and values by slot
	addsUsed, readsUsed  uint64
	unknown              []int64 // amounts of unknown outcome
	begun                []byte  // how many of each were begun
	present, after, seen map[counterState]bool
	open                 []counterState
	steps                int
}

// counterMoment is the beginning or the end of an addition or of a read.
type counterMoment struct {
	at    int64
	add   *increment
	read  *counterRead
	ended bool
}

// judgeOrder looks for one order that explains all reads. It returns false if it was
// given up, and adds the first read that no order explains.
func (c *Counter) judgeOrder(ctx context.Context, f *operation.Findings) (whole bool) {
	s := counterOrder{present: map[counterState]bool{{}: true}, after: map[counterState]bool{}, seen: map[counterState]bool{}}
	slots := map[int64]int{} // by when it began
	for i, m := range c.moments() {
		switch {
		case i%1024 == 0 && ctx.Err() != nil:
			return false
		case m.ended && m.add != nil:
			if !s.end(slots[m.add.invoke], &s.addsUsed, func(x *counterState) *uint64 { return &x.added }) {
				return false
			}
		case m.ended:
			if !s.end(slots[m.read.by.Invoke], &s.readsUsed, func(x *counterState) *uint64 { return &x.read }) {
				return false
			}
			if len(s.present) == 0 {
				f.Add(kindNoOrder, &m.read.by, "read %v, which no order of the additions and of the reads before it explains", operation.Field{Name: "value", Value: m.read.value})
				return true
			}
		case m.read != nil:
			slot, ok := s.begin(&s.readsUsed)
			if !ok {
				return false
			}
			slots[m.read.by.Invoke], s.reads[slot] = slot, m.read.value
			s.readNow()
		case m.add.complete == operation.Never:
			if !s.beginUnknown(m.add.amount) {
				return false
			}
		default:
			slot, ok := s.begin(&s.addsUsed)
			if !ok {
				return false
			}
			slots[m.add.invoke], s.adds[slot] = slot, m.add.amount
		}
	}
	return true
}

// moments are those of all operations in the order of time; of two at once a beginning
// comes first.
func (c *Counter) moments() []counterMoment {
	var all []counterMoment
	for i := range c.adds {
		a := &c.adds[i]
		all = append(all, counterMoment{at: a.invoke, add: a})
		if a.complete != operation.Never {
			all = append(all, counterMoment{at: a.complete, add: a, ended: true})
		}
	}
	for i := range c.reads {
		r := &c.reads[i]
		all = append(all, counterMoment{at: r.by.Invoke, read: r}, counterMoment{at: r.by.Complete, read: r, ended: true})
	}
	slices.SortStableFunc(all, func(a, b counterMoment) int {
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

// begin takes a free slot.
func (s *counterOrder) begin(used *uint64) (slot int, ok bool) {
	if slot = bits.TrailingZeros64(^*used); slot == mostAtOnce {
		return 0, false
	}
	*used |= 1 << slot
	return slot, true
}

// beginUnknown makes one more addition possible from now on.
func (s *counterOrder) beginUnknown(amount int64) bool {
	at := slices.Index(s.unknown, amount)
	if at < 0 {
		if len(s.unknown) == mostAtOnce {
			return false
		}
		at = len(s.unknown)
		s.unknown, s.begun = append(s.unknown, amount), append(s.begun, 0)
	}
	s.begun[at]++
	return s.begun[at] < 255
}

// readNow lets the reads in flight take effect that see the sum of a state.
func (s *counterOrder) readNow() {
	clear(s.after)
	for x := range s.present {
		s.after[s.seeing(x)] = true
	}
	s.present, s.after = s.after, s.present
}

func (s *counterOrder) seeing(x counterState) counterState {
	for left := s.readsUsed &^ x.read; left != 0; left &= left - 1 {
		if slot := bits.TrailingZeros64(left); s.reads[slot] == x.sum {
			x.read |= 1 << slot
		}
	}
	return x
}

// end keeps the states in which the operation in the slot took effect, after others in
// flight where need be, and frees the slot. It returns false if there are too many.
func (s *counterOrder) end(slot int, used *uint64, of func(*counterState) *uint64) bool {
	bit := uint64(1) << slot
	clear(s.after)
	clear(s.seen)
	s.open = s.open[:0]
	for x := range s.present {
		s.open = append(s.open, x)
	}
	for len(s.open) > 0 {
		x := s.open[len(s.open)-1]
		s.open = s.open[:len(s.open)-1]
		if done := of(&x); *done&bit != 0 {
			*done &^= bit
			s.after[x] = true
			continue
		}
		for left := s.addsUsed &^ x.added; left != 0; left &= left - 1 {
			other := bits.TrailingZeros64(left)
			y := x
			y.added |= 1 << other
			s.reach(y, s.adds[other])
		}
		for i, amount := range s.unknown {
			spent := append([]byte(x.spent), make([]byte, len(s.unknown)-len(x.spent))...)
			if spent[i] < s.begun[i] {
				spent[i]++
				y := x
				y.spent = string(spent)
				s.reach(y, amount)
			}
		}
		if len(s.seen)+len(s.after) > mostCounterState || s.steps > counterSteps {
			return false
		}
	}
	s.present, s.after = s.after, s.present
	*used &^= bit
	return true
}

// reach enters the state after one more addition.
func (s *counterOrder) reach(x counterState, amount int64) {
	s.steps++
	x.sum += amount
	if x = s.seeing(x); !s.seen[x] {
		s.seen[x] = true
		s.open = append(s.open, x)
	}
}
