package runner

import (
	"slices"
	"testing"

	"assay/report"
	"assay/workload/isolation"
)

// TestHowListsAreAppendedTo: an append that a driver makes by reading and writing
// anew is not called atomic alone, and a folder that does call it so is read.
func TestHowListsAreAppendedTo(t *testing.T) {
	for database, want := range map[string]string{
		"fdb://": "atomic (read and written anew in the transaction)", "postgres://host": "atomic", "": "atomic",
	} {
		s := small(database, 1, 10)
		s.Workload = isolation.Name
		got := isolationOptions(s)
		if !slices.Contains(got, report.Setting{Name: "appends", Value: want}) {
			t.Errorf("%q: %+v, want appends %s", database, got, want)
		}
		old := slices.DeleteFunc(got, func(o report.Setting) bool { return o.Name == "appends" })
		old = append(old, report.Setting{Name: "appends", Value: "atomic"})
		if differs := changed(s, &report.Result{Workload: s.Workload, Seed: 1, Options: old}); differs != "" {
			t.Errorf("%q: a folder of an earlier version is refused: %s", database, differs)
		}
	}
}

// TestUnknownIsNotNotDone: nothing is said of what became of unknown operations
// if nothing was read back.
func TestUnknownIsNotNotDone(t *testing.T) {
	folder, s := t.TempDir(), small("mem://", 1, 10)
	if got, want := unknownNote(folder, s, "1 unknown transfer", 1, 0), "it is not known what became of 1 unknown transfer: the database was not read back"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	out := carryOut(t, s)
	if got, want := unknownNote(out.Folder, s, "2 unknown transfers", 2, 1), "of 2 unknown transfers 1 turned out done, 1 not done"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
