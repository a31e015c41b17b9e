package collections

import (
	"fmt"

	"assay/check"
	"assay/check/operation"
)

// timeline is what the reads say of one element, which are numbers of reads in
// the order of their invocations, or -1.
type timeline struct {
	lastPresent, lastAbsent int32
	known                   int64 // when it was known to be there, or Never
	knownBy                 int32 // the read that showed it, or -1 for the addition
}

// full judges every read.
func (s *Set) full() check.Result {
	f := operation.NewFindings(kindLost, kindUnexpected, kindFailed, kindFuture, kindDuplicate, kindStale)
	stable, stale, never := s.judgeAll(f)
	if !s.o.Linearizable {
		f = f.Without(kindStale)
	}
	r := f.Result("set-full", fmt.Sprintf("%s, %s; %s stable, %s stale, %s never read", s.added.describe("addition"),
		operation.Plural(len(s.reads), "read"), check.CountOrNone(stable), check.CountOrNone(stale), check.CountOrNone(never)))
	r.Finish("", stable == 0, "no element was ever known to stay, so nothing can be said")
	return r
}

func (s *Set) judgeAll(f *operation.Findings) (stable, stale, never int64) {
	lines := s.timelines(f)
	for n := range lines {
		l := &lines[n]
		missed := l.lastAbsent >= 0 && l.known < s.reads[l.lastAbsent].by.Invoke
		switch {
		case l.lastPresent > l.lastAbsent:
			stable++
			if missed {
				stale++
				s.addMissed(f, kindStale, int32(n), l)
			}
		case missed:
			s.addMissed(f, kindLost, int32(n), l)
		case s.added.of[n].possible > 0:
			never++
		}
	}
	return stable, stale, never
}

// timelines goes through the reads from the last one backwards. The reads that
// saw an element are listed with it, so that the last one that did not is found
// in as many steps as it has reads behind that.
func (s *Set) timelines(f *operation.Findings) []timeline {
	lines := make([]timeline, len(s.added.of))
	// until is, for each element, the last read that is not yet known to have
	// seen it: all behind it did.
	until := make([]int32, len(lines))
	for n := range lines {
		lines[n] = timeline{lastPresent: -1, known: operation.Never, knownBy: -1}
		until[n] = int32(len(s.reads)) - 1
		if by := s.added.of[n].acknowledged; by >= 0 {
			lines[n].known = s.added.all[by].Complete
		}
	}
	for i := len(s.reads) - 1; i >= 0; i-- {
		read := &s.reads[i]
		saw := s.resolve(read, f)
		for _, n := range read.dup {
			f.Add(kindDuplicate, &read.by, "saw %s more than once", element(s.added.names[n]))
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
		// A read that ended before the element was added says nothing of it.
		if i := until[n]; i >= 0 && s.added.of[n].first >= 0 && s.reads[i].by.Complete > s.added.all[s.added.of[n].first].Invoke {
			lines[n].lastAbsent = i
		}
	}
	return lines
}

// addMissed adds an element that a read did not see though it was known: its addition
// had been acknowledged, or another read had seen it.
func (s *Set) addMissed(f *operation.Findings, kind string, n int32, l *timeline) {
	after := "no read that began later saw it"
	if kind == kindStale {
		after = "later ones did: " + s.reads[l.lastPresent].by.String()
	}
	absent, name := &s.reads[l.lastAbsent].by, element(s.added.names[n])
	if l.knownBy >= 0 {
		f.Add(kind, absent, "did not see %s, though %s had seen it before that began; %s", name, &s.reads[l.knownBy].by, after)
		return
	}
	f.Add(kind, absent, "did not see %s, though %s had added it, which was acknowledged before that began; %s",
		name, &s.added.all[s.added.of[n].acknowledged], after)
}
