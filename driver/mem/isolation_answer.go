package mem

import (
	"assay/history"
	"assay/workload"
	"assay/workload/isolation"
)

// Bugs in what is answered to transactions of workload isolation, and in what
// is read.

// maxLoss bounds how many calls after its commit a transaction is lost.
const maxLoss = 8

func strikeLostAck(x *transaction) bool {
	if !x.anyWrite() {
		return false
	}
	x.end = func(x *transaction) isolation.Reply {
		reply := x.commit()
		if reply.Outcome == history.Committed && x.d.failover == nil {
			x.d.failover = &failover{from: x.d.data.clock, due: x.d.calls + 1 + x.d.chance.Uint64N(maxLoss)}
		}
		return reply
	}
	return true
}

func strikeNeverApplied(x *transaction) bool {
	if !x.anyWrite() {
		return false
	}
	x.end = func(x *transaction) isolation.Reply {
		if !x.valid() {
			return conflict()
		}
		return isolation.Reply{Outcome: history.Committed}
	}
	return true
}

func strikeFailedButApplied(x *transaction) bool {
	if !x.anyWrite() {
		return false
	}
	x.end = func(x *transaction) isolation.Reply {
		x.commit()
		return conflict()
	}
	return true
}

func strikeLate(x *transaction) bool {
	x.end = func(x *transaction) isolation.Reply {
		ops := make([]isolation.Op, len(x.ops))
		for i, o := range x.ops {
			ops[i] = isolation.Op{Kind: o.Kind, Key: o.Key, Value: o.Value}
		}
		x.d.late = append(x.d.late, lateTransaction{ops, x.session.side, x.d.calls + 1 + x.d.chance.Uint64N(maxLate)})
		return isolation.Reply{Class: workload.ClassTimeout}
	}
	return true
}

// strikeExtra appends an element of a client that no run has.
func strikeExtra(x *transaction) bool {
	if !x.does(isolation.Append, isolation.AppendByRewrite) {
		return false
	}
	x.end = func(x *transaction) isolation.Reply {
		for i := range x.writes {
			if c := &x.writes[i]; c.space == spaceList {
				c.appended = append(c.appended, isolation.TransactionID(isolation.MaxClient, x.d.calls, 1))
				break
			}
		}
		return x.commit()
	}
	return true
}

func strikeShort(x *transaction) bool {
	x.short = x.does(isolation.ReadList)
	return x.short
}

// cutRead leaves out at least the last of the lists or of the registers.
func cutRead(d *Multiversion, lists, registers []int64) ([]int64, []int64) {
	if len(lists) > 0 {
		return lists[:d.chance.IntN(len(lists))], registers
	}
	return lists, registers[:d.chance.IntN(max(len(registers), 1))]
}
