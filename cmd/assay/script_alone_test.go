package main

import (
	"strings"
	"testing"

	"assay/internal/expect"
)

// TestScriptAlone runs scripts that break their own rules with one client, in which isolation has
// no part: the transaction is named with the state before and after it, and nothing is said about
// the vendor. Their twins are right.
func TestScriptAlone(t *testing.T) {
	t.Parallel()
	const boxes = "CREATE TABLE box (k bigint PRIMARY KEY, n bigint NOT NULL);\nINSERT INTO box VALUES (1, 100), (2, 100);\n"
	const sum = "-- assay: invariant sum equals 200: SELECT sum(n) FROM box\n"
	const up, down = "UPDATE box SET n = n + 1 WHERE k = 1;\n", "UPDATE box SET n = n - 1 WHERE k = 2;\n"
	for name, c := range map[string]struct {
		script string
		says   []string // nil if it is right
	}{
		"leaking":       {sum + "BEGIN;\n" + up + "END;\n", []string{`breaks invariant "sum" with one client alone`, "before it 200", "after it 201", "n = n + 1"}},
		"apart":         {sum + up + down, []string{"outside of BEGIN and COMMIT", "before it 200", "after it 201"}},
		"together":      {sum + "BEGIN;\n" + up + down + "END;\n", nil},
		"counted twice": {"-- assay: counted box start 2 each 1:\nBEGIN;\nINSERT INTO box VALUES (:operation_id + 10, 0);\nINSERT INTO box VALUES (-:operation_id, 0);\nEND;\n", []string{`breaks counted "box"`, "before it 2", "after it 4"}},
		"counted":       {"-- assay: counted box start 2 each 1:\nINSERT INTO box VALUES (:operation_id + 10, 0);\n", nil},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			writeFile(t, boxes, dir, "setup.sql")
			writeFile(t, c.script, dir, "work.sql")
			e := assay(t, dir, "run", "script", "work.sql", "--setup", "setup.sql", "--ops", "20", "--clients", "2", "--warmup", "0s", "--out", "run")
			if c.says == nil {
				e.want(t, exitValid)
				if state := readFile(t, dir, "run", "state.json"); strings.Contains(state, `"alone": 0`) || !strings.Contains(state, `"alone"`) {
					t.Errorf("what one client kept is not in %s", state)
				}
				return
			}
			e.want(t, exitUsage)
			expect.Text(t, e, e.stderr, c.says...)
		})
	}
}

// TestAnExpectationAlone: a script whose only rule is an expectation is tried alone as well.
func TestAnExpectationAlone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeFile(t, `def setup(db):
    db.exec("CREATE TABLE box (k bigint PRIMARY KEY)")
def look(tx, r):
    tx.expect(tx.value("SELECT count(*) FROM box"), equals = 1, what = "boxes")
transaction("look", run = look)
`, dir, "work.star")
	e := assay(t, dir, "run", "script", "work.star", "--ops", "20", "--warmup", "0s", "--out", "run")
	e.want(t, exitUsage)
	expect.Text(t, e, e.stderr, `transaction "look" breaks its own expectation with one client alone`)
}
