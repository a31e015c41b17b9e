package definition

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"assay/internal/expect"
)

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
