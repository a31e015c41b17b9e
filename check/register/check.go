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
	s := newSearcher(ctx, len(values), o.Memory)
	var found evidence
	var open unjudged
	bad := 0
	for i := range h.keys {
		seq, f, whole := s.judge(&h.keys[i], first)
		switch {
		case f.found > 0:
			bad++
			found.found += f.found
			found.keys = append(found.keys, allEvidence(values, seq, &f, found.room()))
		case !whole:
			open.add(h.keys[i].name, s.stopped)
		}
		s.stopped = notStopped
	}
	found.into(&r)
	r.Detail = c.String() + fmt.Sprintf(" on %s; ", plural(len(h.keys), "register"))
	switch {
	case bad > 0:
		r.Detail += fmt.Sprintf("%s not linearizable", plural(bad, "register")+are(bad))
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
func (s *searcher) judge(k *keyed, initial int32) (seq *sequence, f findings, whole bool) {
	if s.ctx.Err() != nil {
		s.stopped = outOfTime
		return nil, f, false
	}
	seq = prepare(k, initial)
	seq.directViolations(&f)
	if f.found == 0 && seq.unique {
		seq.conflicts(&f)
		if !seq.sets {
			return seq, f, true
		}
	}
	if f.found > 0 {
		return seq, f, true
	}
	return s.countThenSearch(seq)
}

// quickMemory bounds a first search, in bytes. It is enough for most histories.
const quickMemory = 32 << 20

// countThenSearch judges a key that no rule has decided. A short search for an order suffices
// for most keys. Otherwise counting may convict, or walking all states may decide. If there are
// too many states, a search with all the memory follows.
func (s *searcher) countThenSearch(seq *sequence) (_ *sequence, f findings, whole bool) {
	memory := s.memory
	s.memory = min(memory, quickMemory)
	whole = s.search(seq, &f)
	s.memory = memory
	if whole || s.stopped != outOfMemory {
		return seq, f, whole
	}
	s.stopped = notStopped
	if seq.countChanges(&f); f.found > 0 {
		return seq, f, true
	}
	switch states, decided := s.searchStates(seq.ops, seq.initial); {
	case s.stopped != notStopped:
		return seq, f, false
	case decided && states.hopeless != nil:
		f.add(states.unexplained())
		return seq, f, true
	case decided:
		return seq, f, true
	}
	return seq, f, s.search(seq, &f)
}

func allEvidence(values []string, seq *sequence, f *findings, room int) []check.Evidence {
	t := evidenceText{values: values, seq: seq}
	var all []check.Evidence
	list := f.inOrder()
	for i := range list[:max(0, min(len(list), room))] {
		all = append(all, t.evidence(&list[i]))
	}
	return all
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
