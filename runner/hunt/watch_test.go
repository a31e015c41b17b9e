package hunt

import (
	"context"
	"errors"
	"slices"
	"testing"

	"assay/cluster"
)

type noNodes struct{}

func (noNodes) Servers() []*cluster.Node { return nil }
func (noNodes) Primary(context.Context) (*cluster.Node, error) {
	return nil, errors.New("nobody")
}

// TestWhatIsSeen: a fault counts with its state and the faults it came under.
func TestWhatIsSeen(t *testing.T) {
	w, stop := watch(t.Context(), noNodes{}, true)
	w.Fault("slow-fsync=2s", "n1", []string{"n1"}, true)
	w.Fault("kill", "n1", []string{"n1"}, true)
	w.Fault("kill", "n1", []string{"n1"}, false)
	w.Fault("slow-fsync=2s", "n1", []string{"n1"}, false)
	w.Fault("pause", "n1", []string{"n1"}, true)
	seen := stop()
	if want := "no primary, all well"; !slices.Contains(seen.States, want) {
		t.Errorf("%q", seen.States)
	}
	for _, p := range []Pair{{"slow-fsync", "no primary, all well"}, {"kill", "no primary, all well, under slow-fsync"}, {"pause", "no primary, all well"}} {
		if !slices.Contains(seen.Pairs, p) {
			t.Errorf("%v is not in %v", p, seen.Pairs)
		}
	}
	if len(w.acting) != 1 || w.acting["n1"] != 1 {
		t.Errorf("%v", w.acting)
	}
}
