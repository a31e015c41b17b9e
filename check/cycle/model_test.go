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
	if weakest, others := ruledOut(0); weakest != nil || others != nil {
		t.Errorf("nothing rules out %v and %v", weakest, others)
	}
}

// Anomalies returns the sorted names of all anomalies that can be reported, for tests outside the
// package.
func Anomalies() []string { return (set(foundAnomalies) - 1).names() }
