package runner

import (
	"slices"
	"testing"

	"assay/report"
	"assay/workload/isolation"
)

// TestHowListsAreAppendedTo: an append by reading and writing is not called atomic alone. Folders
// that call it so can be read.
func TestHowListsAreAppendedTo(t *testing.T) {
	for database, want := range map[string]string{
		"fdb://": "atomic (read and written anew in the transaction)", "postgres://host": "atomic", "": "atomic",
	} {
		s := small(database, 1, 10)
		become(&s, isolation.Definition())
		got := s.settings()
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
