package main

import (
	"strings"
	"testing"

	"assay/internal/expect"
)

// TestCompareNamesTheSettingThatDiffers: a DBA who changes one setting sees it beside what it was,
// whatever the seeds.
func TestCompareNamesTheSettingThatDiffers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for out, spec := range map[string]string{"before": "postgres:1", "after": "postgres:1,set.shared_buffers=16MB,set.synchronous_commit=off"} {
		assay(t, dir, "run", "bank", "--cluster", spec, "--accounts", "100", "--ops", "60", "--out", out, "--quiet").want(t, exitNoVerdict, exitValid)
	}
	e := assay(t, dir, "compare", "before", "after").want(t, exitValid)
	expect.Text(t, e, strings.Join(strings.Fields(e.stdout), " "), "With after, throughput ", "They do not promise the same: what is acknowledged survives", "shared_buffers 128MB -> 16MB", "synchronous_commit on -> off", "Made 20")
}
