package recorded

import (
	"context"
	"fmt"
	"slices"

	"assay/check"
	"assay/history/exchange"
)

const kindStale = "stale"

// set judges a set, by its last reads or by all reads.
//
// The last reads are those that began after all additions, or else the very last one. None may
// contain what was not added. The one that ended last must contain each acknowledged element
// (jepsen.checker/set); what the others lack is counted, because a set may show elements late.
//
// Among all reads (jepsen.checker/set-full), an element is known from the acknowledgement of its
// addition, or from the end of a read that saw it. It is:
//   - lost if a read begun after that missed it and no later one saw it;
//   - stable if the last read to begin saw it;
//   - stale if it is stable and a read begun after it was known missed it;
//   - otherwise never read.
//
// A stale element violates a linearizable set. In another set an element may become visible late.
type set struct {
	elements
	// every judges all reads; fits means that the last reads began after all additions.
	every, fits, linearizable bool
	reads                     []setRead
	lastAdd                   int64 // when the last addition was invoked
}

type setRead struct {
	by   Operation
	saw  []int32         // elements by number
	more []exchange.Atom // elements that had no number by then
	dup  []int32         // what it saw more than once
}

// newSet judges an :add of an element and a :read answered with a list or set.
func newSet(name, model string) *judge {
	late := model == linearizable
	s := &set{elements: newElements(putWords()), every: late || name == "set-full", fits: name == "", linearizable: late, lastAdd: -1}
	return &judge{functions: []function{{word: "add", take: putting(s.add)}, {word: "read", take: answered(s.read)}}, result: s.result}
}

func (s *set) add(o *exchange.Operation, by Operation, a exchange.Atom) error {
	s.lastAdd = max(s.lastAdd, o.Invoke)
	return s.elements.add(o, by, a)
}

func (s *set) read(by Operation, answer *exchange.Value) error {
	saw, err := elementsOf(answer)
	if err != nil {
		return err
	}
	read := setRead{by: by}
	for _, a := range saw {
		if n, known := s.index.numberOf(a); known {
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

func distinct(sorted []int32) (once, again []int32) {
	once = sorted[:0]
	for i, n := range sorted {
		if i == 0 || n != once[len(once)-1] {
			once = append(once, n)
		} else if len(again) == 0 || again[len(again)-1] != n {
			again = append(again, n)
		}
	}
	return once, again
}

func (s *set) result(context.Context) check.Result {
	slices.SortFunc(s.reads, func(a, b setRead) int { return byInvoke(&a.by, &b.by) })
	last := len(s.reads) - 1
	for last > 0 && s.reads[last-1].by.Invoke > s.lastAdd {
		last--
	}
	last = max(0, last)
	if s.every || s.fits && last > 0 {
		return s.full()
	}
	return s.lastReads(last)
}

// lastReads judges the reads from this one on.
func (s *set) lastReads(last int) check.Result {
	f := newFindings(append([]string{kindLost}, s.words.kinds()...)...)
	reads := s.reads[last:]
	final := 0 // the one that ended last
	for i := range reads {
		if reads[i].by.Complete >= reads[final].by.Complete {
			final = i
		}
	}
	var seen lastSeen
	var late int64 // reads that lacked what the final one saw
	for i := range reads {
		if i != final && s.judge(&reads[i], f).lacks != nil {
			late++
		}
	}
	detail, missing := fmt.Sprintf("%s, %s", s.describe("addition"), plural(len(reads), "last read")), ""
	if len(reads) == 0 {
		missing = "the set was never read, so nothing can be said"
	} else {
		seen = s.judge(&reads[final], f)
		s.addLost(seen.lacks, &reads[final].by, f)
	}
	if detail += f.summary(); f.Count() == 0 && len(reads) > 0 {
		detail += fmt.Sprintf("; the last to end saw %s, %s of an addition of unknown outcome", plural(seen.present, "element"), check.CountOrNone(seen.recovered))
	}
	if late > 0 && f.Count(kindLost) == 0 {
		detail += fmt.Sprintf("; %s acknowledged elements that the last to end saw, which --test set-full --model linearizable forbids",
			check.Counted(late, "other missed", "others missed"))
	}
	detail += f.beyond("checker/set", "takes what failed to be put in, or was put in later, for an element that may be seen", s.words.failure, s.words.future)
	return f.resultAs("set", detail, missing, s.tally.all() == 0, "nothing was added, so nothing was put to the test")
}

// lastSeen is what one of the last reads saw: how many elements, and how many unacknowledged ones.
type lastSeen struct {
	present, recovered int64
	lacks              []int32 // elements acknowledged before it began that it did not see
}

// judge judges one of the last reads, but not what it lacks.
func (s *set) judge(read *setRead, f *findings) (r lastSeen) {
	seen := make([]bool, len(s.of))
	for _, n := range s.resolve(read, f) {
		seen[n] = true
		r.present++
		if s.of[n].certain == 0 {
			r.recovered++
		}
	}
	for n := range s.of {
		if by := s.of[n].acknowledged; !seen[n] && by >= 0 && s.all[by].Before(&read.by) {
			r.lacks = append(r.lacks, int32(n))
		}
	}
	return r
}

func (s *set) addLost(lacks []int32, read *Operation, f *findings) {
	for _, n := range lacks {
		by := &s.all[s.of[n].acknowledged]
		f.add(kindLost, by, "put %s in, which was acknowledged, but %s, begun later, did not see it", s.element(s.names[n]), read)
	}
}

// resolve returns the elements that a read saw, each once, and adds those it cannot have seen.
func (s *set) resolve(read *setRead, f *findings) []int32 {
	saw := make([]int32, 0, len(read.saw)+len(read.more))
	for _, n := range read.saw {
		if s.judgeSeen(s.names[n], &read.by, "saw", f) {
			saw = append(saw, n)
		}
	}
	late := map[exchange.Atom]bool{}
	for _, a := range read.more {
		n, known := s.index.numberOf(a)
		switch {
		case !late[a]:
			late[a] = true
			if s.judgeSeen(a, &read.by, "saw", f) {
				saw = append(saw, n)
			}
		case known && !slices.Contains(read.dup, n):
			read.dup = append(read.dup, n)
		}
	}
	return saw
}

// timeline describes the reads of one element. Reads are numbered by invocation; -1 is none.
type timeline struct {
	lastPresent, lastAbsent int32
	known                   int64 // when it was known to be there, or never
	knownBy                 int32 // the read that showed it, or -1 for the addition
}

func (s *set) full() check.Result {
	kinds := append(append([]string{kindLost}, s.words.kinds()...), kindDuplicate)
	if s.linearizable {
		kinds = append(kinds, kindStale)
	}
	f := newFindings(kinds...)
	var stable, stale, unread int64
	for n, l := range s.timelines(f) {
		missed := l.lastAbsent >= 0 && l.known < s.reads[l.lastAbsent].by.Invoke
		switch {
		case l.lastPresent > l.lastAbsent:
			stable++
			if missed {
				stale++
				s.addMissed(f, kindStale, n, &l)
			}
		case missed:
			s.addMissed(f, kindLost, n, &l)
		case s.of[n].possible > 0:
			unread++
		}
	}
	detail := fmt.Sprintf("%s, %s; %s stable, %s stale, %s never read", s.describe("addition"),
		plural(len(s.reads), "read"), check.CountOrNone(stable), check.CountOrNone(stale), check.CountOrNone(unread)) + f.summary()
	detail += f.beyond("checker/set-full", "looks only for elements that were put in and are missed", append(s.words.kinds(), kindDuplicate)...)
	return f.resultAs("set-full", detail, "", stable == 0, "no element was ever known to stay, so nothing can be said")
}

// timelines goes through the reads backwards. For each element it follows the reads that saw it,
// and so finds the last read that did not, in as many steps as reads follow that one.
func (s *set) timelines(f *findings) []timeline {
	lines := make([]timeline, len(s.of))
	// until is each element's last read not yet known to have seen it: all later ones did.
	until := make([]int32, len(lines))
	for n := range lines {
		lines[n] = timeline{lastPresent: -1, known: never, knownBy: -1}
		until[n] = int32(len(s.reads)) - 1
		if by := s.of[n].acknowledged; by >= 0 {
			lines[n].known = s.all[by].Complete
		}
	}
	for i, read := range slices.Backward(s.reads) {
		saw := s.resolve(&read, f)
		for _, n := range read.dup {
			f.add(kindDuplicate, &read.by, "saw %s more than once", s.element(s.names[n]))
		}
		for _, n := range saw {
			l := &lines[n]
			l.lastPresent = max(l.lastPresent, int32(i))
			if until[n] == int32(i) {
				until[n]--
			}
			if read.by.Complete < l.known {
				l.known, l.knownBy = read.by.Complete, int32(i)
			}
		}
	}
	for n := range lines {
		lines[n].lastAbsent = -1
		// A read that ended before the addition began says nothing about the element.
		if i, first := until[n], s.of[n].first; i >= 0 && first >= 0 && s.reads[i].by.Complete > s.all[first].Invoke {
			lines[n].lastAbsent = i
		}
	}
	return lines
}

// addMissed adds an element that a read missed although it was known: its addition had been
// acknowledged, or another read had seen it.
func (s *set) addMissed(f *findings, kind string, n int, l *timeline) {
	after := "no read that began later saw it"
	if kind == kindStale {
		after = "later ones did: " + s.reads[l.lastPresent].by.String()
	}
	absent, name := &s.reads[l.lastAbsent].by, s.element(s.names[n])
	if l.knownBy >= 0 {
		f.add(kind, absent, "did not see %s, though %s had seen it before that began; %s", name, &s.reads[l.knownBy].by, after)
		return
	}
	f.add(kind, absent, "did not see %s, though %s had added it, which was acknowledged before that began; %s",
		name, &s.all[s.of[n].acknowledged], after)
}
