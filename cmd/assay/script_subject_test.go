package main

import (
	"path/filepath"
	"strings"
	"testing"

	"assay/internal/expect"
)

// TestScriptWithoutSubject runs scripts of which nothing took effect, which have no verdict, and
// one that declares nothing, which nobody wants one of.
func TestScriptWithoutSubject(t *testing.T) {
	t.Parallel()
	const table = "def setup(db):\n    db.exec('CREATE TABLE box (k bigint PRIMARY KEY, n bigint NOT NULL CHECK (n < 3))')\n" +
		"    db.insert('box', columns=['k', 'n'], rows=[(1, 0)])\n"
	for name, c := range map[string]struct {
		script  string
		code    int
		says    []string
		verdict string
	}{
		"refused": {"def work(tx, r):\n    reject('never')\ntransaction('work', run = work)\ninvariant('n', 'SELECT n FROM box', equals = 0)\n", exitNoVerdict,
			[]string{"nothing took effect: of 20 operations none committed", "never"}, "unknown"},
		"undeclared": {"def work(tx, r):\n    tx.exec('UPDATE box SET n = 1 - n')\ntransaction('work', run = work)\n", exitValid,
			[]string{"NOT JUDGED: no invariant was declared, nothing is known of what the transactions did"}, "unknown"},
		"constraint": {"def work(tx, r):\n    tx.exec('UPDATE box SET n = n + 1')\ntransaction('work', run = work)\n", exitValid,
			[]string{"constraint violated (failed): sqlite", "CHECK constraint failed: n < 3"}, "unknown"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			writeFile(t, table+c.script, dir, "work.star")
			e := assay(t, dir, "run", "script", "work.star", "--ops", "20", "--clients", "1", "--warmup", "0s", "--observe", "0", "--out", "run").want(t, c.code)
			expect.Text(t, e, unwrapped(e.stdout+e.stderr), c.says...)
			r := resultOf(t, filepath.Join(dir, "run"))
			if r.Verdict.String() != c.verdict {
				t.Errorf("the verdict is %s", r.Verdict)
			}
			if name == "constraint" && (len(r.Errors) != 1 || !strings.Contains(r.Errors[0].First, "CHECK constraint failed")) {
				t.Errorf("the errors are %+v", r.Errors)
			}
		})
	}
}
