package bugs

import (
	"context"
	"iter"
	"slices"

	"assay/history"
	"assay/workload/isolation"
)

// Bugs in what transactions of workload isolation do to the data, and in what is
// answered to them.

// willWrite says that one of the transaction's operations writes an object.
func (x *transaction) willWrite(o object) bool { return writesOne(x.ops, o) }

func writesOne(ops []isolation.Op, o object) bool { return slices.Contains(allWritten(ops), o) }

// itemReads gives the numbers of the operations that read a list or a register, and which.
func (x *transaction) itemReads() iter.Seq2[int, object] {
	return func(yield func(int, object) bool) {
		for i := range x.ops {
			if k := x.ops[i].Kind; (k == isolation.ReadList || k == isolation.ReadValue) && !yield(i, read(&x.ops[i])[0]) {
				return
			}
		}
	}
}

// does says that one of the operations is of one of these kinds.
func (x *transaction) does(kinds ...isolation.Kind) bool {
	return slices.ContainsFunc(x.ops, func(o isolation.Op) bool { return slices.Contains(kinds, o.Kind) })
}

// readBack says that the transaction writes what is read back at the end.
func (x *transaction) readBack() bool {
	return x.does(isolation.Append, isolation.AppendByRewrite, isolation.Write)
}

// knows says that the transaction comes after a commit for everybody: its client
// made that commit, or had not yet asked for this transaction when the answer to
// that commit had arrived.
func (x *transaction) knows(c *commit) bool {
	return c.at == x.session.wrote && !c.silent() || *c.answered > 0 && *c.answered <= x.session.finished
}

// readsFirst returns the registers that the transaction reads before it writes
// them.
func (x *transaction) readsFirst() (registers []object) {
	for i, o := range x.itemReads() {
		if o.space == spaceRegister && !writesOne(x.ops[:i], o) {
			registers = append(registers, o)
		}
	}
	return registers
}

// showRegister has everybody, this transaction first, read another value of a
// register until it is written again.
func (x *transaction) showRegister(o object, v value) {
	x.committed = func(x *transaction) {
		x.s.shown.put(o.key, v)
		x.s.differences++
	}
}

// pure returns the lists and registers that the transaction reads and does not
// write.
func (x *transaction) pure() []object {
	var pure []object
	for _, o := range x.itemReads() {
		if !x.willWrite(o) && !slices.Contains(pure, o) {
			pure = append(pure, o)
		}
	}
	return pure
}

// applyWritesTwice sends the appends of a transaction again. A register that the
// transaction reads is written again by the write before the last, if the last one
// is known to come after that one and before this transaction.
func applyWritesTwice(x *transaction) bool {
	if x.does(isolation.Append, isolation.AppendByRewrite) {
		x.end = appendTwice
		return true
	}
	for _, o := range x.readsFirst() {
		if _, already := x.s.shown.registers[copyOf{o.key, x.session.side}]; already {
			continue
		}
		if c, w := x.s.log.last(o); w != nil && w.before.found && c.read(o) && x.knows(c) {
			x.old = append(x.old, reading{o, c.at - 1})
			x.showRegister(o, w.before)
			return true
		}
	}
	return false
}

func appendTwice(ctx context.Context, x *transaction) isolation.Reply {
	x.record()
	var again []isolation.Op
	for _, w := range x.writes {
		for _, e := range w.elements {
			again = append(again, isolation.Op{Kind: isolation.Append, Key: w.key, Value: e})
		}
	}
	ctx, cancel := own(ctx)
	defer cancel()
	if x.session.Session.Do(ctx, again).Outcome != history.Committed {
		x.bug = nil
	}
	return committed()
}

// loseUpdate looks for something that the transaction reads and then writes, and
// that the last transaction to write it had read as well. It then reads what that
// one read, and of a list what that one appended is shown no more.
func loseUpdate(x *transaction) bool {
	for i, o := range x.itemReads() {
		if writesOne(x.ops[:i], o) || !writesOne(x.ops[i:], o) {
			continue
		}
		c, w := x.s.log.last(o)
		if w == nil || !c.read(o) {
			continue
		}
		elements := w.elements
		x.old = append(x.old, reading{o, c.at - 1})
		x.committed = func(x *transaction) {
			x.s.shown.hide(elements, everybody)
			x.s.differences += len(elements)
		}
		return true
	}
	return false
}

// splitBrain shows the appends and the writes to one side only.
func splitBrain(x *transaction) bool {
	x.end = func(_ context.Context, x *transaction) isolation.Reply {
		x.record()
		shown, other := &x.s.shown, 1-x.session.side
		for _, o := range x.ops {
			switch o.Kind {
			case isolation.Append:
				shown.hide([]int64{o.Value}, 1<<other)
				x.s.differences++
			case isolation.Write:
				shown.registers[copyOf{o.Key, other}] = x.mine(object{spaceRegister, o.Key}).before
				x.s.differences++
			}
		}
		return committed()
	}
	return x.does(isolation.Append, isolation.Write)
}

// abortTransaction makes the transaction fail and leaves the first object that it
// would write as a ghost.
func abortTransaction(x *transaction) bool {
	x.instead = leaveGhost
	return x.readBack()
}

func leaveGhost(x *transaction) isolation.Reply {
	var g write
	for i := range x.ops {
		o, writes := written(&x.ops[i])
		if !writes || o.space != spaceList && o.space != spaceRegister || g.times > 0 && o != g.object {
			continue
		}
		g.object, g.after = o, value{number: x.ops[i].Value, found: true}
		g.elements = append(g.elements, x.ops[i].Value)
		g.times++
	}
	if len(x.s.ghosts) < maxGhosts {
		x.s.ghosts[g.object] = ghost{g, x.bug}
	}
	return failed()
}

// readMiddle looks for what the transaction reads and the last commit wrote more
// than once, and shows it as it was in the middle.
func readMiddle(x *transaction) bool {
	for _, o := range x.pure() {
		for w := range x.s.log.since(x.s.log.latest(o)-1, o) {
			if o.space == spaceList && len(w.elements) > 1 || o.space == spaceRegister && w.times > 1 && w.first != w.after {
				x.middle = &o
				return true
			}
			break
		}
	}
	return false
}

// forgetOwn looks for a read of what was written before.
func forgetOwn(x *transaction) bool {
	for i, o := range x.itemReads() {
		if writesOne(x.ops[:i], o) {
			x.forgetful = true
			return true
		}
	}
	return false
}

// loseSoon loses the transaction, with all that are committed until then, at a call
// to come.
func loseSoon(x *transaction) bool {
	x.end = loseFrom
	return x.readBack()
}

func loseFrom(_ context.Context, x *transaction) isolation.Reply {
	x.record()
	if s, from := x.s, x.s.log.clock; !s.failover {
		s.failover = true
		s.postpone(maxLoss, func(context.Context) {
			for c := range s.log.back() {
				if c.at < from {
					break
				}
				s.undo(c.writes)
			}
			s.log.truncate(from)
			s.failover = false
		})
	}
	return committed()
}

func loseWrites(x *transaction) bool {
	x.end = func(_ context.Context, x *transaction) isolation.Reply {
		x.s.undo(x.writes)
		return committed()
	}
	return x.readBack()
}

func denyCommit(x *transaction) bool {
	x.end = func(_ context.Context, x *transaction) isolation.Reply {
		x.record()
		return failed()
	}
	return x.readBack()
}

func commitLater(x *transaction) bool {
	x.instead = postponed
	return true
}

func postponed(x *transaction) isolation.Reply {
	s, ops := x.s, asked(x.ops)
	s.postpone(maxLate, func(ctx context.Context) {
		through(ctx, s.inner.Session, func(session isolation.Session) {
			s.transaction(&isolationSession{Session: session, s: s}, ops).do(ctx)
		})
	})
	return unknown()
}

// asked returns operations without what was answered.
func asked(ops []isolation.Op) (plain []isolation.Op) {
	for _, o := range ops {
		plain = append(plain, isolation.Op{Kind: o.Kind, Key: o.Key, Value: o.Value})
	}
	return plain
}

// addWrite appends an element of a client that no run has beside, or has such a
// value in a register that is read.
func addWrite(x *transaction) bool {
	added := isolation.TransactionID(isolation.MaxClient, x.s.calls, 1)
	for _, o := range x.ops {
		if o.Kind == isolation.Append || o.Kind == isolation.AppendByRewrite {
			x.beside = []isolation.Op{{Kind: isolation.Append, Key: o.Key, Value: added}}
			return true
		}
	}
	for _, o := range x.readsFirst() {
		x.showRegister(o, value{number: added, found: true})
		return true
	}
	return false
}

func cutRead(x *transaction) bool {
	x.short = x.does(isolation.ReadList, isolation.ReadValue)
	return x.short
}

const (
	checkIsolation  = "isolation"
	checkDurability = "durability"
	checkPredicate  = "predicate"
	checkPairs      = "pairs"
)

// isolationBugs are all bugs of workload isolation, in the order of bankBugs.
func isolationBugs() []bugOf[isolationActions] {
	items := []string{"append", "register"}
	blind := []string{"register", "all"} // where a write can be overwritten before anybody reads it
	bug := func(b Bug, tests []string, begin func(*transaction) bool) bugOf[isolationActions] {
		b.Tests = tests
		return bugOf[isolationActions]{b, isolationActions{begin: begin, truncates: b.Name == "truncated-read", lingers: slices.Contains([]string{"stale-read", "duplicate-apply", "truncated-read"}, b.Name)}}
	}
	return []bugOf[isolationActions]{
		bug(Bug{Name: "duplicate-apply", Check: checkIsolation, Kinds: []string{"duplicate-elements", "lost-update", "G-single-item-realtime", "G-single-item-process"},
			Doc: "the appends of a transaction are applied twice; a register is written again by the write before the last"}, items, applyWritesTwice),
		bug(Bug{Name: "lost-update", Check: checkIsolation, Kinds: []string{"lost-update"},
			Doc: "a list or register that a transaction reads and writes is read as it was before the last transaction that did the same, whose update is overwritten"},
			items, loseUpdate),
		bug(Bug{Name: "lost-ack", Check: checkDurability, Or: checkIsolation, PassingIn: blind,
			Kinds: []string{"lost-append", "lost-write", "lost-update", "G-single-item-realtime"},
			Doc:   "a committed transaction is there for up to eight more calls, and then lost with all that were committed since"}, items, loseSoon),
		bug(Bug{Name: "reported-never-applied", Check: checkDurability, Or: checkIsolation, PassingIn: blind,
			Kinds: []string{"lost-append", "lost-write", "lost-update", "G-single-item-realtime"},
			Doc:   "committed is answered and nothing stays"}, items, loseWrites),
		bug(Bug{Name: "failed-but-applied", Check: checkIsolation, PassingIn: blind, Kinds: []string{"G1a"},
			Doc: "a transaction is applied and answered as failed"}, items, denyCommit),
		bug(late("transaction done"), []string{"append", "register", "predicate", "pairs"}, commitLater),
		bug(Bug{Name: "extra-row", Check: checkIsolation, Kinds: []string{"garbage-read"},
			Doc: "an element that nobody asked for is appended beside, or a value that nobody wrote is in a register"}, items, addWrite),
		bug(Bug{Name: "truncated-read", Check: checkIsolation, Or: checkDurability,
			Kinds: []string{"internal", "G-single-item", "G-single-item-realtime", "G-nonadjacent-item-realtime", "G2-item", "lost-update"},
			Doc:   "a read ends early and without an error: a transaction does not get the last element of a list, or does not find a register, or the tail of them is missing when the database is read back (found by durability)"},
			items, cutRead),
		bug(Bug{Name: "dirty-read", Check: checkIsolation, Kinds: []string{"G1b"},
			Doc: "what another transaction wrote more than once is read as it was in the middle of it"}, items, readMiddle),
		bug(Bug{Name: "aborted-read", Check: checkIsolation, Kinds: []string{"G1a"},
			Doc: "a transaction is made to fail, and the next one that reads what it wrote sees it all the same"}, items, abortTransaction),
		bug(Bug{Name: "read-skew", Check: checkIsolation, Kinds: []string{"G-single-item"},
			Doc: "of what one transaction wrote, another sees only a part"}, items, readSkewed),
		bug(Bug{Name: "write-skew", Check: checkIsolation, Or: checkPairs, Kinds: []string{"G2-item", "write-skew"}, PassingIn: []string{"pairs", "all"},
			Doc: "a transaction reads an older state, as under snapshot isolation, and writes what nobody has written since (found by pairs as well)"},
			[]string{"append", "register", "pairs"}, writeSkewed),
		bug(Bug{Name: "long-fork", Check: checkIsolation, Kinds: []string{"G-nonadjacent-item", "G-nonadjacent-item-realtime", "G2-item", "long-fork"},
			Doc: "two transactions are seen in one order by one reader and in the other by another"}, items, forkLong),
		bug(Bug{Name: "stale-read", Check: checkIsolation, Kinds: []string{"G-single-item-realtime", "G-nonadjacent-item-realtime"},
			Doc: "a transaction that only reads sees an older state, but none older than its session knows: serializable, not strictly so"},
			items, readStale),
		bug(Bug{Name: "session-rollback", Check: checkIsolation,
			Kinds: []string{"G-single-item-process", "G-nonadjacent-item-process"}, Model: "strong-session-serializable",
			Doc: "a transaction that only reads sees the state from before its own session's last commit (named a matter of real time where that is promised)"},
			items, rollBackSession),
		bug(Bug{Name: "split-brain", Check: checkIsolation, Or: checkDurability, Passing: true,
			Kinds: []string{"incompatible-order", "lost-update", "G-single-item", "G-single-item-realtime", "G2-item"},
			Doc:   "an append or a write reaches only one of two copies; every second session reads the other, and the first is read back; nobody may come to read what the other lacks"},
			items, splitBrain),
		bug(Bug{Name: "phantom", Check: checkPredicate, Kinds: []string{"phantom"},
			Doc: "a group that is counted twice is counted first as it was before its last change"}, []string{"predicate"}, countPhantom),
		bug(Bug{Name: "predicate-skew", Check: checkPredicate, Kinds: []string{"G2"},
			Doc: "a transaction counts groups as they were before the last one that counted and inserted into the same as it does, as under snapshot isolation"},
			[]string{"predicate"}, countSkewed),
		bug(Bug{Name: "internal", Check: checkIsolation, Kinds: []string{"internal"},
			Doc: "a transaction does not see what it wrote itself"}, items, forgetOwn),
	}
}
