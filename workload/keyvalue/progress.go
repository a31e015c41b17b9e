package keyvalue

import (
	"fmt"

	"assay/history"
)

// Progress is how far the history shows one client.
type Progress struct {
	// attempts are the last operation's; open is true if it goes on.
	Count    uint64
	attempts int
	open     bool
	// Reserved is the first number that the client cannot have used.
	Reserved uint64
}

// Enter enters an attempt. A client's attempts come in order.
func (p *Progress) Enter(op *history.Op) error {
	if !p.open {
		p.Count, p.attempts = p.Count+1, 0
	}
	if op.Seq != p.Count-1 || op.Attempt != p.attempts+1 {
		return fmt.Errorf("operation %d, attempt %d of client %d is out of order", op.Seq, op.Attempt, op.Client)
	}
	p.attempts, p.open = op.Attempt, !op.Last
	return nil
}

// Unrecorded reports whether an attempt may have been made without a record: the history was cut
// (not whole), or the attempt never returned. repeats is true if the attempts of an operation
// differ; otherwise they have number 0.
func (p *Progress) Unrecorded(seq uint64, attempt int, whole, repeats bool) bool {
	if seq < p.Count {
		return seq == p.Count-1 && p.open && attempt > p.attempts && (!whole || attempt == p.attempts+1)
	}
	next := seq == p.Count && !p.open && attempt <= 1
	return seq < p.Reserved && (next || !whole && (attempt <= 1 || repeats))
}

// Missing is the number of operations that may have begun without a record.
func (p *Progress) Missing(whole bool) int64 {
	missing := p.Reserved - min(p.Count, p.Reserved)
	if whole {
		missing = min(missing, 1)
	}
	return int64(missing)
}
