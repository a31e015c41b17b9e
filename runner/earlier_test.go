package runner

import (
	"os"
	"path/filepath"
	"testing"

	"assay/check"
	"assay/internal/expect"
	"assay/report"
)

// TestFoldersOfEarlierVersions of 23 November 2026, with smaller tables and other numbers, are
// judged as they were then.
func TestFoldersOfEarlierVersions(t *testing.T) {
	t.Parallel()
	folders, err := filepath.Glob(filepath.Join("testdata", "earlier", "*"))
	if err != nil || len(folders) < 11 {
		t.Fatal(folders, err)
	}
	for _, folder := range folders {
		before, err := report.ReadJSON(filepath.Join(folder, report.FileResult))
		expect.NoError(t, err)
		dir := filepath.Join(t.TempDir(), filepath.Base(folder))
		expect.NoError(t, os.CopyFS(dir, os.DirFS(folder)))
		outcome, err := Recheck(t.Context(), dir, RecheckOptions{Version: "test", Progress: &diary{}})
		if err != nil || before.Verdict != check.Valid || outcome.Result.Verdict != check.Valid || len(outcome.Result.Checks) < len(before.Checks) {
			t.Errorf("%s: %v; it was %v with %d checks: %+v", folder, err, before.Verdict, len(before.Checks), outcome.Result)
		}
	}
}
