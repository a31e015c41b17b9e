package cycle

// rule is how a model orders transactions by the versions that they read and
// wrote, beyond the cycles that classify names. Each is a graph without certain
// cycles for some order of the versions of each key; the sources are at
// judgementOf.
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

// judgementOf returns how a model is judged. The rules are, for read committed,
// PL-2L, PL-CS, PL-2+, PL-FCV, PL-2.99, PL-3U and PL-3, those of Adya's thesis
// over the direct serialization graph (sections 3.2, 4.1 to 4.4); for read
// atomic, causal, parallel snapshot isolation, prefix and snapshot isolation
// those of Cerone, Bernardi and Gotsman (CONCUR 2015), in the form of graphs
// that Cerone, Gotsman and Yang gave them ("Algebraic Laws for Weak
// Consistency", CONCUR 2017), which has update atomic too; monotonic atomic
// view is that of Bailis et al. (VLDB 2014), in the form that Biswas and Enea
// gave it (OOPSLA 2019, there without sessions).
func judgementOf(m Model) judgement {
	switch m {
	case MonotonicView:
		return judgement{monotonicView, 0, gMonotonic, "exact: no order of the versions is without G-monotonic (Adya 1999, PL-2L)"}
	case MonotonicSnapshotRead:
		return judgement{statements, 0, gMSR, "each read taken for a statement: moments in its transaction's order at which reads saw all that was committed; valid if there are moments for writes too, violated if there are none for the reads alone, else unknown: nothing found of what was looked for (Adya 1999, PL-MSR)"}
	case MonotonicAtomicView:
		return judgement{monotonicAtomic, 0, mavViolation, "exact: who has seen one write of a transaction sees all of them from then on (Bailis 2014)"}
	case CursorStability:
		return judgement{cursor, 0, gCursor, "exact, with every read taken for one through a cursor: no order of the versions is without G-cursor (Adya 1999, PL-CS)"}
	case ConsistentView:
		return judgement{singleItem, 0, gSingleItem, "exact: no order of the versions is without G-single (Adya 1999, PL-2+)"}
	case ForwardConsistentView:
		return judgement{singleItem, 0, gSingleItem, "exact, with starts and commits in any order that fits: then the same as consistent-view (Adya 1999, PL-FCV)"}
	case RepeatableRead:
		return judgement{serial, 0, g2Item, "exact: no order of the versions is without G2-item (Adya 1999, PL-2.99)"}
	case ReadAtomic:
		return judgement{atomic, 0, fracturedRead, "exact: axioms INT and EXT (Cerone 2015)"}
	case UpdateAtomic:
		return judgement{updateAtomic, 0, updateConflict, "exact: read atomic with NOCONFLICT (Cerone 2017)"}
	case Causal:
		return judgement{causal, process, causalityProcess, "exact: read atomic with TRANSVIS (Cerone 2015), with the transactions of each client in their order (Biswas and Enea 2019)"}
	case ParallelSnapshotIsolation:
		return judgement{singleItem, 0, gSingleItem, "exact: read atomic with TRANSVIS and NOCONFLICT, that is, INT and no G-single in some order of the versions (Cerone 2015)"}
	case Prefix:
		return judgement{prefix, 0, longFork, "exact: axiom PREFIX (Cerone 2015)"}
	case SnapshotIsolation:
		return judgement{snapshot, 0, gNonadjacentItem, "exact: PREFIX with NOCONFLICT, that is, INT and no cycle without two adjacent rw (Cerone 2015)"}
	case UpdateSerializable:
		return judgement{updates, 0, gUpdate, "exact: no order of the versions is without G-update (Adya 1999, PL-3U)"}
	case Serializable:
		return judgement{serial, 0, g2Item, "exact: an order of all transactions that explains every read (Papadimitriou 1979)"}
	case SessionSnapshotIsolation:
		return judgement{snapshot, process, gNonadjacentItemProcess, "exact: snapshot isolation in which each client sees its own commits (Daudjee and Salem 2006)"}
	case SessionSerializable:
		return judgement{serial, process, g2ItemProcess, "exact: an order as for serializable, with the transactions of each client in theirs"}
	case StrongSnapshotIsolation:
		return judgement{snapshot, realtime, gNonadjacentItemRealtime, "exact: snapshot isolation in which each sees what was acknowledged before it began (Daudjee and Salem 2006)"}
	case StrictSerializable:
		return judgement{serial, realtime, g2ItemRealtime, "exact: an order as for serializable that keeps real time"}
	default:
		return judgement{rule: decided, basis: phenomenaBasis(m)}
	}
}

func phenomenaBasis(m Model) string {
	switch m {
	case ReadUncommitted:
		return "exact, of lists by their longest read: no G0; reads promise nothing, so of registers there is nothing to find (Adya 1999, PL-1)"
	case SessionReadUncommitted, StrongReadUncommitted:
		return "exact, of lists by their longest read: no G0, also with the order of each client or real time"
	case ReadCommitted:
		return "exact: no G0, G1a, G1b and G1c (Adya 1999, PL-2)"
	default:
		return "exact: no G1a, G1b and G1c, also with the order of each client or real time"
	}
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
