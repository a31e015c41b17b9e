package main

import (
	"bytes"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"assay/internal/expect"
	"assay/runner/known"
)

// TestKnownBugs: the three that take least time, and no network, are found again on the broken
// setting and not on the mended one. make record finds all.
func TestKnownBugs(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"redis-power-cut-writes-lost", "sqlite-delete-journal-power-cut", "mongodb-w1-power-cut"} {
		e := assay(t, dir, "known", name, "--record", name+".jsonl").want(t, exitValid)
		if record := readFile(t, filepath.Join(dir, name+".jsonl")); !strings.Contains(e.stdout, ": found: ") || strings.Count(record, `"found":true`) != 1 || strings.Count(record, "\n") != 2 {
			t.Errorf("%v\n%s", e, record)
		}
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
	e := assay(t, dir, "known", "none.yaml").want(t, exitNoVerdict)
	e.shows(t, "synchronous full, run 2,", "synchronous extra, run 2,", "not found: the verdict is valid")
	undecided := strings.Replace(text, "check: transfers", "check: replicas", 1) // SQLite has none
	writeFile(t, undecided, dir, "undecided.yaml")
	assay(t, dir, "known", "undecided.yaml", "--record", "record.jsonl").want(t, exitNoVerdict)
	if record := readFile(t, filepath.Join(dir, "record.jsonl")); strings.Count(record, `"undecided":2`) != 2 {
		t.Error(record)
	}
	writeFile(t, strings.Replace(text, "verdict: violated", "verdict: bad", 1), dir, "none.yaml")
	e = assay(t, dir, "known", "none.yaml").want(t, exitUsage)
	expect.Text(t, e, e.stderr, "none.yaml:11:36: finds.verdict: it is violated or allowed")
}

// TestKnownGoesOn: what cannot run is named at the end, and the others are searched for.
func TestKnownGoesOn(t *testing.T) {
	t.Parallel()
	row := func(name string, words ...string) known.Row {
		return known.Row{Name: name, Product: "SQLite", Differs: "version", Broken: "1", Bound: 1, Run: words, Finds: known.Finds{Check: "transfers", Verdict: "violated"}}
	}
	f := &knownFlags{repeat: 2, out: t.TempDir()}
	cmd := &cobra.Command{}
	var out bytes.Buffer
	cmd.SetOut(&out)
	cmd.SetContext(t.Context())
	err := f.searchAll(cmd, []known.Row{row("lost", "bank", "--db", "postgres://u@127.0.0.1:1/none"), row("honest", "bank", "--ops", "50")})
	if code := exitCode(err, io.Discard); code != exitCannotRun || !strings.Contains(err.Error(), "lost could not run: ") {
		t.Errorf("the code is %d: %v", code, err)
	}
	if text := out.String(); strings.Count(text, "  could not run: ") != 1 || strings.Count(text, "not found: the verdict is valid") != 2 {
		t.Error(text)
	}
}

func TestKnownLists(t *testing.T) {
	t.Parallel()
	inside(t, "known").want(t, exitValid).shows(t, "postgresql-serializable-g2-item\n  PostgreSQL (version 12.2): ")
	e := inside(t, "known", "postgresql-serializable-g2-itm").want(t, exitUsage)
	expect.Text(t, e, e.stderr, "postgresql-serializable-g2-item")
}
