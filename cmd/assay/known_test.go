package main

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestKnownBugs: the three that take least time are found again, on the broken setting and not
// on the mended one. make record finds all.
func TestKnownBugs(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"mariadb-repeatable-read-update-lost", "redis-power-cut-writes-lost", "mongodb-w1-power-cut"} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			e := assay(t, dir, "known", name, "--record", "record.jsonl")
			e.want(t, exitValid)
			if record := readFile(t, filepath.Join(dir, "record.jsonl")); !strings.Contains(e.stdout, ": found: ") || strings.Count(record, `"found":true`) != 1 || strings.Count(record, "\n") != 2 {
				t.Errorf("%v\n%s", e, record)
			}
		})
	}
}

// TestKnownByAFile: a bug of one's own that is not there is not found, on SQLite.
func TestKnownByAFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	text := `name: none
product: SQLite
bug: it loses transfers
found-by: nobody
told: https://example.org
promised: that it loses none
differs: synchronous
broken: full
mended: extra
run: [bank, --option, "synchronous={}", --ops, "50"]
finds: {check: transfers, verdict: violated}
bound: 2
`
	writeFile(t, text, dir, "none.yaml")
	e := assay(t, dir, "known", "none.yaml")
	e.want(t, exitNoVerdict)
	for _, want := range []string{"synchronous full, run 2,", "synchronous extra, run 2,", "not found: the verdict is valid"} {
		if !strings.Contains(e.stdout, want) {
			t.Errorf("no %q in %v", want, e)
		}
	}
	writeFile(t, strings.Replace(text, "verdict: violated", "verdict: bad", 1), dir, "none.yaml")
	e = assay(t, dir, "known", "none.yaml")
	e.want(t, exitUsage)
	if !strings.Contains(e.stderr, "none.yaml:11:36: finds.verdict: it is violated or allowed") {
		t.Error(e)
	}
}

func TestKnownLists(t *testing.T) {
	t.Parallel()
	e := assay(t, t.TempDir(), "known")
	e.want(t, exitValid)
	if !strings.Contains(e.stdout, "postgresql-serializable-g2-item\n  PostgreSQL (version 12.2): ") {
		t.Error(e)
	}
	e = assay(t, t.TempDir(), "known", "postgresql-serializable-g2-itm")
	e.want(t, exitUsage)
	if !strings.Contains(e.stderr, "postgresql-serializable-g2-item") {
		t.Error(e)
	}
}
