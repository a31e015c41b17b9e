package runner

import (
	"path/filepath"
	"strings"
	"testing"

	"assay/check"
)

// anyBalance makes a balance text, which assay's own tables refuse.
const anyBalance = `CREATE TABLE loose AS SELECT * FROM assay_account; DROP TABLE assay_account; ALTER TABLE loose RENAME TO assay_account;
	UPDATE assay_account SET balance = 'much' WHERE id = 7`

// TestARowThatCannotBeRead is a finding, and other proofs stay, also when judged again.
func TestARowThatCannotBeRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	s := small("sqlite:"+path, 3, 100)
	out := carryOutBy(t, s, Options{Progress: &intruder{stage: atReading, act: func() { execute(t, path, anyBalance) }}})
	for _, r := range []Outcome{out, recheck(t, out.Folder)} {
		verdicts := map[string]check.Verdict{}
		for _, c := range r.Result.Checks {
			verdicts[c.Name] = c.Verdict
		}
		if r.Result.Verdict != check.Violated || verdicts["readable"] != check.Violated || verdicts["transfers"] != check.Valid || !strings.Contains(details(r.Result), "account") {
			t.Errorf("%v: %s", r.Result.Verdict, details(r.Result))
		}
	}
}
