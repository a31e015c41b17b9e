package recorded

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"assay/check"
	"assay/history/exchange"
)

const (
	kindTwoHolders = "two-holders"
	kindFree       = "release-of-free"
	kindFence      = "fence-not-increasing"
)

// lock judges clients that acquire and release one lock, for linearizability. The models are
// those of Knossos (knossos.model/mutex: any process may release it) and of Jepsen's tests of
// Hazelcast (owner, reentrant and fenced mutexes). Each is decided exactly, but for the exception of
// ownerships.
type lock struct {
	name string
	// Only its owner may release an owned lock. The owner of a reentrant lock may acquire it
	// again, and releases it as often. Each acquire of a fenced lock is answered with a token,
	// greater than the tokens of all owners before.
	reentrant, fenced bool
	ops               []lockOp // without those that failed
	acquires, failed  int64
}

type lockOp struct {
	by      Operation
	release bool
	done    bool // it is in the order already
	fence   int64
	fenced  bool
	// again means that its process may hold the lock already, which is reentrant.
	again bool
}

// repeats reports whether an acquire may be one more of the owner that got its token before.
func (o *lockOp) repeats(before *lockOp) bool {
	return o.again && o.by.Process == before.by.Process && o.fence == before.fence
}

// newLock judges :acquire and :release, which are invoked with nil.
func newLock(name, _ string) *judge {
	l := &lock{name: cmp.Or(name, "mutex"), reentrant: strings.HasPrefix(name, "reentrant"), fenced: strings.Contains(name, "fenced")}
	return &judge{functions: []function{{word: "acquire", take: asking(l.add)}, {word: "release", take: asking(l.add)}}, result: l.result}
}

func (l *lock) add(o *exchange.Operation, by Operation) (err error) {
	op := lockOp{by: by, release: o.Word == "release"}
	if o.Unnamed && l.name != "mutex" {
		return errors.New("an operation without a process, and only its owner may release the lock; name the process of each operation, or judge with --test mutex")
	}
	if !by.Possible() {
		l.failed++
		return nil
	}
	if !op.release && by.Acknowledged() {
		if l.fenced {
			token := &o.Answer
			if f := token.Field("fence"); f != nil {
				token = f
			}
			op.fenced = true
			op.fence, err = number(token, "a fencing token, which is a whole number, or a map with one as :fence")
		}
		l.acquires++
	}
	l.ops = append(l.ops, op)
	return err
}

func (l *lock) result(context.Context) check.Result {
	f := newFindings(kindTwoHolders, kindFree, kindFence)
	if l.name == "mutex" {
		l.takeTurns(f)
	} else {
		l.ownerships(f)
	}
	detail := fmt.Sprintf("%s (%s failed), %s acknowledged", plural(int64(len(l.ops))+l.failed, "operation"), check.CountOrNone(l.failed), plural(l.acquires, "acquire"))
	return f.result(l.name, detail, "", l.acquires == 0, "the lock was never acquired, so nothing was put to the test")
}

// takeTurns judges a lock whose acquires and releases must alternate.
//
// It moves through time and places each operation in the order as late as it can, at its
// completion. If the lock is in the wrong state then, an operation of the other kind in flight
// goes before it: the one that must complete first. Any order that explains the history can be
// transformed into this one. Operations placed earlier than needed are pairs of an acquire and a
// release, which can go later. Of two releases, the one with more time can take the other's
// place.
func (l *lock) takeTurns(f *findings) {
	var pending [2][]*lockOp // acquires and releases, the one that completes first at the end
	side := map[bool]int{true: 1}
	var holder *lockOp
	for _, m := range moments(len(l.ops), func(i int) (int64, int64) { return l.ops[i].by.Invoke, l.ops[i].by.Complete }) {
		x := &l.ops[m.op]
		if !m.ended {
			of := &pending[side[x.release]]
			*of = withoutDone(*of)
			at, _ := slices.BinarySearchFunc(*of, x, func(a, b *lockOp) int { return cmp.Or(byComplete(&b.by, &a.by), -1) })
			*of = slices.Insert(*of, at, x)
			continue
		}
		if x.done {
			continue
		}
		x.done = true
		if x.release != (holder != nil) {
			of := &pending[side[!x.release]]
			*of = withoutDone(*of)
			switch last := len(*of) - 1; {
			case last >= 0:
				(*of)[last].done = true
			case x.release:
				f.add(kindFree, &x.by, "released the lock, which nobody held: every acquire that was begun by then had been released before")
			default:
				f.add(kindTwoHolders, &x.by, "acquired the lock, which %s held: no release that can have ended that was begun by then", &holder.by)
			}
		}
		holder = nil
		if !x.release {
			holder = x
		}
	}
}

func withoutDone(pending []*lockOp) []*lockOp {
	for len(pending) > 0 && pending[len(pending)-1].done {
		pending = pending[:len(pending)-1]
	}
	return pending
}
