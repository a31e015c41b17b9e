package register

import (
	"cmp"
	"math"
	"slices"

	"assay/check"
)

// The kinds of evidence, most telling first.
const (
	kindGarbage     = "garbage-read"      // a value that nobody wrote
	kindDirty       = "failed-write-read" // a value of a write that failed
	kindFuture      = "future-read"       // a value before its write began
	kindDuplicate   = "duplicate-cas"     // one value replaced twice
	kindLost        = "lost-write"        // acknowledged, never seen, and the value before it read later
	kindStale       = "stale-read"        // a value that was overwritten before the read began
	kindOrder       = "order"             // two values, each before the other
	kindFew         = "too-few-writes"    // more changes to a value than writes of it
	kindUnexplained = "unexplained"       // what no order explains
)

// sources are the writers of one value, to find which of them an observation can have seen.
type sources struct {
	invoke []int64 // ascending
	latest []int64 // the latest completion of these and those before
}

func (s *sequence) sources() map[int32]sources {
	all := make(map[int32]sources, len(s.writers))
	for value, writers := range s.writers {
		var from sources
		latest := int64(math.MinInt64)
		for _, i := range writers { // in the order of invocation
			latest = max(latest, s.ops[i].complete)
			from.invoke = append(from.invoke, s.ops[i].invoke)
			from.latest = append(from.latest, latest)
		}
		all[value] = from
	}
	return all
}

// until returns the latest completion of the writers invoked by at; ok is false without any.
func (f sources) until(at int64) (latest int64, ok bool) {
	n, _ := slices.BinarySearchFunc(f.invoke, at, func(invoke, at int64) int {
		if invoke <= at {
			return -1
		}
		return 1
	})
	if n == 0 {
		return math.MinInt64, false
	}
	return f.latest[n-1], true
}

// directViolations finds violations without a search; each is a proof.
func (s *sequence) directViolations(f check.Findings) {
	sources := s.sources()
	seen := map[int32]bool{}
	for i := range s.ops {
		if v, ok := s.ops[i].observes(); ok {
			seen[v] = true
		}
	}
	overwritten := newLatestWrites(s.ops)
	for i := range s.ops {
		o := &s.ops[i]
		v, ok := o.observes()
		if !ok {
			continue
		}
		latest, known := sources[v].until(o.complete)
		switch {
		case !known && v != s.initial:
			s.unwritten(f, o, v, len(sources[v].invoke) > 0)
			continue
		case !known:
			latest = math.MinInt64
		}
		// Every possible writer of v has ended before w begins, and w has ended before o begins.
		if w := overwritten.before(o.invoke); w != nil && w.invoke > latest {
			kind := kindStale
			if !seen[w.value] {
				kind = kindLost
			}
			s.add(f, s.stale(kind, o, v, w))
		}
	}
	s.duplicates(f)
}

// unwritten adds an observation of a value that was not written before it.
func (s *sequence) unwritten(f check.Findings, o *op, v int32, later bool) {
	if later {
		w := &s.ops[s.writers[v][0]]
		s.add(f, finding{kind: kindFuture, subject: o, with: []*op{w}, value: v})
		return
	}
	for i := range s.failed {
		if w := &s.failed[i]; w.value == v && w.invoke <= o.complete {
			s.add(f, finding{kind: kindDirty, subject: o, with: []*op{w}, value: v})
			return
		}
	}
	s.add(f, finding{kind: kindGarbage, subject: o, value: v})
}

func (s *sequence) stale(kind string, o *op, v int32, w *op) finding {
	found := finding{kind: kind, subject: o, with: []*op{w}, value: v}
	if writers := s.writers[v]; len(writers) > 0 && s.ops[writers[0]].invoke <= o.complete {
		last := &s.ops[writers[0]]
		for _, i := range writers {
			if c := &s.ops[i]; c.invoke <= o.complete && c.complete > last.complete {
				last = c
			}
		}
		found.with = append(found.with, last)
	}
	return found
}

// duplicates finds values replaced by more compare-and-sets than writes: each takes one write away.
func (s *sequence) duplicates(f check.Findings) {
	if !s.sets {
		return
	}
	takers := map[int32][]*op{}
	for i := range s.ops {
		if o := &s.ops[i]; o.kind == CompareAndSet && o.certain() {
			takers[o.from] = append(takers[o.from], o)
		}
	}
	for i := range s.ops {
		o := &s.ops[i]
		if o.kind != CompareAndSet || len(takers[o.from]) == 0 {
			continue
		}
		there := len(s.writers[o.from])
		if o.from == s.initial {
			there++
		}
		if took := takers[o.from]; there > 0 && len(took) > there {
			s.add(f, finding{kind: kindDuplicate, subject: took[there], with: took[:there], value: o.from})
		}
		delete(takers, o.from)
	}
}

// latestWrites finds, for ascending times, the last begun certain write that had ended before.
type latestWrites struct {
	byEnd []*op
	best  *op
}

func newLatestWrites(ops []op) *latestWrites {
	l := &latestWrites{}
	for i := range ops {
		if o := &ops[i]; o.kind != Read && o.certain() {
			l.byEnd = append(l.byEnd, o)
		}
	}
	slices.SortStableFunc(l.byEnd, func(a, b *op) int { return cmp.Compare(a.complete, b.complete) })
	return l
}

// before returns the last begun certain write complete before at, or nil. at must not descend.
func (l *latestWrites) before(at int64) *op {
	for len(l.byEnd) > 0 && l.byEnd[0].complete < at {
		if w := l.byEnd[0]; l.best == nil || w.invoke > l.best.invoke {
			l.best = w
		}
		l.byEnd = l.byEnd[1:]
	}
	return l.best
}
