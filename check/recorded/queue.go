package recorded

import (
	"context"
	"fmt"
	"slices"

	"assay/check"
	"assay/history/exchange"
)

// identifiers judges a generator of identifiers (jepsen.checker/unique-ids): none
// is given out twice.
type identifiers struct {
	given         map[string]Operation // who was given it first
	again         *findings
	asked, gotten int64
}

// newUniqueIDs judges a :generate that is answered with an identifier.
func newUniqueIDs() *judge {
	u := &identifiers{given: map[string]Operation{}, again: newFindings(kindDuplicate)}
	return &judge{[]function{{word: "generate", take: asking(u.generate)}}, u.result}
}

func (u *identifiers) generate(o *exchange.Operation, by Operation) error {
	u.asked++
	if !by.Acknowledged() {
		return nil
	}
	if o.Answer.IsNil() || o.Answer.Form == exchange.List || o.Answer.Form == exchange.Map {
		return unfit("an identifier")
	}
	u.gotten++
	id := o.Answer.String()
	if first, given := u.given[id]; given {
		u.again.add(kindDuplicate, &by, "was given %s, which %s had been given", field{"id", id}, &first)
		return nil
	}
	u.given[id] = by
	return nil
}

func (u *identifiers) result(context.Context) check.Result {
	detail := fmt.Sprintf("%s, %s given", plural(u.asked, "request"), plural(u.gotten, "identifier"))
	if n := u.again.count[kindDuplicate]; n > 0 {
		detail += fmt.Sprintf("; %s given before", check.Count(n))
	}
	return u.again.resultAs("unique-ids", detail, "", u.gotten == 0, "no identifier was given, so nothing can be said")
}

// queue judges a queue without regard to its order (jepsen.checker/queue with an
// unordered queue): each element that came out had been put in before, and came
// out at most as often. As total queue (jepsen.checker/total-queue) it wants
// everything that was acknowledged to come out; the history must end with an
// empty queue, by a :drain or by as many :dequeues as it takes.
type queue struct {
	elements
	name     string // "" is a total queue if there are drains
	dequeues []dequeue
	// taken are the dequeues of unknown outcome, each of which may have removed
	// one element; drained the drains, which may have removed any number.
	taken, drained int64
	drains         int64
	// emptied is when the last drain that was acknowledged began: what was put
	// in later may be left. Without drains the user says that all came out.
	emptied int64
	last    map[int64]int64 // when each process last began to dequeue
}

// dequeue is one element that came out.
type dequeue struct {
	by      Operation
	element exchange.Atom
}

// newQueue judges an :enqueue of an element, a :dequeue answered with one, and a :drain
// answered with a list, or with a word such as :exhausted, if what it took out is told by
// dequeues of the same process within it. What a dequeue is invoked with means nothing.
func newQueue(name, _ string) *judge {
	q := &queue{elements: newElements(putWords()), name: name, last: map[int64]int64{}}
	return &judge{[]function{
		{word: "enqueue", take: putting(q.add)}, {word: "dequeue", take: q.dequeue}, {word: "drain", take: asking(q.drain)},
	}, q.result}
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

// total reports whether nothing may be left.
func (q *queue) total() bool { return q.name == "total-queue" || q.name == "" && q.drains > 0 }

func (q *queue) result(context.Context) check.Result {
	name := "queue"
	if q.total() {
		name = "total-queue"
	}
	f := newFindings(append(append([]string{kindLost}, q.words.kinds()...), kindDuplicate)...)
	out := make([][]int32, len(q.of)) // which dequeues gave each element
	var recovered int64
	for i := range q.dequeues {
		d := &q.dequeues[i]
		if !q.seen(d.element, &d.by, "took out", f) {
			continue
		}
		n, _ := q.index.of(d.element)
		if q.of[n].certain == 0 {
			recovered++
		}
		out[n] = append(out[n], int32(i))
	}
	q.duplicates(out, f)
	missing := q.lost(out, f)
	detail := fmt.Sprintf("%s, %s, of which %s of an enqueue of unknown outcome", q.describe("enqueue"),
		plural(len(q.dequeues), "dequeued element"), check.CountOrNone(recovered))
	return f.result(name, detail, missing, len(q.dequeues) == 0, "nothing came out, so nothing can be said")
}

// duplicates adds the elements that came out more often than they were put in.
func (q *queue) duplicates(out [][]int32, f *findings) {
	times := func(n int) string {
		if n == 1 {
			return "once"
		}
		return check.Count(n) + " times"
	}
	for n := range out {
		most := int(q.of[n].possible)
		if len(out[n]) <= most {
			continue
		}
		slices.SortFunc(out[n], func(a, b int32) int { return byInvoke(&q.dequeues[a].by, &q.dequeues[b].by) })
		first, last := &q.dequeues[out[n][0]].by, &q.dequeues[out[n][len(out[n])-1]].by
		f.add(kindDuplicate, last, "took out %s, which had been put in %s and came out %s; the first to take it out was %s",
			q.element(q.names[n]), times(most), times(len(out[n])), first)
	}
}

// lost adds what a total queue does not give back: the elements that were acknowledged,
// before it was emptied, more often than they came out. It returns why that cannot
// be told, if so: what is missing may have been taken by an operation of unknown outcome.
func (q *queue) lost(out [][]int32, f *findings) string {
	in := make([]int, len(out))
	for i := range q.all {
		if by := &q.all[i]; by.Acknowledged() && (q.drains == 0 || by.Complete < q.emptied) {
			in[q.which[i]]++
		}
	}
	var left []int32
	for n := range out {
		for range in[n] - len(out[n]) {
			left = append(left, int32(n))
		}
	}
	if !q.total() || len(left) == 0 {
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
	for _, n := range left[:len(left)-int(q.taken)] {
		f.add(kindLost, &q.all[q.of[n].acknowledged], "put %s in, which was acknowledged, but it never came out%s", q.element(q.names[n]), note)
	}
	return ""
}
