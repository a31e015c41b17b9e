package main

import (
	"path/filepath"
	"strings"
	"testing"

	"assay/internal/expect"
)

// TestExportSaysWhatItLeavesOut: a run of all tests has four kinds of transactions,
// of which other tools judge two, one at a time.
func TestExportSaysWhatItLeavesOut(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	assay(t, dir, "run", "isolation", "--db", "mem://", "--test", "all", "--ops", "300", "--out", "saved", "--quiet").want(t, exitValid, exitNoVerdict)
	for test, want := range map[string]string{"append": "--test register writes", "register": "--test append writes"} {
		e := assay(t, dir, "export", "saved", "--test", test, "--out", test+".edn").want(t, exitValid)
		if said := unwrapped(e.stderr); !strings.Contains(said, want) || !strings.Contains(said, "pairs of rows, for which other tools have no form") || strings.Contains(said, "--test "+test+" writes") {
			t.Errorf("%s: it says %s", test, said)
		}
		judged := assay(t, dir, "check", test+".edn").want(t, exitValid)
		if kind := map[string]string{"append": "list-append", "register": "rw-register"}[test]; !strings.Contains(judged.stdout, kind) {
			t.Errorf("%s: judged as %s", test, judged.stdout)
		}
	}
	for _, args := range [][]string{{"saved", "--test", "pairs"}, {"bank", "--test", "append"}} {
		if args[0] == "bank" {
			assay(t, dir, "run", "bank", "--db", "mem://", "--ops", "50", "--accounts", "10", "--out", "bank", "--quiet").want(t, exitValid, exitNoVerdict)
		}
		assay(t, dir, append([]string{"export"}, args...)...).want(t, exitUsage).complaint(t)
	}
	whole := assay(t, dir, "export", "bank", "--out", filepath.Join(dir, "bank.edn")).want(t, exitValid)
	expect.Text(t, whole, whole.stderr, "audits of accounts")
}
