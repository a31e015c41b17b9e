package runner

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"assay/check"
	"assay/internal/expect"
	"assay/report"
)

// TestAVerdictOutlivesWhatCannotBeCleanedUp: both are reported, in the file too. An error before
// the verdict stays an error.
func TestAVerdictOutlivesWhatCannotBeCleanedUp(t *testing.T) {
	t.Parallel()
	s := small("sqlite:"+filepath.Join(t.TempDir(), "bank.db"), 1, 50)
	out := carryOut(t, s)
	r := &run{scenario: s, options: Options{Progress: &diary{}}}
	left := errors.New("umount: target is busy")
	expect.NoError(t, r.cleanedUp(out, nil, left))
	kept, err := report.ReadJSON(filepath.Join(out.Folder, FileResult))
	if err != nil || kept.Verdict != check.Valid || !strings.Contains(strings.Join(kept.Notes, "\n"), left.Error()) {
		t.Errorf("%v: %v, %q", err, kept.Verdict, kept.Notes)
	}
	before := errors.New("no verdict")
	if err := r.cleanedUp(Outcome{}, before, left); !errors.Is(err, before) || !errors.Is(err, left) {
		t.Error(err)
	}
	if err := r.cleanedUp(Outcome{}, nil, left); !errors.Is(err, left) {
		t.Error(err)
	}
}
