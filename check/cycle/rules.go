package cycle

// rule is how a model orders transactions by the versions that they read and
// wrote, beyond the cycles that classify names. Each is a graph without certain
// cycles for some order of the versions of each key; the sources are at
// definitions.
type rule uint8

const (
	// decided: what classify finds is all that there is.
	decided rule = iota
	// serial: no cycle of ww, wr and rw.
	serial
	// snapshot: each transaction has a start and a later commit in one order;
	// commits come before the starts of those who see or overwrite them, and
	// starts before the commits of those whom they missed.
	snapshot
	// prefix is the same, but who overwrites another need not see it.
	prefix
	// singleItem: no cycle with at most one rw.
	singleItem
	// updates: no cycle in which at most one transaction only reads.
	updates
	// monotonicView: no cycle with one rw, from a read to what the transaction
	// had seen, or what it saw depends on, before that read.
	monotonicView
	// statements: each read has a moment at which it saw what was committed, not
	// before the moment of the read before it, nor after its transaction's commit.
	statements
	// allStatements: so has each write, and what it overwrites was committed by then.
	allStatements
	// cursor: between the version that a transaction read of a key and the one
	// that it wrote there is no other.
	cursor
	// updateAtomic: who sees or overwrites anything of a transaction sees all of
	// it.
	updateAtomic
	// atomic: who sees anything of a transaction sees all of it.
	atomic
	// monotonicAtomic: who has seen anything of a transaction sees all of it
	// from then on.
	monotonicAtomic
	// causal: who sees a transaction sees all that led to it.
	causal
)

// judgement is how a model is judged.
type judgement struct {
	rule rule
	// extra is process or realtime if that order counts.
	extra edgeKind
	// anomaly is what is reported if no order of the versions satisfies rule.
	anomaly anomaly
	// basis says in words what the verdict rests on.
	basis string
}

// judgementOf returns how a model is judged.
func judgementOf(m Model) judgement {
	for _, d := range definitions() {
		if d.model == m {
			return d.judgement
		}
	}
	return judgement{}
}

// Basis says in words what the verdict on a model rests on: whether it is
// exact, and by which definition.
func Basis(m Model) string { return judgementOf(m).basis }

// options returns what a model promises of the order of one key's versions.
func (j judgement) options() Options {
	return Options{
		SequentialKeys:   j.extra == process || j.extra == realtime,
		LinearizableKeys: j.extra == realtime,
	}
}
