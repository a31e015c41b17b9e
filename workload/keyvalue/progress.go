package keyvalue

import (
	"fmt"

	"assay/history"
)

// Progress is how far one client came, by the history.
type Progress struct {
	// Count is how many operations began, attempts how often the last of them was
	// tried; open is whether it goes on.
	Count    uint64
	attempts int
	open     bool
	// Reserved is the first number that none can have.
	Reserved uint64
}

// Enter enters an attempt. Those of one client come in their order.
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

// Unrecorded reports whether an attempt may have been made of which the history has no
// record: it was cut, unless it is whole, or the attempt never came back. repeats is whether
// the attempts of an operation differ; those that do not are number 0.
func (p *Progress) Unrecorded(seq uint64, attempt int, whole, repeats bool) bool {
	if seq < p.Count {
		return seq == p.Count-1 && p.open && attempt > p.attempts && (!whole || attempt == p.attempts+1)
	}
	next := seq == p.Count && !p.open && attempt <= 1
	return seq < p.Reserved && (next || !whole && (attempt <= 1 || repeats))
}

// Missing is how many operations may have begun that the history does not have.
func (p *Progress) Missing(whole bool) int64 {
	missing := p.Reserved - min(p.Count, p.Reserved)
	if whole {
		missing = min(missing, 1)
	}
	return int64(missing)
}
