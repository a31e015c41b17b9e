package cycle

import (
	"fmt"
	"slices"
	"strings"
)

// Model is a consistency model, by its name.
type Model string

// The models, in the names of jepsen.io/consistency.
const (
	ReadUncommitted           Model = "read-uncommitted"        // PL-1
	ReadCommitted             Model = "read-committed"          // PL-2
	MonotonicView             Model = "monotonic-view"          // PL-2L
	MonotonicSnapshotRead     Model = "monotonic-snapshot-read" // PL-MSR
	MonotonicAtomicView       Model = "monotonic-atomic-view"
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

// definition describes which models a model includes and which anomalies it forbids
// beyond theirs.
type definition struct {
	model   Model
	weaker  []Model
	forbids anomalySet
}

// definitions returns the lattice of Elle 0.2 (elle.consistency-model) without
// the models of single objects, and of what each forbids only what can be found
// here and the weaker ones allow. Two arrows differ. Causal heeds the order of
// each client, as in Biswas and Enea's definition, so that models without
// sessions do not include it. Parallel snapshot isolation forbids G-single, so
// it includes consistent view. Its sources are Adya's thesis, Bailis et al., "Highly Available
// Transactions", VLDB 2014, Cerone, Bernardi and Gotsman, "A Framework for
// Transactional Consistency Models with Atomic Visibility", CONCUR 2015, and
// Daudjee and Salem, "Lazy Database Replication with Snapshot Isolation",
// VLDB 2006.
func definitions() []definition {
	return []definition{
		{ReadUncommitted, nil, set(g0, duplicateElements)},
		{ReadCommitted, []Model{ReadUncommitted}, set(g1)},
		{MonotonicView, []Model{ReadCommitted}, set(gMonotonic)},
		{MonotonicSnapshotRead, []Model{ReadCommitted}, set(gMSR)},
		{MonotonicAtomicView, []Model{ReadCommitted}, set(mavViolation)},
		{CursorStability, []Model{ReadCommitted}, set(gCursor)},
		{ConsistentView, []Model{CursorStability, MonotonicView}, set(gSingleItem)},
		{ForwardConsistentView, []Model{ConsistentView}, 0},
		{RepeatableRead, []Model{CursorStability, MonotonicAtomicView}, set(g2Item)},
		{ReadAtomic, []Model{MonotonicAtomicView}, set(internal, fracturedRead)},
		{UpdateAtomic, []Model{ReadAtomic}, set(updateConflict)},
		{Causal, []Model{ReadAtomic}, set(causalityProcess)},
		{ParallelSnapshotIsolation, []Model{UpdateAtomic, ConsistentView}, 0},
		{Prefix, []Model{ReadAtomic}, set(longFork)},
		{SnapshotIsolation, []Model{ForwardConsistentView, MonotonicSnapshotRead, ParallelSnapshotIsolation, Prefix},
			set(gNonadjacentItem)},
		{UpdateSerializable, []Model{ForwardConsistentView}, set(gUpdate)},
		{Serializable, []Model{RepeatableRead, SnapshotIsolation, UpdateSerializable}, 0},
		{SessionReadUncommitted, []Model{ReadUncommitted}, set(g0Process)},
		{SessionReadCommitted, []Model{ReadCommitted, SessionReadUncommitted}, set(g1cProcess)},
		{SessionSnapshotIsolation, []Model{SnapshotIsolation, Causal, SessionReadCommitted}, set(gNonadjacentItemProcess)},
		{SessionSerializable, []Model{Serializable, SessionSnapshotIsolation}, set(g2ItemProcess)},
		{StrongReadUncommitted, []Model{SessionReadUncommitted}, set(g0Realtime)},
		{StrongReadCommitted, []Model{SessionReadCommitted, StrongReadUncommitted}, set(g1cRealtime)},
		{StrongSnapshotIsolation, []Model{SessionSnapshotIsolation, StrongReadCommitted}, set(gNonadjacentItemRealtime)},
		{StrictSerializable, []Model{SessionSerializable, StrongSnapshotIsolation}, set(g2ItemRealtime)},
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

// ModelError means that a word is not the name of a model.
type ModelError struct{ Name string }

func (e *ModelError) Error() string {
	return fmt.Sprintf("%q is not a consistency model; choose one of %s", e.Name, ModelNames())
}

// ModelNames are the names of all models, for a message.
func ModelNames() string {
	names := make([]string, 0, len(Models()))
	for _, m := range Models() {
		names = append(names, string(m))
	}
	return strings.Join(names, ", ")
}

// adyaLevels are the models by their names in Adya's thesis ("Weak Consistency: A
// Generalized Theory and Optimistic Implementations for Distributed
// Transactions", MIT 1999).
func adyaLevels() map[string]Model {
	return map[string]Model{
		"PL-1": ReadUncommitted, "PL-2": ReadCommitted, "PL-2L": MonotonicView, "PL-MSR": MonotonicSnapshotRead,
		"PL-CS": CursorStability, "PL-2+": ConsistentView, "PL-FCV": ForwardConsistentView, "PL-2.99": RepeatableRead,
		"PL-SI": SnapshotIsolation, "PL-3U": UpdateSerializable, "PL-3": Serializable, "PL-SS": StrictSerializable,
	}
}

// ParseModel returns the model of that name, or of that name of Adya's (PL-3). It
// returns a *ModelError for any other word.
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

// includes returns model and all that it includes, by their place in defs.
func includes(defs []definition, model Model) []bool {
	in := make([]bool, len(defs))
	// A model stands behind all that it includes, so one pass backwards does.
	for i := len(defs) - 1; i >= 0; i-- {
		in[i] = in[i] || defs[i].model == model
		if !in[i] {
			continue
		}
		for _, w := range defs[i].weaker {
			for j := range i {
				in[j] = in[j] || defs[j].model == w
			}
		}
	}
	return in
}

// Includes reports whether every history that the model allows is allowed by the
// other too.
func (m Model) Includes(other Model) bool {
	defs := definitions()
	for i, in := range includes(defs, m) {
		if in && defs[i].model == other {
			return true
		}
	}
	return false
}

// forbidden returns all anomalies that show that model does not hold: those
// that it or a weaker one forbids, and all that imply one of them.
func forbidden(model Model) anomalySet {
	defs := definitions()
	var direct, all anomalySet
	for i, in := range includes(defs, model) {
		if in {
			direct |= defs[i].forbids
		}
	}
	for a := range anomalies {
		if set(a).implied()&direct != 0 {
			all |= set(a)
		}
	}
	return all
}

// ruledOut returns the models that cannot hold where s was found: the weakest,
// and all others, each sorted by name.
func ruledOut(s anomalySet) (weakest, others []Model) {
	defs := definitions()
	s = s.implied()
	out := make([]bool, len(defs))
	for i, d := range defs {
		weaker := includes(defs, d.model)
		least := true
		for j := range i {
			if weaker[j] && out[j] {
				out[i], least = true, false
			}
		}
		out[i] = out[i] || d.forbids&s != 0
		switch {
		case out[i] && least:
			weakest = append(weakest, d.model)
		case out[i]:
			others = append(others, d.model)
		}
	}
	slices.Sort(weakest)
	slices.Sort(others)
	return weakest, others
}
