package collections

import (
	"context"
	"fmt"
	"slices"

	"assay/check"
	"assay/check/operation"
	"assay/history"
	"assay/history/exchange"
)

// Queues says what a queue must do.
type Queues uint8

const (
	// AnyQueue is a TotalQueue if there are drains, else an UnorderedQueue.
	AnyQueue Queues = iota
	// UnorderedQueue: see Queue.
	UnorderedQueue
	// TotalQueue gives back all that was put in.
	TotalQueue
)

// Queue judges a queue without regard to its order (jepsen.checker/queue with an
// unordered queue): each element that came out had been put in before, and came
// out at most as often. As total queue (jepsen.checker/total-queue) it wants
// everything that was acknowledged to come out; the history must end with an
// empty queue, by a :drain or by as many :dequeues as it takes.
type Queue struct {
	must     Queues
	enqueued *elements
	dequeues []dequeue
	// taken are the dequeues of unknown outcome, each of which may have removed
	// one element; drained the drains, which may have removed any number.
	taken, drained int64
	drains         int64
	// emptied is when the last drain that was acknowledged began: what was put
	// in later may be left. Without drains the user says that all came out.
	emptied int64
}

// dequeue is one element that came out.
type dequeue struct {
	by      operation.Operation
	element exchange.Atom
}

// NewQueue returns a judge.
func NewQueue(must Queues) *Queue { return &Queue{must: must, enqueued: newElements()} }

// Add takes one operation: an :enqueue of an element, a :dequeue answered with
// one, or a :drain answered with a list. Any other is an error.
func (q *Queue) Add(o *exchange.Operation) error {
	switch o.Word {
	case "enqueue":
		a, err := operation.Element(o)
		if err == nil {
			q.enqueued.add(a, o)
		}
		return err
	case "dequeue":
		return q.dequeue(o)
	case "drain":
		return q.drain(o)
	}
	return operation.UnknownFunction(o, "enqueue, dequeue and drain")
}

func (q *Queue) dequeue(o *exchange.Operation) error {
	if err := operation.Nothing(o); err != nil {
		return err
	}
	switch o.Outcome {
	case history.Committed:
		if o.Answer.Form != exchange.Scalar {
			return operation.Unfit(o, "one element")
		}
		if !o.Answer.IsNil() { // else the queue was empty
			q.dequeues = append(q.dequeues, dequeue{operation.Of(o), o.Answer.Atom})
		}
	case history.Unknown:
		q.taken++
	}
	return nil
}

func (q *Queue) drain(o *exchange.Operation) error {
	if err := operation.Nothing(o); err != nil {
		return err
	}
	q.drains++
	switch o.Outcome {
	case history.Committed:
		elements, err := operation.Elements(o, &o.Answer)
		if err != nil {
			return err
		}
		q.emptied = max(q.emptied, o.Invoke)
		for _, a := range elements {
			q.dequeues = append(q.dequeues, dequeue{operation.Of(o), a})
		}
	case history.Unknown:
		q.drained++
	}
	return nil
}

// total reports whether nothing may be left.
func (q *Queue) total() bool { return q.must == TotalQueue || q.must == AnyQueue && q.drains > 0 }

// Result returns the answer over all operations.
func (q *Queue) Result(context.Context) check.Result {
	name := "queue"
	if q.total() {
		name = "total-queue"
	}
	f := operation.NewFindings(kindLost, kindUnexpected, kindFailed, kindFuture, kindDuplicate)
	out := make([][]int32, len(q.enqueued.of)) // which dequeues gave each element
	var recovered int64
	for i := range q.dequeues {
		d := &q.dequeues[i]
		if !q.enqueued.seen(d.element, &d.by, "took out", f) {
			continue
		}
		n := q.enqueued.index[d.element]
		if of := &q.enqueued.of[n]; of.certain == 0 {
			recovered++
		}
		out[n] = append(out[n], int32(i))
	}
	q.duplicates(out, f)
	left := q.left(out)
	missing := q.lost(left, f)
	r := f.Result(name, fmt.Sprintf("%s, %s, of which %s of an enqueue of unknown outcome", q.enqueued.describe("enqueue"),
		operation.Plural(len(q.dequeues), "dequeued element"), check.CountOrNone(recovered)))
	r.Finish(missing, len(q.dequeues) == 0, "nothing came out, so nothing can be said")
	return r
}

// duplicates adds the elements that came out more often than they were put in.
func (q *Queue) duplicates(out [][]int32, f *operation.Findings) {
	for n := range out {
		most := int(q.enqueued.of[n].possible)
		if len(out[n]) <= most {
			continue
		}
		slices.SortFunc(out[n], func(a, b int32) int { return int(q.dequeues[a].by.Invoke - q.dequeues[b].by.Invoke) })
		first, last := &q.dequeues[out[n][0]].by, &q.dequeues[out[n][len(out[n])-1]].by
		f.Add(kindDuplicate, last, "took out %s, which had been put in %s and came out %s; the first to take it out was %s",
			element(q.enqueued.names[n]), times(most), times(len(out[n])), first)
	}
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return check.Count(n) + " times"
}

// left returns the elements that were acknowledged, before the queue was
// emptied, more often than they came out.
func (q *Queue) left(out [][]int32) []int32 {
	in := make([]int, len(out))
	for i := range q.enqueued.all {
		if by := &q.enqueued.all[i]; by.Acknowledged() && (q.drains == 0 || by.Complete < q.emptied) {
			in[q.enqueued.which[i]]++
		}
	}
	var left []int32
	for n := range out {
		for range in[n] - len(out[n]) {
			left = append(left, int32(n))
		}
	}
	return left
}

// lost adds what a total queue does not give back. It returns why that cannot
// be told, if so: what is missing may have been taken by an operation of unknown
// outcome.
func (q *Queue) lost(left []int32, f *operation.Findings) string {
	if !q.total() || len(left) == 0 {
		return ""
	}
	switch {
	case q.drained > 0:
		return fmt.Sprintf("%s not come out, but %s of unknown outcome may have taken them", hasHave(len(left)), operation.Plural(q.drained, "drain"))
	case int64(len(left)) <= q.taken:
		return fmt.Sprintf("%s not come out, but %s of unknown outcome may have taken them", hasHave(len(left)), operation.Plural(q.taken, "dequeue"))
	}
	note := ""
	if q.taken > 0 {
		note = fmt.Sprintf("; so did %s, more than the %s of unknown outcome can have taken", operation.Plural(len(left)-1, "other"), operation.Plural(q.taken, "dequeue"))
	}
	for _, n := range left[:len(left)-int(q.taken)] {
		f.Add(kindLost, &q.enqueued.all[q.enqueued.of[n].acknowledged], "put %s in, which was acknowledged, but it never came out%s",
			element(q.enqueued.names[n]), note)
	}
	return ""
}

func hasHave(n int) string {
	if n == 1 {
		return "1 acknowledged element has"
	}
	return check.Count(n) + " acknowledged elements have"
}
