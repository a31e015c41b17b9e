package register

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"assay/check"
)

// Options holds facts that the history does not tell, and limits.
type Options struct {
	// Initial is each register's value before the first write; empty means Nil.
	Initial string
	// Memory bounds what the search for an order keeps at a time, in bytes; 0 means 1 GiB. A key
	// that needs more ends as unknown.
	Memory int64
}

const name = "linearizable"

// Check judges a history. When ctx ends, the remaining keys are unknown, and so is the verdict
// unless a violation was found. Apart from ctx, Check is a pure function.
func Check(ctx context.Context, h *History, o Options) check.Result {
	r := check.Result{Name: name}
	c := h.counts
	if c.ops == 0 {
		r.Detail = "the history has no operations: nothing can be said"
		return r
	}
	initial := Nil
	if o.Initial != "" {
		initial = o.Initial
	}
	if o.Memory == 0 {
		o.Memory = 1 << 30
	}
	values := h.values
	first, known := h.number[initial]
	if !known {
		first, values = int32(len(values)), append(slices.Clip(values), initial)
	}
	s := newSearcher(ctx, values, o.Memory)
	var bad []check.Result // by key
	var open unjudged
	for i := range h.keys {
		f, whole := s.judge(&h.keys[i], first)
		switch {
		case f.Count() > 0:
			var one check.Result
			if f.AddTo(&one); len(bad) >= check.MaxEvidence {
				one.Evidence = nil
			}
			bad = append(bad, one)
		case !whole:
			open.add(h.keys[i].name, s.stopped)
		}
		s.stopped = notStopped
	}
	r.AddParts(bad)
	r.Detail = c.String() + fmt.Sprintf(" on %s; ", plural(len(h.keys), "register"))
	switch {
	case len(bad) > 0:
		r.Detail += fmt.Sprintf("%s not linearizable", plural(len(bad), "register")+are(len(bad)))
		if open.count > 0 {
			r.Detail += "; " + open.reason(ctx)
		}
	case c.observed == 0:
		r.Detail += "nothing was read, so nothing can be said"
	case open.count > 0:
		r.Detail += open.reason(ctx)
	default:
		r.Verdict = check.Valid
		r.Detail += "each is linearizable"
	}
	return r
}

// judge judges one key. whole is false if a limit ended it without a verdict.
func (s *searcher) judge(k *keyed, initial int32) (f check.Findings, whole bool) {
	f = newFindings()
	if s.ctx.Err() != nil {
		s.stopped = outOfTime
		return f, false
	}
	seq := prepare(k, initial, s.values)
	seq.directViolations(f)
	if f.Count() == 0 && seq.unique {
		seq.conflicts(f)
		if !seq.sets {
			return f, true
		}
	}
	return f, f.Count() > 0 || s.countThenSearch(seq, f)
}

// quickMemory bounds a first search, in bytes. It is enough for most histories.
const quickMemory = 32 << 20

// countThenSearch judges a key that no rule has decided. A short search for an order suffices
// for most keys. Otherwise counting may convict, or walking all states may decide. If there are
// too many states, a search with all the memory follows.
func (s *searcher) countThenSearch(seq *sequence, f check.Findings) (whole bool) {
	memory := s.memory
	s.memory = min(memory, quickMemory)
	whole = s.search(seq, f)
	s.memory = memory
	if whole || s.stopped != outOfMemory {
		return whole
	}
	s.stopped = notStopped
	if seq.countChanges(f); f.Count() > 0 {
		return true
	}
	switch states, decided := s.searchStates(seq.ops, seq.initial); {
	case s.stopped != notStopped:
		return false
	case decided && states.hopeless != nil:
		seq.add(f, states.unexplained())
		return true
	case decided:
		return true
	}
	return s.search(seq, f)
}

type unjudged struct {
	count    int
	first    string
	inMemory bool
}

func (u *unjudged) add(key string, why stopReason) {
	if u.count == 0 {
		u.first, u.inMemory = key, why == outOfMemory
	}
	u.count++
}

func (u *unjudged) reason(ctx context.Context) string {
	what := plural(u.count, "register") + are(u.count) + " not judged"
	if u.first != "" {
		what += " (the first is key " + u.first + ")"
	}
	switch {
	case u.inMemory:
		return what + ": the search for an order needed more memory than it is given; give it more, or judge a shorter history, or one with fewer operations at a time"
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return what + ": the time limit ended before the search; allow more time, or judge a shorter history"
	default:
		return what + ": the search was cancelled"
	}
}

func (c counts) String() string {
	kinds := []string{plural(c.reads, "read"), plural(c.writes, "write")}
	if c.sets > 0 {
		kinds = append(kinds, plural(c.sets, "compare-and-set"))
	}
	return fmt.Sprintf("%s (%s; %s failed, %s of unknown outcome)",
		plural(c.ops, "operation"), strings.Join(kinds, ", "), check.CountOrNone(c.failed), check.CountOrNone(c.unknown))
}

func plural(n int, what string) string { return check.Counted(n, what, what+"s") }

func are(n int) string {
	if n == 1 {
		return " is"
	}
	return " are"
}
