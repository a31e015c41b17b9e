package isolation

import (
	"slices"

	"assay/check/cycle"
)

// What a model says of the rules that are judged here and not by check/cycle.
// The three agree with its lattice, which a test sees to.

// forbidsSkew says that model forbids write skew over two rows (G2-item).
func forbidsSkew(model cycle.Model) bool {
	return model == cycle.RepeatableRead || model == cycle.UpdateSerializable || serializable(model)
}

// forbidsPhantoms says that model forbids a transaction to count a group
// twice with different results: a cycle with one anti-dependency, by a
// predicate (G-single). Adya's repeatable read (PL-2.99) speaks of items only
// and allows it.
func forbidsPhantoms(model cycle.Model) bool {
	return serializable(model) || slices.Contains([]cycle.Model{
		cycle.ConsistentView, cycle.ForwardConsistentView, cycle.UpdateSerializable,
		cycle.SnapshotIsolation, cycle.SessionSnapshotIsolation, cycle.StrongSnapshotIsolation,
	}, model)
}

// forbidsLostUpdates says that under model a transaction that reads a list and
// writes it back overwrites nothing that it did not read.
func forbidsLostUpdates(model cycle.Model) bool {
	return forbidsPhantoms(model) || slices.Contains([]cycle.Model{
		cycle.CursorStability, cycle.RepeatableRead, cycle.UpdateAtomic, cycle.ParallelSnapshotIsolation,
	}, model)
}

func serializable(model cycle.Model) bool {
	return slices.Contains([]cycle.Model{cycle.Serializable, cycle.SessionSerializable, cycle.StrictSerializable}, model)
}

// AllowsLostUpdates says whether a database that promises this model may let
// two transactions read a list and both write it back, so that what one of
// them appended is lost. It returns a *cycle.ModelError for what is not the
// name of a model.
func AllowsLostUpdates(promise string) (bool, error) {
	model, err := cycle.ParseModel(promise)
	if err != nil {
		return false, err
	}
	return !forbidsLostUpdates(model), nil
}
