package cycle

import (
	"errors"
	"slices"
	"testing"
)

func TestParseModel(t *testing.T) {
	for _, m := range Models() {
		if got, err := ParseModel(string(m)); got != m || err != nil {
			t.Errorf("%s: %s, %v", m, got, err)
		}
	}
	for name, want := range map[string]Model{"PL-3": Serializable, "PL-SI": SnapshotIsolation, "pl-2.99": RepeatableRead, "PL-2+": ConsistentView, "PL-SS": StrictSerializable} {
		if got, err := ParseModel(name); got != want || err != nil {
			t.Errorf("%s is %v, %v", name, got, err)
		}
	}
	if got, err := ParseModel("strong-serializable"); got != StrictSerializable || err != nil {
		t.Errorf("strong-serializable: %s, %v", got, err)
	}
	var bad *ModelError
	if _, err := ParseModel("acid"); !errors.As(err, &bad) || bad.Name != "acid" {
		t.Errorf("acid: %v", err)
	}
}

// Weaker models come first. A stronger one forbids everything that a weaker one does. A forbidden
// anomaly rules out the model and everything above it.
func TestLattice(t *testing.T) {
	defs := definitions()
	for i, d := range defs {
		for _, w := range d.weaker {
			if !slices.ContainsFunc(defs[:i], func(e definition) bool { return e.model == w }) {
				t.Errorf("%s includes %s, which does not come before it", d.model, w)
			}
		}
		for j, in := range includes(defs, d.model) {
			if in && forbidden(defs[j].model)&^forbidden(d.model) != 0 {
				t.Errorf("%s allows what %s forbids", d.model, defs[j].model)
			}
		}
		for a := range foundAnomalies {
			weakest, others := ruledOut(set(a))
			if out := slices.Contains(weakest, d.model) || slices.Contains(others, d.model); out != forbidden(d.model).has(a) {
				t.Errorf("%s: forbidden %v, ruled out %v by %v", a, forbidden(d.model).has(a), out, d.model)
			}
		}
	}
	for _, c := range []struct {
		model Model
		weak  []Model
	}{
		{ReadCommitted, []Model{ReadUncommitted}},
		{MonotonicView, []Model{ReadCommitted}},
		{MonotonicSnapshotRead, []Model{ReadCommitted}},
		{MonotonicAtomicView, []Model{ReadCommitted}},
		{CursorStability, []Model{ReadCommitted}},
		{ConsistentView, []Model{CursorStability, MonotonicView}},
		{ForwardConsistentView, []Model{ConsistentView}},
		{RepeatableRead, []Model{CursorStability, MonotonicAtomicView}},
		{ReadAtomic, []Model{MonotonicAtomicView}},
		{UpdateAtomic, []Model{ReadAtomic}},
		{Causal, []Model{ReadAtomic}},
		{ParallelSnapshotIsolation, []Model{ConsistentView, UpdateAtomic}},
		{Prefix, []Model{ReadAtomic}},
		{SnapshotIsolation, []Model{ForwardConsistentView, MonotonicSnapshotRead, ParallelSnapshotIsolation, Prefix}},
		{UpdateSerializable, []Model{ForwardConsistentView}},
		{Serializable, []Model{RepeatableRead, SnapshotIsolation, UpdateSerializable}},
		{SessionReadUncommitted, []Model{ReadUncommitted}},
		{SessionReadCommitted, []Model{ReadCommitted, SessionReadUncommitted}},
		{SessionSnapshotIsolation, []Model{SnapshotIsolation, Causal, SessionReadCommitted}},
		{SessionSerializable, []Model{Serializable, SessionSnapshotIsolation}},
		{StrongReadUncommitted, []Model{SessionReadUncommitted}},
		{StrongReadCommitted, []Model{SessionReadCommitted, StrongReadUncommitted}},
		{StrongSnapshotIsolation, []Model{SessionSnapshotIsolation, StrongReadCommitted}},
		{StrictSerializable, []Model{SessionSerializable, StrongSnapshotIsolation, ReadUncommitted, Prefix}},
	} {
		in := includes(defs, c.model)
		for _, w := range c.weak {
			if !in[slices.IndexFunc(defs, func(d definition) bool { return d.model == w })] {
				t.Errorf("%s does not include %s", c.model, w)
			}
		}
	}
	if weakest, others := ruledOut(0); weakest != nil || others != nil {
		t.Errorf("nothing rules out %v and %v", weakest, others)
	}
}

// Each model has an anomaly that it forbids and one that it allows, from the definitions in the
// literature.
func TestForbidden(t *testing.T) {
	for _, c := range []struct {
		model           Model
		forbids, allows []anomaly
	}{
		{ReadUncommitted, []anomaly{g0, duplicateElements}, []anomaly{g1a, g1b, g1c, internal, lostUpdate, incompatibleOrder, cyclicVersions}},
		{ReadCommitted, []anomaly{g0, g1a, g1b, g1c, garbageRead, incompatibleOrder, dirtyUpdate, futureRead, cyclicVersions},
			[]anomaly{internal, lostUpdate, gSingleItem, g0Process, g0Realtime}},
		{MonotonicView, []anomaly{g1c}, []anomaly{gSingleItem}},
		{MonotonicSnapshotRead, []anomaly{g1c}, []anomaly{gSingleItem}},
		{MonotonicAtomicView, []anomaly{g1c}, []anomaly{internal}},
		{CursorStability, []anomaly{lostUpdate}, []anomaly{gSingleItem, g2Item}},
		{ConsistentView, []anomaly{gSingleItem, lostUpdate}, []anomaly{gNonadjacentItem, g2Item}},
		{ForwardConsistentView, []anomaly{gSingleItem}, []anomaly{gNonadjacentItem}},
		{RepeatableRead, []anomaly{g2Item, gNonadjacentItem, lostUpdate}, []anomaly{internal, g2ItemProcess}},
		{ReadAtomic, []anomaly{internal, futureRead, g1a}, []anomaly{lostUpdate, gSingleItem}},
		{UpdateAtomic, []anomaly{lostUpdate}, []anomaly{gSingleItem}},
		{Causal, []anomaly{internal}, []anomaly{lostUpdate, gNonadjacentItem}},
		{ParallelSnapshotIsolation, []anomaly{lostUpdate, internal}, []anomaly{gNonadjacentItem}},
		{Prefix, []anomaly{internal}, []anomaly{lostUpdate, g2Item}},
		{SnapshotIsolation, []anomaly{gSingleItem, gNonadjacentItem, lostUpdate, internal, g1b}, []anomaly{g2Item, gSingleItemProcess}},
		{UpdateSerializable, []anomaly{gSingleItem}, []anomaly{g2Item}},
		{Serializable, []anomaly{g2Item, internal}, []anomaly{g0Process, g2ItemProcess, g2ItemRealtime}},
		{SessionReadUncommitted, []anomaly{g0Process}, []anomaly{g1a, g1cProcess, g0Realtime}},
		{SessionReadCommitted, []anomaly{g1cProcess, g0Process}, []anomaly{gSingleItemProcess, g1cRealtime}},
		{SessionSnapshotIsolation, []anomaly{gSingleItemProcess, gNonadjacentItemProcess}, []anomaly{g2ItemProcess, g2Item, gSingleItemRealtime}},
		{SessionSerializable, []anomaly{g2ItemProcess}, []anomaly{g2ItemRealtime, g0Realtime}},
		{StrongReadUncommitted, []anomaly{g0Realtime, g0Process}, []anomaly{g1a, g1cRealtime}},
		{StrongReadCommitted, []anomaly{g1cRealtime}, []anomaly{gSingleItemRealtime, lostUpdate}},
		{StrongSnapshotIsolation, []anomaly{gSingleItemRealtime, gNonadjacentItemRealtime}, []anomaly{g2Item, g2ItemRealtime}},
		{StrictSerializable, []anomaly{g0Realtime, g1cRealtime, gSingleItemRealtime, gNonadjacentItemRealtime, g2ItemRealtime, g2Item}, nil},
	} {
		for _, a := range c.forbids {
			if !forbidden(c.model).has(a) {
				t.Errorf("%s allows %s", c.model, a)
			}
		}
		for _, a := range c.allows {
			if forbidden(c.model).has(a) {
				t.Errorf("%s forbids %s", c.model, a)
			}
		}
	}
}

// Anomalies returns the sorted names of all anomalies that can be reported, for tests outside the
// package.
func Anomalies() []string { return (set(foundAnomalies) - 1).names() }
