// Package locks judges histories of locks that other tools recorded: clients
// that acquire and release one lock. A history is right if its operations can be
// put in an order that keeps real time and that the model of the lock allows
// (linearizability). The models are those of Knossos (knossos.model, mutex:
// https://github.com/jepsen-io/knossos) and of Jepsen's tests of Hazelcast (owner,
// reentrant and fenced mutexes).
//
// Each is decided exactly in time n log n, without a search: an operation of
// unknown outcome may have taken effect or not, whichever explains the rest.
package locks

import (
	"cmp"
	"container/heap"
	"context"
	"fmt"
	"slices"

	"assay/check"
	"assay/check/operation"
	"assay/history/exchange"
)

// The kinds of evidence.
const (
	kindTwoHolders = "two-holders"
	kindFree       = "release-of-free"
	kindFence      = "fence-not-increasing"
)

// lockOp is one operation of a lock.
type lockOp struct {
	by      operation.Operation
	release bool
	done    bool // it is in the order already
	fence   int64
	fenced  bool
}

// recorded are the operations of a lock, without those that failed.
type recorded struct {
	ops              []lockOp
	acquires, failed int64
}

// add takes one operation, an :acquire or a :release, which are invoked with nil.
func (r *recorded) add(o *exchange.Operation, fences bool) error {
	if o.Word != "acquire" && o.Word != "release" {
		return operation.UnknownFunction(o, "acquire and release")
	}
	if err := operation.Nothing(o); err != nil {
		return err
	}
	op := lockOp{by: operation.Of(o), release: o.Word == "release"}
	if !op.by.Possible() {
		r.failed++
		return nil
	}
	if fences && !op.release && op.by.Acknowledged() {
		token := &o.Answer
		if f := token.Field("fence"); f != nil {
			token = f
		}
		if token.Form != exchange.Scalar || token.Atom.Kind != exchange.Number {
			return operation.Unfit(o, "a fencing token, which is a whole number, or a map with one as :fence")
		}
		op.fence, op.fenced = token.Atom.Int, true
	}
	if !op.release && op.by.Acknowledged() {
		r.acquires++
	}
	r.ops = append(r.ops, op)
	return nil
}

func (r *recorded) result(name string, f *operation.Findings) check.Result {
	result := f.Result(name, fmt.Sprintf("%s (%s failed), %s acknowledged",
		operation.Plural(int64(len(r.ops))+r.failed, "operation"), check.CountOrNone(r.failed), operation.Plural(r.acquires, "acquire")))
	result.Finish("", r.acquires == 0, "the lock was never acquired, so nothing was put to the test")
	return result
}

// Mutex judges a lock that anybody may release: acquires and releases take turns
// (knossos.model/mutex).
type Mutex struct{ recorded recorded }

// NewMutex returns a judge.
func NewMutex() *Mutex { return &Mutex{} }

// Add takes one operation. One that a lock does not have is an error.
func (m *Mutex) Add(o *exchange.Operation) error { return m.recorded.add(o, false) }

// Result returns the answer over all operations.
//
// It goes through time and puts an operation in the order as late as it can, when
// it completes. If the lock is not in the state for it, one of the other kind goes
// before it that was begun by then: that which has to complete first. Any
// order that explains the history can be brought into this one: what was put
// in earlier than needed are pairs of an acquire and a release, which can go in
// later; and of two releases, the one that has more time can take the other's place.
func (m *Mutex) Result(context.Context) check.Result {
	f := operation.NewFindings(kindTwoHolders, kindFree)
	ops := m.recorded.ops
	begun := make([]int, len(ops))
	var completed []int
	for i := range ops {
		begun[i] = i
		if ops[i].by.Acknowledged() {
			completed = append(completed, i)
		}
	}
	slices.SortFunc(begun, func(a, b int) int { return cmp.Compare(ops[a].by.Invoke, ops[b].by.Invoke) })
	slices.SortFunc(completed, func(a, b int) int { return cmp.Compare(ops[a].by.Complete, ops[b].by.Complete) })
	var pending [2]byDeadline // acquires, releases
	holder, next := (*lockOp)(nil), 0
	for _, i := range completed {
		x := &ops[i]
		for ; next < len(begun) && ops[begun[next]].by.Invoke < x.by.Complete; next++ {
			of := &pending[side(ops[begun[next]].release)]
			heap.Push(of, &ops[begun[next]])
		}
		if x.done {
			continue
		}
		x.done = true
		if x.release != (holder != nil) {
			partner := pending[side(!x.release)].first()
			switch {
			case partner == nil && x.release:
				f.Add(kindFree, &x.by, "released the lock, which nobody held: every acquire that was begun by then had been released before")
			case partner == nil:
				f.Add(kindTwoHolders, &x.by, "acquired the lock, which %s held: no release that can have ended that was begun by then", &holder.by)
			}
		}
		holder = nil
		if !x.release {
			holder = x
		}
	}
	return m.recorded.result("mutex", f)
}

func side(release bool) int {
	if release {
		return 1
	}
	return 0
}

// byDeadline is a heap of operations, the one that completes first on top.
type byDeadline []*lockOp

func (h byDeadline) Len() int           { return len(h) }
func (h byDeadline) Less(i, j int) bool { return h[i].by.Complete < h[j].by.Complete }
func (h byDeadline) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }

// Push adds an operation.
func (h *byDeadline) Push(x any) { *h = append(*h, x.(*lockOp)) }

// Pop removes the last one.
func (h *byDeadline) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}

// first takes the operation that completes first of those that are not in the
// order yet, nil if there is none.
func (h *byDeadline) first() *lockOp {
	for h.Len() > 0 {
		if op := heap.Pop(h).(*lockOp); !op.done {
			op.done = true
			return op
		}
	}
	return nil
}
