package collections

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"assay/check"
	"assay/check/operation"
	"assay/history"
	"assay/history/exchange"
)

// Reads says which reads of a set are judged.
type Reads uint8

const (
	// AsFits judges the last reads if all reads began after all additions, and
	// all reads otherwise.
	AsFits Reads = iota
	// LastReads judges those that began after all additions, or else the very
	// last (jepsen.checker/set): each element whose addition was acknowledged is
	// in them, and nothing that nobody added.
	LastReads
	// AllReads judges every read (jepsen.checker/set-full). An element is known
	// from when its addition was acknowledged, or from when a read that saw it
	// ended. It is lost if a read begun after that missed it and no read begun
	// later saw it; stable if the last to begin saw it; stale if it is stable
	// and a read begun after it was known missed it; else never read.
	AllReads
)

// SetOptions describes what a history of a set does not tell.
type SetOptions struct {
	Reads Reads
	// Linearizable means that a stale element is a violation. Otherwise an
	// element may take a while to be seen.
	Linearizable bool
}

// Set judges a set.
type Set struct {
	o       SetOptions
	added   *elements
	reads   []setRead
	lastAdd int64 // when the last addition was invoked
}

// setRead is what one read saw.
type setRead struct {
	by   operation.Operation
	saw  []int32         // elements by number
	more []exchange.Atom // elements that had no number by then
	dup  []int32         // what it saw more than once
}

// NewSet returns a judge.
func NewSet(o SetOptions) *Set { return &Set{o: o, added: newElements(), lastAdd: -1} }

// Add takes one operation, an :add of an element or a :read that is answered
// with a list or a set. Any other is an error.
func (s *Set) Add(o *exchange.Operation) error {
	switch o.Word {
	case "add":
		a, err := operation.Element(o)
		if err == nil {
			s.added.add(a, o)
			s.lastAdd = max(s.lastAdd, o.Invoke)
		}
		return err
	case "read":
		return s.read(o)
	}
	return operation.UnknownFunction(o, "add and read")
}

func (s *Set) read(o *exchange.Operation) error {
	if err := operation.Nothing(o); err != nil {
		return err
	}
	if o.Outcome != history.Committed {
		return nil
	}
	saw, err := operation.Elements(o, &o.Answer)
	if err != nil {
		return err
	}
	read := setRead{by: operation.Of(o)}
	for _, a := range saw {
		if n, known := s.added.index[a]; known {
			read.saw = append(read.saw, n)
		} else {
			read.more = append(read.more, a)
		}
	}
	slices.Sort(read.saw)
	read.saw, read.dup = distinct(read.saw)
	s.reads = append(s.reads, read)
	return nil
}

// distinct removes repetitions from a sorted list and returns them.
func distinct(sorted []int32) (once, again []int32) {
	once = sorted[:0]
	for i, n := range sorted {
		if i > 0 && n == once[len(once)-1] {
			if len(again) == 0 || again[len(again)-1] != n {
				again = append(again, n)
			}
			continue
		}
		once = append(once, n)
	}
	return once, again
}

// Result returns the answer over all operations.
func (s *Set) Result(context.Context) check.Result {
	slices.SortFunc(s.reads, func(a, b setRead) int { return cmp.Compare(a.by.Invoke, b.by.Invoke) })
	last := len(s.reads) - 1
	for last > 0 && s.reads[last-1].by.Invoke > s.lastAdd {
		last--
	}
	last = max(0, last)
	if s.o.Reads == AllReads || s.o.Reads == AsFits && last > 0 {
		return s.full()
	}
	f := operation.NewFindings(kindLost, kindUnexpected, kindFailed, kindFuture)
	reads := s.reads[last:]
	var present, recovered int64
	for i := range reads {
		present, recovered = s.judge(&reads[i], f)
	}
	r := f.Result("set", fmt.Sprintf("%s, %s", s.added.describe("addition"), operation.Plural(len(reads), "last read")))
	missing := ""
	if len(reads) == 0 {
		missing = "the set was never read, so nothing can be said"
	}
	if r.Found == 0 && missing == "" {
		r.Detail += fmt.Sprintf("; the last saw %s, %s of an addition of unknown outcome", operation.Plural(present, "element"), check.CountOrNone(recovered))
	}
	r.Finish(missing, s.added.attempted == 0, "nothing was added, so nothing was put to the test")
	return r
}

// judge judges one of the last reads. It returns how many elements it saw, and
// how many of them were not acknowledged.
func (s *Set) judge(read *setRead, f *operation.Findings) (present, recovered int64) {
	seen := make([]bool, len(s.added.of))
	for _, n := range s.resolve(read, f) {
		seen[n] = true
		present++
		if s.added.of[n].certain == 0 {
			recovered++
		}
	}
	for n := range s.added.of {
		by := s.added.of[n].acknowledged
		if seen[n] || by < 0 || !s.added.all[by].Before(&read.by) {
			continue
		}
		f.Add(kindLost, &s.added.all[by], "put %s in, which was acknowledged, but %s, begun later, did not see it", element(s.added.names[n]), &read.by)
	}
	return present, recovered
}

// resolve returns what a read saw of what was added, each element once, and adds
// what it cannot have seen.
func (s *Set) resolve(read *setRead, f *operation.Findings) []int32 {
	saw := make([]int32, 0, len(read.saw)+len(read.more))
	for _, n := range read.saw {
		if s.added.seen(s.added.names[n], &read.by, "saw", f) {
			saw = append(saw, n)
		}
	}
	late := map[exchange.Atom]bool{}
	for _, a := range read.more {
		n, known := s.added.index[a]
		switch {
		case !late[a]:
			late[a] = true
			if s.added.seen(a, &read.by, "saw", f) {
				saw = append(saw, n)
			}
		case known && !slices.Contains(read.dup, n):
			read.dup = append(read.dup, n)
		}
	}
	return saw
}
