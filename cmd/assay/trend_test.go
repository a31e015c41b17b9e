package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"assay/internal/expect"
)

// TestTrendOfRuns goes from runs to the trend of them, in every form, and refuses what
// has none.
func TestTrendOfRuns(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	assay(t, dir, "run", "bank", "--db", "mem://", "--ops", "30", "--accounts", "100", "--repeat", "10", "--out", "nightly", "--quiet").want(t, exitValid, exitNoVerdict)
	assay(t, dir, "run", "bank", "--db", "mem://", "--ops", "30", "--accounts", "100", "--clients", "1,2", "--out", "mixed", "--quiet").want(t, exitValid, exitNoVerdict)
	text := assay(t, dir, "trend", "nightly", "--html", "trend.html").want(t, exitValid)
	expect.Text(t, text, text.stdout, "10 runs of nightly", "throughput")
	if page, err := os.ReadFile(filepath.Join(dir, "trend.html")); err != nil || !strings.Contains(string(page), "mean between changes") {
		t.Errorf("the page lacks the chart (%v)", err)
	}
	var read struct {
		Trends []struct {
			Runs    []struct{ Folder string }
			Metrics []struct{ Values []float64 }
		}
	}
	program := assay(t, dir, "trend", "nightly", "--json").want(t, exitValid)
	if err := json.Unmarshal([]byte(program.stdout), &read); err != nil || len(read.Trends) != 1 || len(read.Trends[0].Metrics[0].Values) != 10 {
		t.Errorf("%v: %s", err, program.stdout)
	}
	expect.NoError(t, os.Mkdir(filepath.Join(dir, "empty"), 0o755))
	for want, args := range map[string][]string{
		"no such file":              {"none"},
		"neither a run":             {"empty"},
		"takes 10 or more":          {"mixed"},
		"is no change in percent":   {"nightly", "--min-change", "5"},
		"is none of text, markdown": {"nightly", "--format", "pdf"},
		"--configuration":           {"nightly", "--configuration", "clients=7"},
	} {
		e := assay(t, dir, append([]string{"trend"}, args...)...).want(t, exitUsage)
		expect.Text(t, args, e.complaint(t), want)
	}
}
