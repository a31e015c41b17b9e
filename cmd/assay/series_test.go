package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"assay/internal/expect"
	"assay/report"
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

// TestSeriesAndCompare makes a small series and compares it as a user does.
func TestSeriesAndCompare(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "series")
	args := []string{"run", "bank", "--db", "mem://", "--ops", "50", "--clients", "1,2", "--repeat", "4", "--seed", "7", "--out", folder, "--accounts", "100"}
	code, out, diagnostics := commandLine(t, args...)
	if code != exitNoVerdict && code != exitValid { // figures of so few operations are invalid
		t.Fatalf("exit %d: %s", code, diagnostics)
	}
	expect.Text(t, "the output", out, "clients=1", "clients=2", "VALID in 4 of 4 runs", "throughput", "p99")
	expect.Text(t, "the progress", diagnostics, "run 8 of 8, clients=2, repeat 4, about")
	page, err := os.ReadFile(filepath.Join(folder, "report.html"))
	if err != nil || !strings.Contains(string(page), "Response time by percentile") {
		t.Errorf("the page: %v", err)
	}
	if code, _, diagnostics := commandLine(t, args...); code != exitNoVerdict && code != exitValid || strings.Contains(diagnostics, "run 1 of 8") {
		t.Errorf("again: exit %d, %s", code, diagnostics)
	}

	if code, out, _ := commandLine(t, "report", folder); code != exitValid || !strings.Contains(out, "8 runs") || !strings.Contains(out, "Response time") {
		t.Errorf("tables: exit %d, %s", code, out)
	}
	if code, out, _ := commandLine(t, "report", folder, "--format", "csv"); code != exitValid || strings.Count(out, "\n") != 9 {
		t.Errorf("csv: exit %d, %s", code, out)
	}
	for gate, want := range map[string]int{"throughput>-100%": exitValid, "throughput>+100000%": exitThreshold} {
		if code, out, _ := commandLine(t, "compare", folder, "--gate", gate); code != exitNoVerdict || !strings.Contains(unwrapped(out), "it rests on invalid measurements") {
			t.Errorf("a gate on runs that are too short: exit %d, %s", code, out)
		}
		believed := believe(t, folder)
		if code, out, _ := commandLine(t, "compare", believed, "--gate", gate); code != want || strings.Contains(out, "missed") != (want == exitThreshold) {
			t.Errorf("%s: exit %d, %s", gate, code, out)
		}
	}
	code, out, diagnostics = commandLine(t, "compare", folder, "--json")
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
	if err := json.Unmarshal([]byte(out), &read); err != nil || code != exitValid || len(read.Rows) < 5 || read.Rows[0].Metric != "throughput" ||
		read.Rows[0].A == nil || read.Rows[0].B == nil || read.Rows[0].Change == nil || read.Rows[0].P == nil || read.Rows[0].Significant == nil {
		t.Errorf("exit %d, %v, %+v: %s", code, err, read, diagnostics)
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
	folder := t.TempDir()
	run := func(name string, more ...string) string {
		path := filepath.Join(folder, name)
		args := append([]string{"run", "bank", "--db", "mem://", "--ops", "20", "--out", path, "--quiet", "--accounts", "100"}, more...)
		if code, _, diagnostics := commandLine(t, args...); code != exitNoVerdict && code != exitValid {
			t.Fatalf("exit %d: %s", code, diagnostics)
		}
		return path
	}
	a, b, same := run("a", "--seed", "1"), run("b", "--seed", "2", "--clients", "2"), run("c", "--seed", "1")
	if code, _, diagnostics := commandLine(t, "compare", a, b); code != exitUsage || !strings.Contains(diagnostics, "--allow load compares") {
		t.Errorf("exit %d: %s", code, diagnostics)
	}
	if code, out, diagnostics := commandLine(t, "compare", a, b, "--allow", "load"); code != exitValid || !strings.Contains(out, "differ in load") {
		t.Errorf("exit %d: %s %s", code, out, diagnostics)
	}
	kept := filepath.Join(folder, "kept.json")
	if code, _, diagnostics := commandLine(t, "compare", a, "--keep", kept); code != exitValid {
		t.Errorf("keep: exit %d: %s", code, diagnostics)
	}
	if code, out, diagnostics := commandLine(t, "compare", kept, same, "--format", "markdown"); code != exitValid || !strings.Contains(out, "| throughput |") {
		t.Errorf("a baseline: exit %d: %s %s", code, out, diagnostics)
	}
	for _, args := range [][]string{
		{}, {a}, {a, filepath.Join(folder, "none")}, {a, same, "--gate", "throughput>-5%"}, {a, same, "--gate", "x"}, {a, same, "--allow", "x"}, {a, same, "--format", "x"},
		{a, same, "--html", filepath.Join(folder, "no", "page.html")},
	} {
		if code, _, diagnostics := commandLine(t, append([]string{"compare"}, args...)...); code != exitUsage || diagnostics == "" {
			t.Errorf("%q: exit %d, %s", args, code, diagnostics)
		}
	}
}

func TestSeriesRefuses(t *testing.T) {
	for _, args := range [][]string{
		{"--clients", "1.5"}, {"--clients", "x"}, {"--repeat", "0"}, {"--db", "mem://", "--cluster", "postgres:1"}, {"--clients", "1,1"},
		{"--rate", "0"}, {"--option", "latency=1ms|nonsense=2", "--db", "mem://"},
	} {
		folder := filepath.Join(t.TempDir(), "series")
		code, _, diagnostics := commandLine(t, append([]string{"run", "bank", "--out", folder, "--ops", "5"}, args...)...)
		if code == exitValid || code == exitNoVerdict || diagnostics == "" {
			t.Errorf("%q: exit %d, %s", args, code, diagnostics)
		}
	}
}

// TestSeriesWithARunThatCannotBeMade: the others are made, and it is told at the end.
func TestSeriesWithARunThatCannotBeMade(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "series")
	code, out, diagnostics := commandLine(t, "run", "bank", "--db", "mem://", "--db", "postgres://127.0.0.1:1/none", "--connect-timeout", "1s", "--ops", "20", "--accounts", "100", "--out", folder)
	if code != exitCannotRun || !strings.Contains(out, "1 run of the series could not be made") || !strings.Contains(out, "VALID in 1 of 1 run") {
		t.Errorf("exit %d: %s %s", code, out, diagnostics)
	}
	s, err := report.ReadSeries(folder)
	if err != nil || s.Runs[1].State != report.StateFailed || s.Runs[1].Problem == "" {
		t.Errorf("%s, %v", fmt.Sprint(s), err)
	}
}

// commandLine runs a command line to its end.
func commandLine(t *testing.T, args ...string) (code int, out, diagnostics string) {
	t.Helper()
	e := assay(t, t.TempDir(), args...)
	return e.code, e.stdout, e.stderr
}

// TestSweep sweeps as a user does, with an objective that is kept and one that no
// database keeps. Runs of 90 operations are too short to answer either.
func TestSweep(t *testing.T) {
	const unanswered = "? not answered, since it rests on invalid measurements: objective "
	folder := filepath.Join(t.TempDir(), "sweep")
	args := []string{"sweep", "bank", "--db", "mem://", "--ops", "90", "--clients", "1,2,3,4", "--accounts", "100", "--out", folder, "--slo"}
	code, out, diagnostics := commandLine(t, append(args, "max<1h")...)
	if code != exitNoVerdict {
		t.Fatalf("exit %d: %s", code, diagnostics)
	}
	expect.Text(t, "the output", unwrapped(out), "peak", "Universal Scalability Law", "contention", unanswered+"max<1h is kept at")
	text, err := os.ReadFile(filepath.Join(folder, "sweep.json"))
	var saved savedSweep
	if err == nil {
		err = json.Unmarshal(text, &saved)
	}
	if err != nil || !saved.Unanswered || saved.Law == nil || saved.Rate <= 0 || len(saved.Tries) < 2 || saved.Peak == 0 {
		t.Errorf("%+v, %v", saved, err)
	}
	// The runs of the sweep are there; only the search is made again.
	code, out, diagnostics = commandLine(t, append(args, "max<1ns")...)
	if code != exitNoVerdict || !strings.Contains(unwrapped(out), unanswered+"max<1ns: no rate was found") || strings.Contains(diagnostics, "run 1 of 4") {
		t.Errorf("exit %d: %s %s", code, out, diagnostics)
	}
	for _, args := range [][]string{
		{"sweep"}, {"sweep", "candles"}, {"sweep", "bank", "--rate", "5"}, {"sweep", "bank", "--slo", "x"}, {"sweep", "bank", "--clients", "4"},
		{"sweep", "bank", "--db", "mem://", "--db", "sqlite:x"},
	} {
		if code, _, diagnostics := commandLine(t, args...); code != exitUsage || diagnostics == "" {
			t.Errorf("%q: exit %d, %s", args, code, diagnostics)
		}
	}
}
