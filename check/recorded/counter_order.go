package recorded

import (
	"context"
	"slices"
)

// Bounds of the states at a moment, and of the steps. mostInFlight bounds the unknown amounts.
const (
	mostCounterStates = 1 << 14
	counterSteps      = 1 << 21
)

// counterState is one way in which all ended operations took effect: the sum, the additions and
// reads in flight that took effect, and how often each amount of unknown outcome did.
type counterState struct {
	sum         int64
	added, read slots
	spent       string
}

// counterOrder is the search. A read changes nothing, so it takes effect as soon as it can.
type counterOrder struct {
	search[counterState]
	adds, reads         [mostInFlight]int64 // amounts and values by slot
	addsUsed, readsUsed slots
	unknown             []int64 // amounts of unknown outcome
	begun               []byte  // how many of each were begun
}

// judgeOrder looks for one order that explains all reads, and adds the first read that none
// explains. It returns false if it gave up.
func (c *counter) judgeOrder(ctx context.Context, order []moment, f *findings) (whole bool) {
	s := counterOrder{search: search[counterState]{present: map[counterState]bool{{}: true}, most: mostCounterStates, steps: counterSteps}}
	slot := map[int32]int{} // by operation
	whole = true
	for i, m := range order {
		switch add, read := c.at(m); {
		case !whole || i%1024 == 0 && ctx.Err() != nil:
			return false
		case m.ended && add != nil:
			at := slot[m.op]
			whole = s.reach(ctx, func(x *counterState) bool { return x.added.end(at) }, s.next)
			s.addsUsed.end(at)
		case m.ended:
			at := slot[m.op]
			whole = s.reach(ctx, func(x *counterState) bool { return x.read.end(at) }, s.next)
			s.readsUsed.end(at)
			if whole && len(s.present) == 0 {
				f.add(kindNoOrder, &read.by, "read %v, which no order of the additions and of the reads before it explains", read.valueField())
				return true
			}
		case read != nil:
			if slot[m.op], whole = s.readsUsed.take(); whole {
				s.reads[slot[m.op]] = read.value
				present := map[counterState]bool{}
				for x := range s.present {
					present[s.seeing(x)] = true
				}
				s.present = present
			}
		case add.complete == never:
			whole = s.beginUnknown(add.amount)
		default:
			if slot[m.op], whole = s.addsUsed.take(); whole {
				s.adds[slot[m.op]] = add.amount
			}
		}
	}
	return whole
}

func (s *counterOrder) beginUnknown(amount int64) bool {
	at := slices.Index(s.unknown, amount)
	if at < 0 {
		if len(s.unknown) == mostInFlight {
			return false
		}
		at = len(s.unknown)
		s.unknown, s.begun = append(s.unknown, amount), append(s.begun, 0)
	}
	s.begun[at]++
	return s.begun[at] < 255
}

// seeing lets all reads in flight of the state's sum take effect.
func (s *counterOrder) seeing(x counterState) counterState {
	(s.readsUsed &^ x.read).each(func(slot int) {
		if s.reads[slot] == x.sum {
			x.read |= 1 << slot
		}
	})
	return x
}

func (s *counterOrder) next(x counterState, yield func(counterState)) {
	(s.addsUsed &^ x.added).each(func(slot int) {
		y := x
		y.added |= 1 << slot
		y.sum += s.adds[slot]
		yield(s.seeing(y))
	})
	for i, amount := range s.unknown {
		spent := append([]byte(x.spent), make([]byte, len(s.unknown)-len(x.spent))...)
		if spent[i] < s.begun[i] {
			spent[i]++
			y := x
			y.spent = string(spent)
			y.sum += amount
			yield(s.seeing(y))
		}
	}
}
