package histories

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"

	"assay/check"
	"assay/history"
	"assay/history/exchange"
)

func (r *reduction) index() {
	r.writers = map[[2]string][]int{}
	if r.kind == exchange.AsWritten && strings.HasSuffix(r.o.Test, "mutex") {
		r.quiet = quietMoments(r.all, r.o.Test != "mutex")
	}
	if r.kind != exchange.Register {
		return
	}
	for i, op := range r.all {
		if op.Function == exchange.Write || op.Function == exchange.CompareAndSet {
			w := [2]string{op.Key.String(), op.Value.String()}
			r.writers[w] = append(r.writers[w], i)
		}
	}
}

// closed changes some operations so that no honest one among them is convicted. Register operations
// that saw a value are left out unless all of its writes are there: a write that is left out may
// have written it. Operations of the kinds of package recorded are joined by their context.
func (r *reduction) closed(parts []int) []int {
	if r.kind == exchange.AsWritten {
		return r.withContext(parts)
	}
	if r.kind != exchange.Register {
		return parts
	}
	in := make(map[int]bool, len(parts))
	for _, i := range parts {
		in[i] = true
	}
	kept := slices.Clone(parts)
	for before := -1; before != len(kept); {
		before = len(kept)
		kept = slices.DeleteFunc(kept, func(i int) bool {
			for _, w := range r.writers[seenBy(r.all[i])] {
				if !in[w] {
					in[i] = false
					return true
				}
			}
			return false
		})
	}
	return kept
}

// seenBy is the key and value that an operation saw, if any.
func seenBy(op *exchange.Operation) [2]string {
	possible := op.Outcome == history.Committed || op.Outcome == history.Unknown
	switch {
	case op.Function == exchange.Read && op.Outcome == history.Committed:
		return [2]string{op.Key.String(), op.Value.String()}
	case op.Function == exchange.CompareAndSet && possible:
		return [2]string{op.Key.String(), op.From.String()}
	default:
		return [2]string{"", "nothing"}
	}
}

// withContext adds the operations that may explain, or excuse, what those in parts saw and did. Most
// were invoked before the last of them was acknowledged. Whether an element of a total queue never
// came out is known from the drains, and from its dequeues and those of unknown outcome at any time.
func (r *reduction) withContext(parts []int) []int {
	if r.o.Test == "total-queue" {
		named := r.named(parts)
		parts = r.with(parts, func(op *exchange.Operation) bool {
			return op.Word == "drain" || op.Word == "dequeue" && (op.Outcome == history.Unknown || !op.Answer.IsNil() && named[elementOf(&op.Answer)])
		})
	}
	last := int64(math.MinInt64)
	for _, i := range parts {
		if op := r.all[i]; op.Outcome == history.Committed {
			last = max(last, op.Complete)
		}
	}
	excuses := r.excuses(parts)
	return r.with(parts, func(op *exchange.Operation) bool { return op.Invoke < last && excuses(op) })
}

// with adds those operations that also returns true for.
func (r *reduction) with(parts []int, also func(*exchange.Operation) bool) []int {
	all, next := make([]int, 0, len(parts)), 0
	for i, op := range r.all {
		given := next < len(parts) && parts[next] == i
		if given {
			next++
		}
		if given || also(op) {
			all = append(all, i)
		}
	}
	return all
}

// excuses tells which operations may explain what those in parts saw and did. For kinds without a
// case none may: a finding names all operations that it rests on, and holds without the others.
func (r *reduction) excuses(parts []int) func(*exchange.Operation) bool {
	switch r.o.Test {
	case kindCounter:
		return func(op *exchange.Operation) bool { return op.Word == "add" }
	case "mutex": // any process may have released it
		first := int64(math.MaxInt64)
		for _, i := range parts {
			first = min(first, r.all[i].Invoke)
		}
		from := latest(r.quiet[0], first)
		return func(op *exchange.Operation) bool { return op.Invoke >= from }
	case "owner-mutex", "reentrant-mutex", "fenced-mutex", "reentrant-fenced-mutex":
		from := map[int64]int64{}
		for _, i := range parts {
			op := r.all[i]
			if first, known := from[op.Process]; !known || op.Invoke < first {
				from[op.Process] = op.Invoke
			}
		}
		for process, first := range from {
			from[process] = latest(r.quiet[process], first)
		}
		return func(op *exchange.Operation) bool {
			begin, known := from[op.Process]
			return known && op.Invoke >= begin
		}
	case "key-value":
		keys := map[exchange.Atom]bool{}
		for _, i := range parts {
			keys[r.all[i].Key] = true
		}
		return func(op *exchange.Operation) bool { return op.Word != "get" && keys[op.Key] }
	case "multi-register":
		return func(op *exchange.Operation) bool { return !readsAlone(&op.Request) }
	case "causal":
		return func(op *exchange.Operation) bool { return op.Word == "write" }
	case "set", "set-full", "queue", "total-queue", "comments", "long-fork":
		named := r.named(parts)
		return func(op *exchange.Operation) bool {
			return (op.Word == "add" || op.Word == "enqueue" || op.Word == "write") && named[elementOf(&op.Request)]
		}
	default:
		return func(*exchange.Operation) bool { return false }
	}
}

// quietMoments returns when a lock was certainly free, with no operation in flight or of unknown
// outcome before: at the beginnings of the operations that found it so, in order. Nothing before
// such a moment explains what comes after it. Of a lock with owners, the moments are those of each
// process; otherwise they stand under 0.
func quietMoments(all []*exchange.Operation, owners bool) map[int64][]int64 {
	type progress struct {
		held   int64 // acquires without a release
		end    int64
		unsure bool
	}
	of, quiet := map[int64]*progress{}, map[int64][]int64{}
	ops := slices.Clone(all)
	slices.SortFunc(ops, func(a, b *exchange.Operation) int { return cmp.Compare(a.Invoke, b.Invoke) })
	for _, op := range ops {
		process := int64(0)
		if owners {
			process = op.Process
		}
		p := of[process]
		if p == nil {
			p = &progress{end: -1}
			of[process] = p
		}
		if p.held == 0 && !p.unsure && p.end < op.Invoke {
			quiet[process] = append(quiet[process], op.Invoke)
		}
		p.end = max(p.end, op.Complete)
		switch {
		case op.Outcome == history.Unknown:
			p.unsure = true
		case op.Outcome != history.Committed:
		case op.Word == "acquire":
			p.held++
		default:
			p.held--
		}
	}
	return quiet
}

// latest returns the last of the moments up to another; 0 if there is none.
func latest(moments []int64, until int64) int64 {
	at, found := slices.BinarySearch(moments, until)
	switch {
	case found:
		return until
	case at == 0:
		return 0
	}
	return moments[at-1]
}

// named are the atoms in the requests and answers of some operations.
func (r *reduction) named(parts []int) map[exchange.Atom]bool {
	all := map[exchange.Atom]bool{}
	for _, i := range parts {
		nameAtoms(&r.all[i].Request, all)
		nameAtoms(&r.all[i].Answer, all)
	}
	return all
}

// readsAlone reports whether a transaction's steps are all reads. The transaction may be that of an
// independent key.
func readsAlone(steps *exchange.Value) bool {
	if _, of, pair := steps.Pair(); pair && of.Form == exchange.List && len(of.Items) > 0 && of.Items[0].Form == exchange.List {
		steps = of
	}
	return !slices.ContainsFunc(steps.Items, func(step exchange.Value) bool {
		return step.Form != exchange.List || len(step.Items) == 0 || !strings.HasPrefix(step.Items[0].Word(), "r")
	})
}

// elementOf is what an operation puts in: its value, the value of its pair of an independent key and
// a value, or the key that [[:w key value]] writes.
func elementOf(v *exchange.Value) exchange.Atom {
	if v.Form == exchange.List && len(v.Items) == 1 && v.Items[0].Form == exchange.List && len(v.Items[0].Items) > 1 {
		return v.Items[0].Items[1].Atom
	}
	if _, second, pair := v.Pair(); pair {
		return second.Atom
	}
	return v.Atom
}

func nameAtoms(v *exchange.Value, named map[exchange.Atom]bool) {
	if v.Form == exchange.Scalar {
		named[v.Atom] = true
	}
	for i := range v.Items {
		nameAtoms(&v.Items[i], named)
	}
}

// evidenceOf returns the evidence of the anomaly among all of a part. It is nil if the whole history
// has not the same: the part would then convict an operation that the whole does not, or for
// another reason. If the whole has more findings than it lists, the others need not be listed.
func (r *reduction) evidenceOf(all []check.Evidence) *check.Evidence {
	if r.kind == exchange.Register { // closed is enough, and the search may stop at another operation
		at := slices.IndexFunc(all, func(e check.Evidence) bool { return e.Kind == r.anomaly })
		if at < 0 {
			return nil
		}
		return &all[at]
	}
	var of *check.Evidence
	for i := range all {
		e := &all[i]
		known := slices.ContainsFunc(r.found, func(f check.Evidence) bool { return r.same(e, &f) })
		switch {
		case known && of == nil && e.Kind == r.anomaly:
			of = e
		case !known && len(r.found) < check.MaxEvidence:
			return nil
		}
	}
	return of
}

// same reports whether two findings are of the same operations for the same reason. The reasons of a
// bank's total and of a missing order count what the judge saw besides, which a part has not.
func (r *reduction) same(a, b *check.Evidence) bool {
	return a.Kind == b.Kind && maps.Equal(a.Fields, b.Fields) &&
		(a.Text == b.Text || r.kind == exchange.Bank || a.Kind == "unexplained")
}
