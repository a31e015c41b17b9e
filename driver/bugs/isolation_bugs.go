package bugs

import (
	"context"
	"slices"

	"assay/history"
	"assay/workload/isolation"
)

// Bugs in what transactions of workload isolation do to the data, and in what is
// answered to them.

// willWrite says that one of the transaction's operations writes an object.
func (x *transaction) willWrite(o object) bool { return writesOne(x.ops, o) }

func writesOne(ops []isolation.Op, o object) bool {
	return slices.ContainsFunc(ops, func(op isolation.Op) bool {
		to, writes := written(&op)
		return writes && to == o
	})
}

// does says that one of the operations is of one of these kinds.
func (x *transaction) does(kinds ...isolation.Kind) bool {
	return slices.ContainsFunc(x.ops, func(o isolation.Op) bool { return slices.Contains(kinds, o.Kind) })
}

// remains says that the transaction writes what is read back at the end.
func (x *transaction) remains() bool {
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
	for i, op := range x.ops {
		if o := (object{spaceRegister, op.Key}); op.Kind == isolation.ReadValue && !writesOne(x.ops[:i], o) {
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

// anyWrite says that the transaction writes at all.
func (x *transaction) anyWrite() bool {
	return slices.ContainsFunc(x.ops, func(o isolation.Op) bool { _, writes := written(&o); return writes })
}

// pure returns the lists and registers that the transaction reads and does not
// write.
func (x *transaction) pure() []object {
	var pure []object
	for i := range x.ops {
		for _, o := range read(&x.ops[i]) {
			if (o.space == spaceList || o.space == spaceRegister) && !x.willWrite(o) && !slices.Contains(pure, o) {
				pure = append(pure, o)
			}
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
	for i := range x.ops {
		if x.ops[i].Kind != isolation.ReadList && x.ops[i].Kind != isolation.ReadValue {
			continue
		}
		o := read(&x.ops[i])[0]
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
	return x.remains()
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
	for i := range x.ops {
		if k := x.ops[i].Kind; k != isolation.ReadList && k != isolation.ReadValue {
			continue
		}
		if writesOne(x.ops[:i], read(&x.ops[i])[0]) {
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
	return x.remains()
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
	return x.remains()
}

func denyCommit(x *transaction) bool {
	x.end = func(_ context.Context, x *transaction) isolation.Reply {
		x.record()
		return failed()
	}
	return x.remains()
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
