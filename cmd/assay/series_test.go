package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"assay/internal/expect"
)

func TestNumbers(t *testing.T) {
	for text, want := range map[string][]float64{
		"8": {8}, "1,2,4": {1, 2, 4}, "1,2,4..16": {1, 2, 4, 8, 16}, "3..10": {3, 6, 10}, "10..30+10": {10, 20, 30},
		"100/s, 200/s": {100, 200}, "5..5": {5}, "0.5": {0.5},
	} {
		var n numbers
		if err := n.Set(text); err != nil || !slices.Equal(n.values, want) {
			t.Errorf("%q: %v, %v; want %v", text, n.values, err, want)
		}
	}
	for _, text := range []string{"", "x", "0", "-1", "1,", "8..4", "1..", "..2", "1..1e300+1", "1..2+0", "inf", "nan", "1..9+x"} {
		var n numbers
		if err := n.Set(text); err == nil {
			t.Errorf("%q: %v", text, n.values)
		}
	}
}

// TestSeriesAndCompare makes a small series and compares it as a user does. Figures of so few
// operations are invalid.
func TestSeriesAndCompare(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	args := []string{"run", "bank", "--db", "mem://", "--ops", "50", "--clients", "1,2", "--repeat", "4", "--seed", "7", "--out", "series", "--accounts", "100"}
	e := assay(t, dir, args...).want(t, exitNoVerdict, exitValid)
	e.shows(t, "clients=1", "clients=2", "VALID in 4 of 4 runs", "throughput", "p99")
	expect.Text(t, "the progress", e.stderr, "run 8 of 8, clients=2, repeat 4, about")
	expect.Text(t, "the page", readFile(t, dir, "series", "report.html"), "Response time by percentile")
	if again := assay(t, dir, args...).want(t, exitNoVerdict, exitValid); strings.Contains(again.stderr, "run 1 of 8") {
		t.Errorf("what is made is made again: %v", again)
	}
	assay(t, dir, "report", "series").want(t, exitValid).shows(t, "8 runs", "Response time")
	if csv := assay(t, dir, "report", "series", "--format", "csv").want(t, exitValid); strings.Count(csv.stdout, "\n") != 9 {
		t.Errorf("csv: %v", csv)
	}
	var read struct {
		Rows []struct {
			Metric      string   `json:"metric"`
			A           *float64 `json:"a"`
			B           *float64 `json:"b"`
			Change      *float64 `json:"change"`
			P           *float64 `json:"p"`
			Significant *bool    `json:"significant"`
		}
	}
	e = assay(t, dir, "compare", "series", "--json").want(t, exitValid)
	if err := json.Unmarshal([]byte(e.stdout), &read); err != nil || len(read.Rows) < 5 || read.Rows[0].Metric != "throughput" ||
		read.Rows[0].A == nil || read.Rows[0].B == nil || read.Rows[0].Change == nil || read.Rows[0].P == nil || read.Rows[0].Significant == nil {
		t.Errorf("%v, %+v: %v", err, read, e)
	}
}

// believe copies a series and has the measurements of its runs be valid.
func believe(t *testing.T, folder string) string {
	t.Helper()
	copied := filepath.Join(t.TempDir(), "believed")
	expect.NoError(t, os.CopyFS(copied, os.DirFS(folder)))
	files, err := filepath.Glob(filepath.Join(copied, "*", "result.json"))
	if err != nil || len(files) < 2 {
		t.Fatalf("the results are %v, %v", files, err)
	}
	for _, file := range files {
		var result map[string]json.RawMessage
		expect.NoError(t, json.Unmarshal([]byte(readFile(t, file)), &result))
		result["measurement"] = json.RawMessage(`{"verdict": "valid", "reasons": []}`)
		text, err := json.Marshal(result)
		expect.NoError(t, err)
		writeFile(t, string(text), file)
	}
	return copied
}

func TestCompareRefuses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, more := range map[string][]string{"a": {"--seed", "1"}, "b": {"--seed", "2", "--clients", "2"}, "same": {"--seed", "1"}} {
		assay(t, dir, append([]string{"run", "bank", "--db", "mem://", "--ops", "20", "--out", name, "--quiet", "--accounts", "100"}, more...)...).want(t, exitNoVerdict, exitValid)
	}
	expect.Text(t, "another load", assay(t, dir, "compare", "a", "b").want(t, exitUsage).stderr, "--allow load compares")
	assay(t, dir, "compare", "a", "b", "--allow", "load").want(t, exitValid).shows(t, "differ in load")
	assay(t, dir, "compare", "a", "--keep", "kept.json").want(t, exitValid)
	assay(t, dir, "compare", "kept.json", "same", "--format", "markdown").want(t, exitValid).shows(t, "| throughput |")
	for _, args := range []string{"", "a", "a none", "a same --gate throughput>-5%", "a same --gate x", "a same --allow x", "a same --format x", "a same --html no/page.html",
		"a --keep again.json --gate throughput>-5%", "a --keep again.json --junit gate.xml", "a --keep again.json --json", "a same --html x --picture ./x"} {
		if e := assay(t, dir, append([]string{"compare"}, strings.Fields(args)...)...).want(t, exitUsage); e.stderr == "" {
			t.Errorf("%q: nothing is said", args)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "again.json")); err == nil {
		t.Error("a baseline was kept, though what was asked for beside it was refused")
	}
}

func TestSeriesRefuses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, args := range [][]string{
		{"--clients", "1.5"}, {"--clients", "x"}, {"--repeat", "0"}, {"--db", "mem://", "--cluster", "postgres:1"}, {"--clients", "1,1"},
		{"--rate", "0"}, {"--option", "latency=1ms|nonsense=2", "--db", "mem://"},
	} {
		e := assay(t, dir, append([]string{"run", "bank", "--out", "series", "--ops", "5"}, args...)...)
		if e.code == exitValid || e.code == exitNoVerdict || e.stderr == "" {
			t.Errorf("%q: %v", args, e)
		}
	}
}

// TestSweep sweeps as a user does, with an objective that is kept and one that no
// database keeps. Runs of 90 operations are too short to answer either.
func TestSweep(t *testing.T) {
	t.Parallel()
	const unanswered = "? not answered, since it rests on invalid measurements or runs without a verdict: objective "
	dir := t.TempDir()
	sweep := func(slo string) ended {
		return assay(t, dir, "sweep", "bank", "--db", "mem://", "--ops", "90", "--clients", "1,2,3,4", "--accounts", "100", "--out", "sweep", "--slo", slo).want(t, exitNoVerdict)
	}
	expect.Text(t, "the output", unwrapped(sweep("max<1h").stdout), "peak", "Universal Scalability Law", "contention", unanswered+"max<1h is kept at")
	var saved savedSweep
	if err := json.Unmarshal([]byte(readFile(t, dir, "sweep", "sweep.json")), &saved); err != nil || !saved.Unanswered || saved.Law == nil || saved.Rate <= 0 || len(saved.Tries) < 2 || saved.Peak == 0 {
		t.Errorf("%+v, %v", saved, err)
	}
	// The runs of the sweep are there; only the search is made again.
	again := sweep("max<1ns")
	expect.Text(t, "again", unwrapped(again.stdout), unanswered+"max<1ns: no rate was found")
	if strings.Contains(again.stderr, "run 1 of 4") {
		t.Errorf("what is made is made again: %v", again)
	}
	for _, args := range []string{"", "candles", "bank --rate 5", "bank --slo x", "bank --clients 4", "bank --db mem:// --db sqlite:x"} {
		if e := assay(t, dir, append([]string{"sweep"}, strings.Fields(args)...)...).want(t, exitUsage); e.stderr == "" {
			t.Errorf("%q: nothing is said", args)
		}
	}
}

// TestSweepFindsViolation breaks the database, and lets the runs over --clients stand as valid, so
// that the search alone finds it.
func TestSweepFindsViolation(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	args := []string{"sweep", "bank", "--db", "mem://?bug=lost-update:0.5", "--ops", "200", "--clients", "4,8", "--accounts", "5", "--out", "sweep", "--slo", "max<1h"}
	assay(t, dir, args...).want(t, exitViolated)
	path := filepath.Join(dir, "sweep", "series.json")
	series := regexp.MustCompile(`"code": *1`).ReplaceAllString(readFile(t, dir, "sweep", "series.json"), `"code": 0`)
	expect.NoError(t, os.WriteFile(path, []byte(series), 0o600))
	e := assay(t, dir, args...).want(t, exitViolated)
	expect.Text(t, "the output", unwrapped(e.stdout), "the search for a rate ended, since the run at", "violated")
	expect.Text(t, "the errors", e.stderr, "violated", "rate-")
	if strings.Contains(e.stderr, "run 1 of 2") {
		t.Errorf("what is made is made again: %v", e)
	}
}
