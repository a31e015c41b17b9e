package cycle

import (
	"context"
	"errors"
	"slices"

	"assay/check"
	"assay/check/cycle/acyclic"
)

// Options are assumptions beyond what a history proves. The reads of a register do not show the
// order of its writes, and those of a list do not show when elements were appended. A finding made
// under an assumption breaks the model or the assumption.
type Options struct {
	// SequentialKeys assumes that every client sees ever later values of each key.
	SequentialKeys bool
	// LinearizableKeys assumes that a transaction sees or overwrites, for each key, everything
	// acknowledged before it began.
	LinearizableKeys bool
	// WritesFollowReads assumes that a transaction that read one value of a register and wrote
	// another put it after the first. From read committed upwards the opposite is G1c anyway.
	WritesFollowReads bool
}

// Assumptions returns the names that Options.Assume takes.
func Assumptions() []string { return []string{"linearizable-keys", "sequential-keys", "wfr-keys"} }

// Assume adds an assumption by its name. It returns false for an unknown name.
func (o *Options) Assume(name string) bool {
	switch name {
	case "linearizable-keys":
		o.LinearizableKeys = true
	case "sequential-keys":
		o.SequentialKeys = true
	case "wfr-keys":
		o.WritesFollowReads = true
	default:
		return false
	}
	return true
}

// Check judges a history by a model. When ctx ends, the verdict is Unknown unless a violation was
// already found. Apart from ctx, Check is a pure function. The search is linear for a valid
// history, but naming large cycles has no such bound, so give it a deadline. A model that
// ParseModel would not return gives Unknown.
//
// Check needs about 100 bytes an operation, besides the history.
func Check(ctx context.Context, h *History, model Model, o Options) Report {
	r := Report{Model: model, Size: h.size()}
	if _, err := ParseModel(string(model)); err != nil {
		r.Reason = err.Error()
		return r
	}
	if model == SnapshotReads {
		return checkSnapshotReads(ctx, h, o)
	}
	if h.Len() >= shortcutFrom {
		if dependencies, found := h.replays(ctx); found && dependencies > 0 {
			r.Verdict, r.Size.Dependencies = check.Valid, dependencies
			return r
		}
	}
	banned := forbidden(model)
	in := newInference(h, o)
	whole := in.run(ctx)
	if in.contradicted {
		banned |= set(cyclicVersions)
	}
	if in.ambiguous != "" {
		if told, decided := in.checkAmbiguous(ctx, model); decided {
			return told
		}
	}
	if whole && in.ambiguous == "" {
		// A model that forbids any cycle with a suffix forbids the write cycle with it.
		extra := edgeKind(0)
		if banned.has(g0Realtime) {
			extra = realtime
		} else if banned.has(g0Process) {
			extra = process
			in.edges.addProcess(h)
		}
		var found bool
		if found, whole = in.serialOrder(ctx, extra == realtime); whole && !found {
			if extra == realtime {
				in.edges.addRealtime(h)
			}
			whole = in.classify(ctx, extra, &r)
		}
	}
	r.Size.Dependencies = in.edges.data
	if found := in.cases.found(); !whole || in.ambiguous != "" {
	} else if found&banned == 0 {
		whole = in.decideAll(ctx, model, r.Size.Components) != acyclic.Undecided
	} else if in.registers && found&forbidden(ReadCommitted) == 0 {
		// The order of a register's versions may hide a worse violation.
		in.decideBelow(ctx, model, r.Size.Components, nil)
	}
	r.summarize(in, banned, whole)
	switch {
	case whole:
	case r.Verdict == check.Violated:
		r.Partial = true
	case ctx.Err() == nil:
		r.Reason = "the search for an order of the versions needed more memory than it is given; judge a shorter history"
	default:
		r.Reason = timeReason(ctx)
	}
	return r
}

// checkAmbiguous judges a history in which a value was written to a key more than once. It returns
// false if nothing can be said so; what is wrong inside of a transaction is wrong all the same.
func (in *inference) checkAmbiguous(ctx context.Context, model Model) (Report, bool) {
	certain := in.cases.found() & certainAnyway()
	if certain == 0 {
		if told, decided := checkDuplicates(ctx, in.h, model, in.o); decided {
			return told, true
		}
	}
	rest := checkWithoutRepeats(ctx, in.h, model, in.o)
	if rest.Verdict == check.Violated {
		rest.Repeated = in.ambiguous + "; judged without such values"
		return rest, !slices.ContainsFunc(certain.names(), func(name string) bool { return !slices.Contains(rest.Anomalies, name) })
	}
	if rest.Verdict == check.Valid {
		in.ambiguous += "; without such values there is nothing that " + string(model) + " forbids"
	}
	return Report{}, false
}

// certainAnyway are the anomalies that are so whoever else wrote the same.
func certainAnyway() anomalySet { return set(ownUnseen, duplicateElements) }

func timeReason(ctx context.Context) string {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return "the time limit ended before the search; allow more time, or judge a shorter history"
	}
	return "the search was cancelled"
}

func (r *Report) summarize(in *inference, banned anomalySet, whole bool) {
	found := in.cases.found()
	r.Findings = in.findings.list(set(lostAppend, staleRead))
	if in.ambiguous != "" {
		if found &= certainAnyway(); found == 0 {
			r.Reason = in.ambiguous
			return
		}
	}
	bad := found & banned
	r.Anomalies, r.Permitted = bad.names(), (found &^ banned).names()
	r.Evidence = append(in.cases.list(bad), in.cases.list(found&^banned)...)
	switch {
	case bad != 0:
		r.Verdict = check.Violated
		r.Not, r.AlsoNot = ruledOut(found)
		if in.contradicted && forbidden(r.Model)&found == 0 { // the assumption alone is broken, or the model
			r.Not, r.AlsoNot = weakest(slices.Concat(r.Not, r.AlsoNot, []Model{r.Model}))
		}
	case !whole:
	case r.Size.Transactions == 0:
		r.Reason = "the history has no transactions: nothing was put to the test"
	case !in.h.reads() || in.edges.data == 0 && r.Size.Transactions > shortHistory:
		r.Reason = "no transaction depends on another, as far as can be told: nothing was put to the test; " +
			"let transactions share keys, and read what others wrote"
	case in.open && r.Model == MonotonicSnapshotRead:
		r.Reason = "nothing found of what was looked for: G0, G1a, G1b, G1c and reads without a moment of their own (G-MSR); " +
			"there is no such moment for every write, which may be forbidden too"
	default:
		r.Verdict = check.Valid
	}
}

// shortHistory bounds the histories judged without any dependency: there the reads say everything.
const shortHistory = 20

// reads reports whether a committed transaction read anything.
func (h *History) reads() bool {
	for _, o := range h.ops {
		if k := o.kind(); k != Append && k != Write && h.committed(o.txn) {
			return true
		}
	}
	return false
}

func (h *History) size() Size {
	s := Size{Transactions: h.Len(), Operations: len(h.ops), Keys: len(h.keys)}
	for t := range int32(h.Len()) {
		switch {
		case h.committed(t):
			s.Committed++
		case h.possible(t):
			s.Unknown++
		}
	}
	return s
}
