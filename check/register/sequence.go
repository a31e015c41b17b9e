package register

import (
	"cmp"
	"slices"

	"assay/history"
)

// sequence is the history of one key without irrelevant operations, and with direct inferences.
type sequence struct {
	key     string
	values  []string // as shown, by number
	initial int32
	// ops are in the order of their invocations.
	ops []op
	// failed are the writes that certainly had no effect.
	failed []op
	// writers are the places in ops of the operations that set a value.
	writers map[int32][]int
	// sets is true if there are compare-and-sets. unique is true if each value is written at
	// most once, and the initial value never.
	sets, unique bool
}

// prepare leaves out operations that have no effect and show nothing: failed operations, and
// reads of unknown outcome.
//
// It also leaves out a write of unknown outcome if its value is never needed. A value is needed
// if it is certainly observed, or if a needed compare-and-set of unknown outcome expects it. No
// operation stands between an unneeded write and the next write in any explanation. So leaving
// it out spoils no explanation, and amounts to an effect after everything.
//
// If only one operation can have set an observed value, it took effect before the observation.
func prepare(k *keyed, initial int32, values []string) *sequence {
	s := &sequence{key: k.name, values: values, initial: initial, writers: map[int32][]int{}}
	needed := neededValues(k.ops)
	for _, o := range k.ops {
		switch {
		case o.outcome == history.Committed:
		case o.kind == Read:
			continue
		case o.outcome != history.Unknown:
			s.failed = append(s.failed, o)
			continue
		case !needed[o.value]:
			continue
		}
		s.ops = append(s.ops, o)
	}
	slices.SortStableFunc(s.ops, func(a, b op) int { return cmp.Compare(a.invoke, b.invoke) })
	s.unique = true
	for i := range s.ops {
		o := &s.ops[i]
		if o.kind == Read {
			continue
		}
		s.sets = s.sets || o.kind == CompareAndSet
		s.writers[o.value] = append(s.writers[o.value], i)
		s.unique = s.unique && o.value != initial && len(s.writers[o.value]) == 1
	}
	s.infer()
	return s
}

func neededValues(ops []op) map[int32]bool {
	needed := map[int32]bool{}
	expects := map[int32][]int32{} // by what unknown compare-and-sets would set
	var open []int32
	need := func(v int32) {
		if !needed[v] {
			needed[v] = true
			open = append(open, v)
		}
	}
	for i := range ops {
		o := &ops[i]
		if v, ok := o.observes(); ok {
			need(v)
		} else if o.outcome == history.Unknown && o.kind == CompareAndSet {
			expects[o.value] = append(expects[o.value], o.from)
		}
	}
	for len(open) > 0 {
		v := open[len(open)-1]
		open = open[:len(open)-1]
		for _, from := range expects[v] {
			need(from)
		}
	}
	return needed
}

// infer finds operations of unknown outcome that certainly took effect. A compare-and-set that
// did so shows the value that it found, so more may follow. After some rounds the search decides.
func (s *sequence) infer() {
	const rounds = 8
	first := map[int32]int64{} // the first completion of what observed a value
	note := func(o *op) {
		if v, ok := o.observes(); ok {
			if at, known := first[v]; !known || o.complete < at {
				first[v] = o.complete
			}
		}
	}
	var open []*op
	for i := range s.ops {
		if o := &s.ops[i]; o.certain() {
			note(o)
		} else {
			open = append(open, o)
		}
	}
	for range rounds {
		found := false
		for _, o := range slices.Backward(open) { // mostly, what is seen was begun later than what it found
			at, observed := first[o.value]
			if o.seen || !observed || o.value == s.initial || len(s.writers[o.value]) > 1 || at < o.invoke {
				continue
			}
			o.seen, o.complete, found = true, at, true
			note(o)
		}
		if !found {
			return
		}
	}
}
