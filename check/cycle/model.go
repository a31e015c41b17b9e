package cycle

import (
	"fmt"
	"slices"
	"strings"
)

// Model is the name of a consistency model.
type Model string

// The models, with the names of jepsen.io/consistency.
const (
	ReadUncommitted           Model = "read-uncommitted"        // PL-1
	ReadCommitted             Model = "read-committed"          // PL-2
	MonotonicView             Model = "monotonic-view"          // PL-2L
	MonotonicSnapshotRead     Model = "monotonic-snapshot-read" // PL-MSR
	MonotonicAtomicView       Model = "monotonic-atomic-view"
	SnapshotReads             Model = "snapshot-reads"          // repeatable read of MySQL and MariaDB
	CursorStability           Model = "cursor-stability"        // PL-CS
	ConsistentView            Model = "consistent-view"         // PL-2+
	ForwardConsistentView     Model = "forward-consistent-view" // PL-FCV
	RepeatableRead            Model = "repeatable-read"         // PL-2.99
	ReadAtomic                Model = "read-atomic"
	UpdateAtomic              Model = "update-atomic"
	Causal                    Model = "causal-cerone"
	ParallelSnapshotIsolation Model = "parallel-snapshot-isolation"
	Prefix                    Model = "prefix"
	SnapshotIsolation         Model = "snapshot-isolation"  // PL-SI
	UpdateSerializable        Model = "update-serializable" // PL-3U
	Serializable              Model = "serializable"        // PL-3
	SessionReadUncommitted    Model = "strong-session-read-uncommitted"
	SessionReadCommitted      Model = "strong-session-read-committed"
	SessionSnapshotIsolation  Model = "strong-session-snapshot-isolation"
	SessionSerializable       Model = "strong-session-serializable"
	StrongReadUncommitted     Model = "strong-read-uncommitted"
	StrongReadCommitted       Model = "strong-read-committed"
	StrongSnapshotIsolation   Model = "strong-snapshot-isolation"
	StrictSerializable        Model = "strict-serializable" // PL-SS
	strongSerializable              = "strong-serializable" // the same
)

// definition says which models a model includes and which anomalies it forbids beyond theirs.
type definition struct {
	model   Model
	weaker  []Model
	forbids anomalySet
	judgement
}

// definitions returns the lattice of Elle 0.2 (elle.consistency-model) without the models of single
// objects. Each model forbids only anomalies that can be found here and that weaker models allow.
// Two arrows differ. Causal heeds the order of each client, as in Biswas and Enea's definition, so
// models without sessions do not include it. Parallel snapshot isolation forbids G-single, so it
// includes consistent view. The lattice's sources are Adya's thesis, Bailis et al., "Highly
// Available Transactions", VLDB 2014, Cerone, Bernardi and Gotsman, "A Framework for Transactional
// Consistency Models with Atomic Visibility", CONCUR 2015, and Daudjee and Salem, "Lazy Database
// Replication with Snapshot Isolation", VLDB 2006.
//
// The sources of the rules are:
//   - read committed, PL-2L, PL-CS, PL-2+, PL-FCV, PL-2.99, PL-3U and PL-3: Adya's thesis, over the
//     direct serialization graph (sections 3.2, 4.1 to 4.4);
//   - read atomic, causal, parallel snapshot isolation, prefix and snapshot isolation: Cerone,
//     Bernardi and Gotsman (CONCUR 2015), as graphs by Cerone, Gotsman and Yang ("Algebraic Laws
//     for Weak Consistency", CONCUR 2017), which also has update atomic;
//   - monotonic atomic view: Bailis et al. (VLDB 2014), in the form of Biswas and Enea (OOPSLA 2019,
//     there without sessions);
//   - snapshot reads: the promise of MySQL's and MariaDB's manuals at repeatable read.
func definitions() []definition {
	return []definition{
		{ReadUncommitted, nil, set(g0, duplicateElements, ownUnseen),
			judgement{decided, 0, 0, "exact, of lists by their longest read: no G0, and a transaction reads what it wrote last, as in every history; reads promise nothing else (Adya 1999, PL-1)"}},
		{ReadCommitted, []Model{ReadUncommitted}, set(g1),
			judgement{decided, 0, 0, "exact: no G0, G1a, G1b and G1c (Adya 1999, PL-2)"}},
		{MonotonicView, []Model{ReadCommitted}, set(gMonotonic),
			judgement{monotonicView, 0, gMonotonic, "exact: no order of the versions is without G-monotonic (Adya 1999, PL-2L)"}},
		{MonotonicSnapshotRead, []Model{ReadCommitted}, set(gMSR),
			judgement{statements, 0, gMSR, "each read taken for a statement: moments in its transaction's order at which reads saw all that was committed; valid if there are moments for writes too, violated if there are none for the reads alone, else unknown: nothing found of what was looked for (Adya 1999, PL-MSR)"}},
		{MonotonicAtomicView, []Model{ReadCommitted}, set(mavViolation),
			judgement{monotonicAtomic, 0, mavViolation, "exact: who has seen one write of a transaction sees all of them from then on (Bailis 2014)"}},
		{SnapshotReads, []Model{ReadCommitted}, 0,
			judgement{decided, 0, 0, "exact but for the order of versions, which is looked for twice: no G0, G1a, G1b and G1c, and PREFIX (Cerone 2015) for the reads of what the transaction has not written itself (MySQL manual, \"Consistent Nonlocking Reads\")"}},
		{CursorStability, []Model{ReadCommitted}, set(gCursor),
			judgement{cursor, 0, gCursor, "exact, with every read taken for one through a cursor: no order of the versions is without G-cursor (Adya 1999, PL-CS)"}},
		{ConsistentView, []Model{CursorStability, MonotonicView}, set(gSingleItem),
			judgement{singleItem, 0, gSingleItem, "exact: no order of the versions is without G-single (Adya 1999, PL-2+)"}},
		{ForwardConsistentView, []Model{ConsistentView}, 0,
			judgement{singleItem, 0, gSingleItem, "exact, with starts and commits in any order that fits: then the same as consistent-view (Adya 1999, PL-FCV)"}},
		{RepeatableRead, []Model{CursorStability, MonotonicAtomicView}, set(g2Item),
			judgement{serial, 0, g2Item, "exact: no order of the versions is without G2-item (Adya 1999, PL-2.99)"}},
		{ReadAtomic, []Model{MonotonicAtomicView}, set(internal, fracturedRead),
			judgement{atomic, 0, fracturedRead, "exact: axioms INT and EXT (Cerone 2015)"}},
		{UpdateAtomic, []Model{ReadAtomic}, set(updateConflict),
			judgement{updateAtomic, 0, updateConflict, "exact: read atomic with NOCONFLICT (Cerone 2017)"}},
		{Causal, []Model{ReadAtomic}, set(causalityProcess),
			judgement{causal, process, causalityProcess, "exact: read atomic with TRANSVIS (Cerone 2015), with the transactions of each client in their order (Biswas and Enea 2019)"}},
		{ParallelSnapshotIsolation, []Model{UpdateAtomic, ConsistentView}, 0,
			judgement{singleItem, 0, gSingleItem, "exact: read atomic with TRANSVIS and NOCONFLICT, that is, INT and no G-single in some order of the versions (Cerone 2015)"}},
		{Prefix, []Model{ReadAtomic, SnapshotReads}, set(longFork),
			judgement{prefix, 0, longFork, "exact: axiom PREFIX (Cerone 2015)"}},
		{SnapshotIsolation, []Model{ForwardConsistentView, MonotonicSnapshotRead, ParallelSnapshotIsolation, Prefix}, set(gNonadjacentItem),
			judgement{snapshot, 0, gNonadjacentItem, "exact: PREFIX with NOCONFLICT, that is, INT and no cycle without two adjacent rw (Cerone 2015)"}},
		{UpdateSerializable, []Model{ForwardConsistentView}, set(gUpdate),
			judgement{updates, 0, gUpdate, "exact: no order of the versions is without G-update (Adya 1999, PL-3U)"}},
		{Serializable, []Model{RepeatableRead, SnapshotIsolation, UpdateSerializable}, 0,
			judgement{serial, 0, g2Item, "exact: an order of all transactions that explains every read (Papadimitriou 1979)"}},
		{SessionReadUncommitted, []Model{ReadUncommitted}, set(g0Process),
			judgement{decided, 0, 0, "exact, of lists by their longest read: no G0, also with the order of each client or real time"}},
		{SessionReadCommitted, []Model{ReadCommitted, SessionReadUncommitted}, set(g1cProcess),
			judgement{decided, 0, 0, "exact: no G1a, G1b and G1c, also with the order of each client or real time"}},
		{SessionSnapshotIsolation, []Model{SnapshotIsolation, Causal, SessionReadCommitted}, set(gNonadjacentItemProcess),
			judgement{snapshot, process, gNonadjacentItemProcess, "exact: snapshot isolation in which each client sees its own commits (Daudjee and Salem 2006)"}},
		{SessionSerializable, []Model{Serializable, SessionSnapshotIsolation}, set(g2ItemProcess),
			judgement{serial, process, g2ItemProcess, "exact: an order as for serializable, with the transactions of each client in theirs"}},
		{StrongReadUncommitted, []Model{SessionReadUncommitted}, set(g0Realtime),
			judgement{decided, 0, 0, "exact, of lists by their longest read: no G0, also with the order of each client or real time"}},
		{StrongReadCommitted, []Model{SessionReadCommitted, StrongReadUncommitted}, set(g1cRealtime),
			judgement{decided, 0, 0, "exact: no G1a, G1b and G1c, also with the order of each client or real time"}},
		{StrongSnapshotIsolation, []Model{SessionSnapshotIsolation, StrongReadCommitted}, set(gNonadjacentItemRealtime),
			judgement{snapshot, realtime, gNonadjacentItemRealtime, "exact: snapshot isolation in which each sees what was acknowledged before it began (Daudjee and Salem 2006)"}},
		{StrictSerializable, []Model{SessionSerializable, StrongSnapshotIsolation}, set(g2ItemRealtime),
			judgement{serial, realtime, g2ItemRealtime, "exact: an order as for serializable that keeps real time"}},
	}
}

// Models returns all models, weaker ones before stronger ones.
func Models() []Model {
	var models []Model
	for _, d := range definitions() {
		models = append(models, d.model)
	}
	return models
}

// ModelError means that a word is no model's name.
type ModelError struct{ Name string }

func (e *ModelError) Error() string {
	return fmt.Sprintf("%q is not a consistency model; choose one of %s", e.Name, ModelNames())
}

// ModelNames returns the names of all models, for a message.
func ModelNames() string {
	names := make([]string, 0, len(Models()))
	for _, m := range Models() {
		names = append(names, string(m))
	}
	return strings.Join(names, ", ")
}

// adyaLevels are the models by their names in Adya's thesis ("Weak Consistency: A Generalized
// Theory and Optimistic Implementations for Distributed Transactions", MIT 1999).
func adyaLevels() map[string]Model {
	return map[string]Model{
		"PL-1": ReadUncommitted, "PL-2": ReadCommitted, "PL-2L": MonotonicView, "PL-MSR": MonotonicSnapshotRead,
		"PL-CS": CursorStability, "PL-2+": ConsistentView, "PL-FCV": ForwardConsistentView, "PL-2.99": RepeatableRead,
		"PL-SI": SnapshotIsolation, "PL-3U": UpdateSerializable, "PL-3": Serializable, "PL-SS": StrictSerializable,
	}
}

// ParseModel returns the model with this name, or this name of Adya's (PL-3), or a *ModelError.
func ParseModel(name string) (Model, error) {
	if name == strongSerializable {
		return StrictSerializable, nil
	}
	if m, ok := adyaLevels()[strings.ToUpper(name)]; ok {
		return m, nil
	}
	if m := Model(name); slices.Contains(Models(), m) {
		return m, nil
	}
	return "", &ModelError{Name: name}
}

// includes says, for each model in defs, whether model is it or includes it.
func includes(defs []definition, model Model) []bool {
	in := make([]bool, len(defs))
	// A model follows all that it includes in defs, so one pass backwards suffices.
	for i := len(defs) - 1; i >= 0; i-- {
		in[i] = in[i] || defs[i].model == model
		if !in[i] {
			continue
		}
		for j := range i {
			in[j] = in[j] || slices.Contains(defs[i].weaker, defs[j].model)
		}
	}
	return in
}

// Includes reports whether every history that m allows is also allowed by other.
func (m Model) Includes(other Model) bool {
	defs := definitions()
	at := slices.IndexFunc(defs, func(d definition) bool { return d.model == other })
	return at >= 0 && includes(defs, m)[at]
}

// forbids returns the anomalies that the model and weaker ones forbid by definition.
func forbids(defs []definition, model Model) (all anomalySet) {
	for i, in := range includes(defs, model) {
		if in {
			all |= defs[i].forbids
		}
	}
	return all
}

// forbidden returns the anomalies that refute model: those of forbids, and all that imply one.
func forbidden(model Model) (all anomalySet) {
	direct := forbids(definitions(), model)
	for a := range anomalies {
		if set(a).implied()&direct != 0 {
			all |= set(a)
		}
	}
	return all
}

// ruledOut returns the models that s rules out, in the form of weakest.
func ruledOut(s anomalySet) (least, others []Model) {
	s = s.implied()
	defs := definitions()
	var out []Model
	for _, d := range defs {
		if forbids(defs, d.model)&s != 0 {
			out = append(out, d.model)
		}
	}
	return weakest(out)
}

// weakest splits models into those that include no other of them and the rest, each sorted.
func weakest(models []Model) (least, others []Model) {
	defs := definitions()
	for _, m := range models {
		stronger := false
		for i, in := range includes(defs, m) {
			stronger = stronger || in && defs[i].model != m && slices.Contains(models, defs[i].model)
		}
		if stronger {
			others = append(others, m)
		} else {
			least = append(least, m)
		}
	}
	slices.Sort(least)
	slices.Sort(others)
	return least, others
}
