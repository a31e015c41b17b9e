package recorded

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"assay/check"
	"assay/history/exchange"
)

// comments judges blind writes of identifiers and reads of all of them (CockroachDB's comments,
// jepsen.tests.causal-reverse). A read that sees a write must see all writes acknowledged before
// that write began. Strict serializability requires this, serializability does not.
type comments struct {
	elements
	reads []commentsRead
}

type commentsRead struct {
	by  Operation
	saw []exchange.Atom
}

// newComments judges a :write of an identifier and a :read answered with a list or set of them.
func newComments() *judge {
	c := &comments{elements: newElements(writeWords())}
	return &judge{functions: []function{{word: "write", take: putting(c.add)}, {word: "read", take: answered(c.read)}}, result: c.result}
}

func (c *comments) read(by Operation, answer *exchange.Value) error {
	saw, err := elementsOf(answer)
	c.reads = append(c.reads, commentsRead{by, saw})
	return err
}

// writeOf returns the first write of an identifier that may have taken effect.
func (c *comments) writeOf(n int32) *Operation { return &c.all[c.of[n].first] }

func (c *comments) result(context.Context) check.Result {
	f := newFindings(append([]string{kindGap}, c.words.kinds()...)...)
	var ids []int32 // of acknowledged writes, in the order of their ends
	for n := range int32(len(c.of)) {
		if c.of[n].first >= 0 && c.writeOf(n).Acknowledged() {
			ids = append(ids, n)
		}
	}
	slices.SortFunc(ids, func(a, b int32) int { return byComplete(c.writeOf(a), c.writeOf(b)) })
	var saw int64
	for i := range c.reads {
		saw += int64(len(c.reads[i].saw))
		c.judge(&c.reads[i], ids, f)
	}
	detail, missing := fmt.Sprintf("%s, %s", plural(c.tally.all(), "write"), plural(len(c.reads), "read")), ""
	if c.again != nil {
		missing = fmt.Sprintf("%s was written more than once, so that reads do not tell which write they saw", *c.again)
	}
	return f.result("comments", detail, missing, saw == 0, "no read saw a write, so nothing can be said")
}

// judge compares the seen writes with those acknowledged before the last seen one began.
func (c *comments) judge(read *commentsRead, ids []int32, f *findings) {
	last := int32(-1)
	seen := make(map[int32]bool, len(read.saw))
	for _, id := range read.saw {
		n, known := c.index.numberOf(id)
		if known && seen[n] || !c.judgeSeen(id, &read.by, "saw", f) {
			continue
		}
		if seen[n] = true; last < 0 || c.writeOf(n).Invoke > c.writeOf(last).Invoke {
			last = n
		}
	}
	if last < 0 {
		return
	}
	began := c.writeOf(last).Invoke
	before, _ := slices.BinarySearchFunc(ids, began, func(n int32, at int64) int { return cmp.Compare(c.writeOf(n).Complete, at) })
	there := 0
	for n := range seen {
		if c.writeOf(n).Complete < began {
			there++
		}
	}
	if there == before {
		return
	}
	missed := ids[slices.IndexFunc(ids[:before], func(n int32) bool { return !seen[n] })]
	f.add(kindGap, &read.by, "saw %s and missed %s, which %s had written before %s began to write the first (%d missed in all)",
		c.names[last], c.names[missed], c.writeOf(missed), c.writeOf(last), before-there)
}

// parts judges clients that write the parts of a key one after the other, each in its own
// transaction, and read them in the opposite order (CockroachDB's sequential). A reader that finds
// a part must find all parts written before it, which it reads later.
type parts struct {
	writes, reads, some, all, none int64
	f                              *findings
}

// newSequential judges a :write of a key, and a :read of a key answered with [key parts]: the
// part written last comes first, and nil stands for a part that was not found.
func newSequential() *judge {
	s := &parts{f: newFindings(kindGap)}
	return &judge{functions: []function{{word: "write", take: putting(s.write)}, {word: "read", take: s.read}}, result: s.result}
}

func (s *parts) write(*exchange.Operation, Operation, exchange.Atom) error {
	s.writes++
	return nil
}

func (s *parts) read(o *exchange.Operation, by Operation) error {
	if key, nothing, ok := o.Request.Pair(); o.Request.Form != exchange.Scalar && (!ok || key.Form != exchange.Scalar || !nothing.IsNil()) {
		return unfit("a key")
	}
	if !by.Acknowledged() {
		return nil
	}
	key, found, ok := o.Answer.Pair()
	if !ok || key.Form != exchange.Scalar {
		return unfit("[key parts]")
	}
	list, err := elementsOf(found)
	if found.Form != exchange.List {
		return unfit("[key parts] with the parts in order")
	}
	if err != nil {
		return err
	}
	s.reads++
	there := func(a exchange.Atom) bool { return a.Kind != exchange.Nil }
	first := slices.IndexFunc(list, there)
	gap := -1
	if first >= 0 {
		gap = slices.IndexFunc(list[first:], func(a exchange.Atom) bool { return !there(a) })
	}
	switch {
	case gap >= 0:
		s.f.add(kindGap, &by, "of key %s found %s and then missed part %d of %d that it read, which was written before: %s",
			key, list[first], first+gap+1, len(list), found)
	case first < 0:
		s.none++
	case first == 0:
		s.all++
	default:
		s.some++
	}
	return nil
}

func (s *parts) result(context.Context) check.Result {
	detail := fmt.Sprintf("%s, %s: %s of all parts, %s of the first ones alone, %s of none", plural(s.writes, "write"),
		plural(s.reads, "read"), check.CountOrNone(s.all), check.CountOrNone(s.some), check.CountOrNone(s.none))
	return s.f.result("sequential", detail, "", s.all+s.some == 0, "no read found a part, so nothing can be said")
}
