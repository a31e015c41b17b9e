package cycle

// rule is how a model orders transactions by the versions that they read and wrote, beyond the
// cycles that classify names. A rule requires that a graph has no cycles of certain kinds for some
// order of the versions of each key. definitions has the sources.
type rule uint8

const (
	// decided: classify finds everything.
	decided rule = iota
	// serial: no cycle of ww, wr and rw.
	serial
	// snapshot: the starts and later commits of all transactions are in one order. A commit
	// precedes the starts of the transactions that see or overwrite it. A start precedes the
	// commits that its transaction missed.
	snapshot
	// prefix is snapshot, but a transaction need not see what it overwrites.
	prefix
	// singleItem: no cycle with at most one rw.
	singleItem
	// updates: no cycle in which at most one transaction only reads.
	updates
	// monotonicView: no cycle with one rw, from a read to a transaction that was seen before that
	// read, or on which one seen before depends.
	monotonicView
	// statements: each read sees the data committed at some moment. The moment is not before that
	// of the previous read, nor after its transaction's commit.
	statements
	// allStatements: so does each write, and the overwritten version was committed by then.
	allStatements
	// cursor: no version lies between the version of a key that a transaction read and its write.
	cursor
	// updateAtomic: a transaction that sees or overwrites a part of another sees all of it.
	updateAtomic
	// atomic: a transaction that sees a part of another sees all of it.
	atomic
	// monotonicAtomic: a transaction that has seen a part of another sees all of it from then on.
	monotonicAtomic
	// causal: a transaction that sees another sees everything that led to it.
	causal
)

type judgement struct {
	rule rule
	// extra is process or realtime if that order counts.
	extra edgeKind
	// anomaly is reported if no order of the versions satisfies rule.
	anomaly anomaly
	basis   string
}

func judgementOf(m Model) judgement {
	for _, d := range definitions() {
		if d.model == m {
			return d.judgement
		}
	}
	return judgement{}
}

// Basis says what the verdict on a model rests on: whether it is exact, and by which definition.
func Basis(m Model) string { return judgementOf(m).basis }

// options returns what a model promises about the order of one key's versions.
func (j judgement) options() Options {
	return Options{
		SequentialKeys:   j.extra == process || j.extra == realtime,
		LinearizableKeys: j.extra == realtime,
	}
}
