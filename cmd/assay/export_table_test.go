package main

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"assay/cluster/server"
	"assay/internal/expect"
)

// duckDB returns what a statement answers, rows as lines. It is a reader that is not
// ours.
func duckDB(t *testing.T, statement string) string {
	t.Helper()
	cache, err := server.CacheDir()
	expect.NoError(t, err)
	out, err := exec.CommandContext(t.Context(), filepath.Join(cache, "bin", "duckdb-query"), statement).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s (make servers installs it)\n%s", err, out, statement)
	}
	return strings.TrimSpace(string(out))
}

// TestExportedTables: another program reads every format, finds the same in each, and
// as much as the result says.
func TestExportedTables(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	assay(t, dir, "run", "bank", "--db", "mem://?timeout=0.05", "--accounts", "100", "--ops", "3000", "--out", "bank", "--quiet").want(t, exitValid, exitNoVerdict)
	assay(t, dir, "run", "availability", "--db", "mem://", "--duration", "1s", "--warmup", "0s", "--out", "availability", "--quiet").want(t, exitValid, exitNoVerdict)
	file := func(name, format string) string { return "'" + filepath.Join(dir, name+"."+format) + "'" }
	for workload, kind := range map[string]string{"bank": "transfer", "availability": "insert"} {
		r := resultOf(t, filepath.Join(dir, workload))
		for what, want := range map[string]struct{ query, answer, as string }{
			"operations": {fmt.Sprintf("SELECT count(*) FILTER (last), count(*) FILTER (final = 'committed'), count(*) FILTER (final = 'unknown'), count(*) > 0, min(end_ns - due_ns) > 0 FROM (SELECT * FROM {} WHERE kind = '%s')", kind),
				fmt.Sprintf("%d,%d,%d,True,True", r.Outcomes.Total(), r.Outcomes.Committed, r.Outcomes.Unknown), "coalesce(COLUMNS(*)::varchar, '')"},
			"series": {"SELECT count(*), sum(committed)::bigint, count(*) FILTER (p99_ms IS NULL) >= count(*) FILTER (committed = 0), min(p50_ms) > 0, bool_or(measured) FROM {}",
				fmt.Sprintf("%d,%d,True,True,True", len(r.Series.Start), sum(r.Series.Committed)), "coalesce(round(COLUMNS(*)::double, 9), -1)"},
		} {
			name := workload + "-" + what
			var asked, differ []string
			for _, format := range []string{"csv", "json", "parquet"} {
				assay(t, dir, "export", workload, "--format", format, "--what", what, "--out", name+"."+format).want(t, exitValid)
				asked = append(asked, strings.Replace(want.query, "{}", file(name, format), 1))
				differ = append(differ, fmt.Sprintf("SELECT count(*) FROM (SELECT %[1]s FROM %[2]s EXCEPT ALL SELECT %[1]s FROM %[3]s)", want.as, file(name, format), file(name, "parquet")))
			}
			if got := duckDB(t, strings.Join(asked, " UNION ALL ")); got != want.answer+"\n"+want.answer+"\n"+want.answer {
				t.Errorf("%s as CSV, JSON and Parquet: %s, want %s of each", name, got, want.answer)
			}
			if got := duckDB(t, strings.Join(differ, " UNION ALL ")); got != "0\n0\n0" {
				t.Errorf("%s: rows of the CSV, JSON and Parquet file that are not in the last: %s", name, got)
			}
		}
	}
}

func sum(values []int64) (total int64) {
	for _, v := range values {
		total += v
	}
	return total
}

func TestExportRefuses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	assay(t, dir, "run", "entity", "--db", "mem://", "--ops", "50", "--out", "entity", "--quiet").want(t, exitValid, exitNoVerdict)
	for _, args := range [][]string{
		{"--format", "xlsx"}, {"--format", "csv", "--what", "history"}, {"--format", "edn", "--what", "series"}, {"--what", "everything"},
		{"--format", "csv", "--test", "append"}, {"--format", "edn"},
	} {
		assay(t, dir, append([]string{"export", "entity"}, args...)...).want(t, exitUsage).complaint(t)
	}
	assay(t, dir, "export", dir, "--format", "parquet").want(t, exitUsage).complaint(t)
	// Other tools have no form for its history, so that JSON has its operations.
	if e := assay(t, dir, "export", "entity", "--format", "json").want(t, exitValid); !strings.Contains(e.stdout, `"due_ns":`) {
		t.Errorf("it writes %.200s", e.stdout)
	}
}
