package main

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"assay/catalog"
	"assay/check"
)

func TestReferenceIsCurrent(t *testing.T) {
	folder := filepath.Join("..", "..", "docs", "reference")
	want := referencePages()
	found, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range found {
		if _, ok := want[f.Name()]; !ok {
			t.Errorf("%s is no page of the reference; make reference writes it anew", f.Name())
		}
	}
	for name, text := range want {
		if readFile(t, folder, name) != text {
			t.Errorf("%s is out of date; make reference writes it anew", name)
		}
		for part := range strings.SplitSeq(text, "](") {
			if target, _, found := strings.Cut(part, ".md)"); found && !strings.Contains(target, "/") && want[target+".md"] == "" {
				t.Errorf("%s refers to %s.md, which is not there", name, target)
			}
		}
	}
}

// TestChecksAreThoseOfARun: what the reference says of the checks is complete.
func TestChecksAreThoseOfARun(t *testing.T) {
	arguments := map[string][]string{
		"bank":         {"--ops", "200", "--accounts", "100"},
		"isolation":    {"--ops", "400", "--test", "all"},
		"availability": {"--duration", "1s", "--warmup", "0s"},
		"entity":       {"--ops", "200"},
		"candles":      {"--candles", "2000", "--queries", "50"},
		"bulkupdate":   {"--users", "5", "--documents", "10", "--workers", "1,2"},
		"churn":        {"--rows", "500", "--cycles", "1"},
	}
	for _, w := range catalog.Workloads() {
		folder := filepath.Join(t.TempDir(), "run")
		assay(t, t.TempDir(), append([]string{"run", w.Name, "--db", "mem://", "--quiet", "--out", folder}, arguments[w.Name]...)...).sound(t, folder)
		var want, got []string
		for _, c := range w.Checks {
			want = append(want, c.Name)
		}
		want = append(want, recordCheck)
		for _, c := range resultOf(t, folder).Checks {
			got = append(got, c.Name)
			if c.Verdict != check.Valid {
				t.Errorf("%s: %s is %v: %s", w.Name, c.Name, c.Verdict, c.Detail)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s has the checks %v, and its definition %v", w.Name, got, want)
		}
	}
	if names := slices.Sorted(maps.Keys(arguments)); len(names) != len(catalog.Workloads()) {
		t.Errorf("%v are run, which are not all workloads", names)
	}
}
