package recorded

import (
	"context"
	"fmt"
	"slices"

	"assay/check"
	"assay/history/exchange"
)

// identifiers judges a generator of identifiers (jepsen.checker/unique-ids), all to be different.
type identifiers struct {
	given         map[string]Operation // who was given it first
	again         *findings
	asked, gotten int64
}

// newUniqueIDs judges a :generate answered with an identifier.
func newUniqueIDs() *judge {
	u := &identifiers{given: map[string]Operation{}, again: newFindings(kindDuplicate)}
	return &judge{functions: []function{{word: "generate", take: asking(u.generate)}}, result: u.result}
}

func (u *identifiers) generate(o *exchange.Operation, by Operation) error {
	u.asked++
	if !by.Acknowledged() {
		return nil
	}
	if o.Answer.IsNil() {
		return unfit("an identifier")
	}
	u.gotten++
	id := o.Answer.Canonical()
	if first, given := u.given[id]; given {
		u.again.add(kindDuplicate, &by, "was given %s, which %s had been given", field{"id", id}, &first)
		return nil
	}
	u.given[id] = by
	return nil
}

func (u *identifiers) result(context.Context) check.Result {
	detail := fmt.Sprintf("%s, %s given", plural(u.asked, "request"), plural(u.gotten, "identifier"))
	if n := u.again.Count(kindDuplicate); n > 0 {
		detail += fmt.Sprintf("; %s given before", check.Count(n))
	}
	return u.again.resultAs("unique-ids", detail, "", u.gotten == 0, "no identifier was given, so nothing can be said")
}

// queue judges a queue regardless of order (jepsen.checker/queue with an unordered queue). Each
// element that came out must have been put in before, and at least as often. As a total queue
// (jepsen.checker/total-queue) every acknowledged element must come out; the history must then
// end with an empty queue, by a :drain or by enough :dequeues. A total queue may give an element
// more often than it was put in, which is counted.
type queue struct {
	elements
	name     string // "" is a total queue if there are drains
	dequeues []dequeue
	// taken are the dequeues of unknown outcome, which may each have removed one element; drained
	// the drains of unknown outcome, which may have removed any number.
	taken, drained int64
	drains         int64
	// emptied is when the last acknowledged drain began: later elements may be left. Without
	// drains the user says that all came out.
	emptied int64
	last    map[int64]int64 // when each process last began to dequeue
}

type dequeue struct {
	by      Operation
	element exchange.Atom
}

// newQueue judges an :enqueue of an element, a :dequeue answered with one, and a :drain answered
// with a list. The answer of a :drain may also be a word such as :exhausted, if the same process
// reports the elements by dequeues within the drain. The request of a dequeue means nothing.
func newQueue(name, _ string) *judge {
	q := &queue{elements: newElements(putWords()), name: name, last: map[int64]int64{}}
	return &judge{functions: []function{
		{word: "enqueue", take: putting(q.add)}, {word: "dequeue", take: q.dequeue}, {word: "drain", take: asking(q.drain)},
	}, result: q.result}
}

func (q *queue) dequeue(o *exchange.Operation, by Operation) error {
	q.last[o.Process] = o.Invoke
	switch {
	case o.Request.Form != exchange.Scalar:
		return unfit("an invocation with nil, or with one element")
	case !by.Acknowledged() && by.Possible():
		q.taken++
	case !by.Acknowledged():
	case o.Answer.Form != exchange.Scalar:
		return unfit("one element")
	case !o.Answer.IsNil(): // else the queue was empty
		q.dequeues = append(q.dequeues, dequeue{by, o.Answer.Atom})
	}
	return nil
}

func (q *queue) drain(o *exchange.Operation, by Operation) error {
	q.drains++
	if !by.Acknowledged() {
		if by.Possible() {
			q.drained++
		}
		return nil
	}
	q.emptied = max(q.emptied, o.Invoke)
	if o.Answer.Word() != "" {
		if q.last[o.Process] <= o.Invoke { // nobody knows what it took out
			q.drained++
		}
		return nil
	}
	drained, err := elementsOf(&o.Answer)
	for _, a := range drained {
		q.dequeues = append(q.dequeues, dequeue{by, a})
	}
	return err
}

// total reports whether no element may be left.
func (q *queue) total() bool { return q.name == "total-queue" || q.name == "" && q.drains > 0 }

func (q *queue) result(context.Context) check.Result {
	name := "queue"
	if q.total() {
		name = "total-queue"
	}
	kinds := append([]string{kindLost}, q.words.kinds()...)
	if !q.total() {
		kinds = append(kinds, kindDuplicate)
	}
	f := newFindings(kinds...)
	uses := make([]uses, len(q.of))
	var recovered, again int64
	for i := range q.all {
		if u := &uses[q.which[i]]; q.all[i].Possible() {
			u.in = append(u.in, int32(i))
		}
	}
	for i := range q.dequeues {
		d := &q.dequeues[i]
		if !q.judgeSeen(d.element, &d.by, "took out", f) {
			continue
		}
		n, _ := q.index.numberOf(d.element)
		if q.of[n].certain == 0 {
			recovered++
		}
		uses[n].out = append(uses[n].out, int32(i))
	}
	for n := range uses {
		slices.SortFunc(uses[n].in, func(a, b int32) int { return byInvoke(&q.all[a], &q.all[b]) })
		slices.SortFunc(uses[n].out, func(a, b int32) int { return byComplete(&q.dequeues[a].by, &q.dequeues[b].by) })
		if q.surplus(int32(n), &uses[n], f) {
			again++
		}
	}
	missing := q.lost(uses, f)
	detail := fmt.Sprintf("%s, %s, of which %s of an enqueue of unknown outcome", q.describe("enqueue"),
		plural(len(q.dequeues), "dequeued element"), check.CountOrNone(recovered)) + f.summary()
	if q.total() {
		if again > 0 {
			detail += fmt.Sprintf("; allowed, and found: %s came out more often than put in, which --test queue forbids", plural(again, "element"))
		}
		stricter := []string{q.words.failure, q.words.future}
		if q.balanced(uses) {
			stricter = append(stricter, kindLost)
		}
		detail += f.beyond("checker/total-queue", "compares counts and no times, and takes what failed to be put in for an element that may come out", stricter...)
	} else {
		detail += f.beyond("checker/queue", "takes what failed to be put in for an element that may come out", q.words.failure)
	}
	return f.resultAs(name, detail, missing, len(q.dequeues) == 0, "nothing came out, so nothing can be said")
}

// balanced reports whether each element came out as often as its enqueues were acknowledged.
func (q *queue) balanced(all []uses) bool {
	for n := range all {
		if int(q.of[n].certain) > len(all[n].out) {
			return false
		}
	}
	return true
}

// uses lists the operations that put one element in, by invocation, and those that took it out,
// by completion. Each that took it out needs one that put it in and had begun by then.
type uses struct{ in, out []int32 }

// surplus adds an element that came out more often than it had been begun to be put in. It reports
// whether the element came out more often than it was ever put in.
func (q *queue) surplus(n int32, u *uses, f *findings) (again bool) {
	times := func(n int) string {
		if n == 1 {
			return "once"
		}
		return check.Count(n) + " times"
	}
	begun := 0
	for k, i := range u.out {
		last := &q.dequeues[i].by
		for begun < len(u.in) && q.all[u.in[begun]].Invoke <= last.Complete {
			begun++
		}
		if k < begun {
			continue
		}
		name, first := q.element(q.names[n]), &q.dequeues[u.out[0]].by
		if len(u.out) > len(u.in) {
			last = &q.dequeues[u.out[len(u.out)-1]].by
			f.add(kindDuplicate, last, "took out %s, which had been put in %s and came out %s; the first to take it out was %s",
				name, times(len(u.in)), times(len(u.out)), first)
			return true
		}
		f.add(q.words.future, last, "took out %s, which then had come out %s, before %s began to put it in again; by then it had been put in %s, and the first to take it out was %s",
			name, times(k+1), &q.all[u.in[begun]], times(begun), first)
		return false
	}
	return false
}

// left returns the acknowledged enqueues of an element before the queue was emptied that no
// dequeue can have taken. Each dequeue takes one enqueue that began before the dequeue ended.
func (q *queue) left(u *uses) (left []int32) {
	next := len(u.out) - 1
	for _, i := range slices.Backward(u.in) {
		by := &q.all[i]
		switch {
		case !by.Acknowledged() || q.drains > 0 && by.Complete >= q.emptied:
		case next >= 0 && q.dequeues[u.out[next]].by.Complete >= by.Invoke:
			next--
		default:
			left = append(left, i)
		}
	}
	slices.Reverse(left)
	return left
}

// lost adds the elements that a total queue did not give back: acknowledged before it was
// emptied, and taken by no dequeue. It returns the reason if this cannot be told, because
// operations of unknown outcome may have taken them.
func (q *queue) lost(uses []uses, f *findings) string {
	if !q.total() {
		return ""
	}
	var left []int32
	for n := range uses {
		left = append(left, q.left(&uses[n])...)
	}
	if len(left) == 0 {
		return ""
	}
	if takers := plural(q.taken, "dequeue"); q.drained > 0 || int64(len(left)) <= q.taken {
		if q.drained > 0 {
			takers = plural(q.drained, "drain")
		}
		return fmt.Sprintf("%s not come out, but %s of unknown outcome may have taken them",
			check.Counted(len(left), "acknowledged element has", "acknowledged elements have"), takers)
	}
	note := ""
	if q.taken > 0 {
		note = fmt.Sprintf("; so did %s, more than the %s of unknown outcome can have taken", plural(len(left)-1, "other"), plural(q.taken, "dequeue"))
	}
	for _, i := range left[:len(left)-int(q.taken)] {
		f.add(kindLost, &q.all[i], "put %s in, which was acknowledged, but it never came out%s", q.element(q.names[q.which[i]]), note)
	}
	return ""
}
