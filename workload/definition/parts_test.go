package definition

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"assay/internal/expect"
	"assay/load"
)

// TestPlansOfOneID: only a workload that takes turns says that its attempts stay on their goroutine,
// and neither tries blindly again.
func TestPlansOfOneID(t *testing.T) {
	for name, c := range map[string]struct {
		plan       func(load.Plan) (load.Plan, error)
		sequential bool
	}{"each anywhere": {OneIDEach, false}, "in turn": {InTurn, true}} {
		got, err := c.plan(load.Plan{Retry: load.RetryFailed})
		expect.NoError(t, err)
		if got.Sequential != c.sequential {
			t.Errorf("%s: sequential is %v", name, got.Sequential)
		}
		if _, err := c.plan(load.Plan{Retry: load.RetryBlind}); err == nil {
			t.Errorf("%s: blind attempts are allowed", name)
		}
	}
}

// TestUnknownIsNotNotDone: nothing is said of what became of unknown operations
// if nothing was read back.
func TestUnknownIsNotNotDone(t *testing.T) {
	e := Evidence{State: filepath.Join(t.TempDir(), "state.bin")}
	if got, want := strings.Join(e.UnknownNotes("unknown transfer", "unknown transfers", 1, 0), "; "), "it is not known what became of 1 unknown transfer: the database was not read back"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	expect.NoError(t, os.WriteFile(e.State, nil, 0o600))
	if got, want := strings.Join(e.UnknownNotes("unknown transfer", "unknown transfers", 2, 1), "; "), "of 2 unknown transfers 1 turned out done, 1 not done"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := e.UnknownNotes("unknown transfer", "unknown transfers", 0, 0); got != nil {
		t.Errorf("%q of none", got)
	}
}
