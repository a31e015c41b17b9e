package mem

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"time"

	"assay/history"
	"assay/workload"
	"assay/workload/isolation"
)

// Multiversion is one database of workload isolation's. It is safe for
// concurrent use. All Stores that Isolation returns share it.
type Multiversion struct {
	*site
	data versions
	// epoch counts the failovers. What was begun before one cannot commit.
	epoch  int
	active []*transaction
	opened int // sessions

	// What bugs leave for later.

	late     []lateTransaction
	failover *failover
	// ghosts are changes of transactions that failed, each for the next who
	// reads the thing.
	ghosts map[thing]aborted
	// forked are the lists whose two sides are not the same.
	forked map[thing]bool
}

// aborted is a change that never was, and the bug that brings it.
type aborted struct {
	change
	bug *armed
}

// lateTransaction will be done at the call numbered due.
type lateTransaction struct {
	ops  []isolation.Op
	side int
	due  uint64
}

// failover loses all commits from one on, at the call numbered due.
type failover struct {
	from int64
	due  uint64
}

// NewIsolation returns an empty database of workload isolation's. It returns
// *workload.OptionError for a bug that does not exist or a value out of range.
func NewIsolation(o Options) (*Multiversion, error) {
	s, err := newSite(o, IsolationBugs())
	if err != nil {
		return nil, err
	}
	d := &Multiversion{site: s}
	d.reset()
	return d, nil
}

// Isolation returns a Store on this database.
func (d *Multiversion) Isolation() isolation.Store { return &versionStore{newShell(d.site, d), d} }

// reset empties the schema. The caller holds the lock, as for all methods
// below.
func (d *Multiversion) reset() {
	d.data = newVersions()
	d.epoch++
	d.calls, d.late, d.failover = 0, nil, nil
	d.ghosts, d.forked = map[thing]aborted{}, map[thing]bool{}
	d.forgetStrikes()
}

func (d *Multiversion) count() int64 { return int64(len(d.data.things)) }

func (d *Multiversion) settle() { d.pass(d.calls + maxLate) }

// begin starts a transaction, and strikes it with a bug if there is one due
// and an occasion for it.
func (d *Multiversion) begin(n *versionSession, ops []isolation.Op) *transaction {
	d.calls++
	if n.answered != nil {
		*n.answered, n.answered = d.calls, nil
	}
	d.pass(d.calls)
	x := d.open(n, ops)
	d.active = append(d.active, x)
	for i := range d.armed {
		bug := &d.armed[i]
		if bug.strike == nil {
			continue
		}
		if struck := *x; bug.strike(&struck) && d.hits(bug.probability) {
			*x, x.bug = struck, bug
			break
		}
	}
	d.data.readers[x.snapshot]++
	return x
}

func (d *Multiversion) open(n *versionSession, ops []isolation.Op) *transaction {
	return &transaction{d: d, session: n, ops: ops, snapshot: d.data.clock, epoch: d.epoch}
}

// leave forgets a transaction that has ended.
func (d *Multiversion) leave(x *transaction) {
	d.active = slices.DeleteFunc(d.active, func(a *transaction) bool { return a == x })
	if d.data.readers[x.snapshot]--; d.data.readers[x.snapshot] <= 0 {
		delete(d.data.readers, x.snapshot)
	}
}

// finish ends a transaction whose operations are all done. A bug has struck at
// it only if it did something: what is refused has read and written nothing.
func (d *Multiversion) finish(x *transaction) isolation.Reply {
	defer d.leave(x)
	written := d.data.clock
	reply := d.answer(x)
	if x.session.finished = d.calls; reply.Outcome != history.Committed {
		x.session.answered = nil
	}
	if x.bug != nil && (reply.Outcome != history.Failed || d.data.clock > written) {
		x.bug.strikes++
	}
	return reply
}

func (d *Multiversion) answer(x *transaction) isolation.Reply {
	switch {
	case x.epoch != d.epoch:
		return conflict()
	case d.hits(d.timeout):
		if d.chance.Uint64()&1 == 0 && x.valid() {
			x.apply()
		}
		return isolation.Reply{Class: workload.ClassTimeout}
	case x.end != nil:
		return x.end(x)
	default:
		return x.commit()
	}
}

// pass brings about what earlier transactions left for later, up to the given
// call.
func (d *Multiversion) pass(call uint64) {
	if d.failover != nil && d.failover.due <= call {
		d.data.truncate(d.failover.from)
		d.failover = nil
		d.epoch++
	}
	kept := d.late[:0]
	for _, l := range d.late {
		if l.due > call {
			kept = append(kept, l)
			continue
		}
		x := d.open(&versionSession{d: d, side: l.side}, l.ops)
		for range l.ops {
			x.operate()
		}
		x.apply()
	}
	d.late = kept
}

// strange returns what a bug lets a transaction see of a thing beside what was
// committed: what another one has written so far, or what a failed one wrote.
func (x *transaction) strange(t thing) *change {
	if x.uncommitted != nil && x.uncommitted.thing == t {
		return x.uncommitted
	}
	ghost, there := x.d.ghosts[t]
	if !there {
		return nil
	}
	delete(x.d.ghosts, t)
	x.bug = ghost.bug
	return &ghost.change
}

// versionSession is one client's.
type versionSession struct {
	d *Multiversion
	// side is which of two copies it sees once they differ.
	side int
	// wrote is its last commit, seen the last whose state it knows.
	wrote, seen int64
	// answered is commit.answered of the commit whose client has not come back;
	// nil if there is none. finished is the number of the last call that had
	// begun when the session's last transaction ended.
	answered *uint64
	finished uint64
}

// Do implements isolation.Session. The latency comes in parts before each
// operation; a context that ends then ends the transaction without effect.
// Others are let in before the transaction and after each operation, so that
// transactions meet on any machine.
func (n *versionSession) Do(ctx context.Context, ops []isolation.Op) isolation.Reply {
	for i := range ops {
		if ops[i].Kind < isolation.Append || ops[i].Kind > isolation.Withdraw {
			return isolation.Reply{Outcome: history.Failed, Class: workload.ClassOther, Err: fmt.Errorf("mem: no operation has the kind %d", ops[i].Kind)}
		}
	}
	runtime.Gosched()
	if err := n.d.guard(true); err != nil {
		return isolation.Reply{Outcome: history.Failed, Class: workload.ClassOther, Err: err, Broken: true}
	}
	x := n.d.begin(n, ops)
	n.d.mu.Unlock()
	for range ops {
		if err := rest(ctx, n.d.latency/time.Duration(len(ops))); err != nil {
			n.d.mu.Lock()
			defer n.d.mu.Unlock()
			n.d.leave(x)
			return isolation.Reply{Outcome: history.Failed, Class: workload.ClassTimeout, Err: fmt.Errorf("mem: transaction: %w", err)}
		}
		n.d.mu.Lock()
		x.operate()
		n.d.mu.Unlock()
		runtime.Gosched()
	}
	n.d.mu.Lock()
	defer n.d.mu.Unlock()
	return n.d.finish(x)
}

// Close implements isolation.Session.
func (n *versionSession) Close() {}
