package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"

	"assay/check"
	"assay/internal/expect"
	"assay/report"
)

// resultOf reads what a run left in its folder.
func resultOf(t *testing.T, folder string) *report.Result {
	t.Helper()
	r, err := report.ReadJSON(filepath.Join(folder, "result.json"))
	expect.NoError(t, err)
	return r
}

// sound wants a run that came to its end and found nothing wrong. A machine
// that is too slow for a measurement is no failure here.
func (e ended) sound(t *testing.T, folder string) ended {
	t.Helper()
	e.want(t, exitValid, exitNoVerdict)
	if r := resultOf(t, folder); r.Verdict != check.Valid || r.Outcomes.Committed == 0 {
		t.Errorf("the verdict is %v: %v", r.Verdict, e)
	}
	return e
}

// unlessBusy is the exit code that a run should have had, or that of no verdict
// if the machine had so much else to do that its figures are invalid for nothing
// but that.
func unlessBusy(r *report.Result, code int) int {
	if code != exitValid && code != exitThreshold || !r.Measurement.Invalid() || len(r.Thresholds) == 0 && !r.Strict {
		return code
	}
	for _, reason := range r.Measurement.Reasons {
		if !strings.HasPrefix(reason, "machine busy: ") && !strings.HasPrefix(reason, "stalled: ") && !strings.HasPrefix(reason, "client saturated: ") &&
			!strings.HasPrefix(reason, "no steady state: ") {
			return code
		}
	}
	return exitNoVerdict
}

// readFile returns a whole file.
func readFile(t *testing.T, parts ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(parts...))
	expect.NoError(t, err)
	return string(text)
}

// writeFile writes a file into folders that it makes.
func writeFile(t *testing.T, text string, parts ...string) {
	t.Helper()
	path := filepath.Join(parts...)
	err := os.MkdirAll(filepath.Dir(path), 0o755)
	if err == nil {
		err = os.WriteFile(path, []byte(text), 0o600)
	}
	expect.NoError(t, err)
}

// narrow wants no line to be wider than a terminal of 80 columns.
func narrow(t *testing.T, text string) {
	t.Helper()
	for line := range strings.Lines(text) {
		if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > 80 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
}

// TestFirstCommand is what a newcomer types.
func TestFirstCommand(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	e := assay(t, dir, "run", "bank", "--duration", "2s", "--warmup", "1200ms", "--verbose").want(t, exitValid, exitNoVerdict)
	narrow(t, e.stdout)
	narrow(t, e.stderr)
	expect.Text(t, e, e.stdout, "VALID", "committed/s", "p99", "total", "accounts", "transfers", "seed", "report.html", "runs/")
	expect.Text(t, e, e.stderr, "loading 10,000 rows", "overall", "the warm-up is over")
	folders, err := filepath.Glob(filepath.Join(dir, "runs", "*-bank-sqlite"))
	if err != nil || len(folders) != 1 {
		t.Fatalf("folders %v, %v", folders, err)
	}
	e.sound(t, folders[0])
	r, named := resultOf(t, folders[0]), strings.TrimPrefix(folders[0], dir+"/")
	judged := assay(t, dir, "check", named).want(t, e.code)
	narrow(t, judged.stdout)
	if again := resultOf(t, folders[0]); !reflect.DeepEqual(again.Throughput, r.Throughput) || again.Outcomes != r.Outcomes {
		t.Errorf("judged again: %+v where %+v was", again.Throughput, r.Throughput)
	}
	shown := assay(t, dir, "report", named).want(t, 0)
	if shown.stderr != "" || !strings.Contains(shown.stdout, "VALID") {
		t.Errorf("%v", shown)
	}
}

func TestExitCodes(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		args string
		code int
		says string // on standard output
	}{
		{"valid", "--db mem://?latency=2ms --duration 1s", exitValid, "VALID"},
		{"violated", "--db mem://?bug=lost-ack:0.05 --ops 2000", exitViolated, "VIOLATED"},
		{"violated dominates a threshold", "--db mem://?latency=2ms&bug=lost-ack:0.05 --duration 1s --other-work 100% --threshold throughput>1000000000", exitViolated, "VIOLATED"},
		{"a threshold missed", "--db mem://?latency=2ms --duration 1s --other-work 100% --threshold p50<1ms --threshold throughput>1", exitThreshold, "p50<1ms"},
		{"all thresholds kept", "--db mem://?latency=2ms --duration 1s --threshold p50>1ms", exitValid, "p50>1ms"},
		{"too short, and nothing rests on it", "--db mem://?latency=2ms --duration 100ms", exitValid, "too short"},
		{"too short, and strict", "--db mem://?latency=2ms --duration 100ms --strict", exitNoVerdict, "too short"},
		{"too short dominates a threshold", "--db mem://?latency=2ms --duration 100ms --threshold p50<1ms", exitNoVerdict, "too short"},
		{"nothing committed", "--db mem://?timeout=1 --ops 200", exitNoVerdict, "nothing committed"},
	}
	for _, test := range tests {
		t.Run(strings.ReplaceAll(test.name, " ", "-"), func(t *testing.T) {
			t.Parallel()
			args := append([]string{"run", "bank", "--accounts", "100", "--warmup", "0s", "--out", "run"}, strings.Fields(test.args)...)
			dir := t.TempDir()
			e := assay(t, dir, args...)
			r := resultOf(t, filepath.Join(dir, "run"))
			code := unlessBusy(r, test.code)
			e.want(t, code)
			expect.Text(t, e, e.stdout, test.says)
			narrow(t, e.stdout)
			quiet := assay(t, dir, "check", "run", "--quiet").want(t, code).stdout
			// An invalid measurement answers no threshold.
			missed := !r.Measurement.Invalid() && (strings.Contains(test.args, "p50<1ms") || strings.Contains(test.args, ">1000000000"))
			if strings.Count(quiet, "\n") != 1 || strings.Contains(quiet, "threshold missed: ") != missed || strings.Contains(quiet, "exit ") != (code != 0) {
				t.Errorf("--quiet says %q", quiet)
			}
			if x := resultOf(t, filepath.Join(dir, "run")).Exit; x.Code != code || (len(x.Reasons) == 0) != (code == 0) {
				t.Errorf("result.json says %+v", x)
			}
		})
	}
}

// TestResultOnStandardOutput: --json prints result.json and nothing else, and
// it is as its schema says.
func TestResultOnStandardOutput(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	text, err := os.ReadFile(filepath.Join("..", "..", "report", "schema.json"))
	expect.NoError(t, err)
	var schema jsonschema.Schema
	expect.NoError(t, json.Unmarshal(text, &schema))
	resolved, err := schema.Resolve(nil)
	expect.NoError(t, err)
	run := assay(t, dir, "run", "bank", "--json", "--accounts", "100", "--duration", "1s", "--warmup", "0s", "--out", "run",
		"--threshold", "p99<1h").sound(t, filepath.Join(dir, "run"))
	if run.stdout != readFile(t, dir, "run", "result.json") {
		t.Error("standard output is not result.json")
	}
	for _, e := range []ended{run, assay(t, dir, "check", "--json", "run").want(t, run.code), assay(t, dir, "report", "--format", "json", "run").want(t, 0)} {
		var result any
		decoder := json.NewDecoder(strings.NewReader(e.stdout))
		if err := decoder.Decode(&result); err != nil || decoder.More() {
			t.Fatalf("not one document: %v, %v", err, e)
		}
		if err := resolved.Validate(result); err != nil {
			t.Errorf("%v", err)
		}
	}
	if page := assay(t, dir, "report", "--format", "html", "run").want(t, 0); strings.TrimSpace(page.stdout) != filepath.Join("run", "report.html") {
		t.Errorf("%v", page)
	}
	assay(t, dir, "report", "--format", "markdown", "run").want(t, 0).shows(t, "|---")
	again := assay(t, dir, "check", "--quiet", "run").want(t, run.code)
	if strings.Count(again.stdout, "\n") != 1 || again.stderr != "" || !strings.HasPrefix(again.stdout, "bank: valid, ") {
		t.Errorf("%v", again)
	}
	writeFile(t, "{}", dir, "run", "result.json")
	for _, command := range []string{"check", "report"} {
		expect.Text(t, "the complaint", assay(t, dir, command, "run").want(t, exitUsage).complaint(t), "result.json")
	}
}

func TestScenarioRunsAgain(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	assay(t, dir, "run", "bank", "--db", "mem://", "--clients", "1", "--ops", "300", "--accounts", "77", "--seed", "18446744073709551615",
		"--keys", "zipf:0.99", "--retry", "failed", "--out", "first").want(t, exitNoVerdict, exitValid)
	assay(t, dir, "run", "bank", "--scenario", "first/scenario.yaml", "--out", "second").want(t, exitNoVerdict, exitValid)
	if a, b := readFile(t, dir, "first", "scenario.yaml"), readFile(t, dir, "second", "scenario.yaml"); a != b {
		t.Errorf("the scenario became\n%s, from\n%s", b, a)
	}
	if a, b := resultOf(t, filepath.Join(dir, "first")), resultOf(t, filepath.Join(dir, "second")); a.Outcomes != b.Outcomes || a.Seed != b.Seed {
		t.Errorf("%+v, then %+v", a.Outcomes, b.Outcomes)
	}
	// A flag beside it counts, and only that.
	assay(t, dir, "run", "bank", "--scenario", "first/scenario.yaml", "--clients", "3", "--out", "third").want(t, exitNoVerdict, exitValid)
	third := readFile(t, dir, "third", "scenario.yaml")
	if want := strings.Replace(readFile(t, dir, "first", "scenario.yaml"), "clients: 1\n", "clients: 3\n", 1); third != want {
		t.Errorf("the scenario became\n%s, want\n%s", third, want)
	}
}

func TestSeedIsChosenAndKept(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	seeds := map[uint64]bool{}
	for _, out := range []string{"a", "b"} {
		e := assay(t, dir, "run", "bank", "--db", "mem://", "--ops", "10", "--accounts", "10", "--out", out, "--quiet")
		if strings.Count(e.stdout, "\n") != 1 || e.stderr != "" || !strings.HasPrefix(e.stdout, "bank: valid, ") {
			t.Errorf("%v", e)
		}
		r := resultOf(t, filepath.Join(dir, out))
		seeds[r.Seed] = true
		expect.Text(t, "the report", assay(t, dir, "report", out).stdout, "seed ")
	}
	if len(seeds) != 2 {
		t.Errorf("two runs had the seeds %v", seeds)
	}
}

func TestList(t *testing.T) {
	t.Parallel()
	text := inside(t, "list").want(t, 0).stdout
	var cells []struct {
		Driver, Workload, Reason string
		Supported                bool
	}
	decoder := json.NewDecoder(strings.NewReader(inside(t, "list", "--json").want(t, 0).stdout))
	decoder.DisallowUnknownFields()
	expect.NoError(t, decoder.Decode(&cells))
	seen := map[string]bool{}
	for _, c := range cells {
		if c.Driver == "" || c.Workload == "" || c.Supported != (c.Reason == "") || seen[c.Driver+" "+c.Workload] {
			t.Errorf("cell %+v, seen before: %v", c, seen[c.Driver+" "+c.Workload])
		}
		seen[c.Driver+" "+c.Workload] = true
		expect.Text(t, "the text", text, c.Driver, c.Workload)
	}
	for _, driver := range []string{"sqlite", "postgres", "mongodb", "mem"} {
		if !seen[driver+" bank"] {
			t.Errorf("nothing is said of bank on %s", driver)
		}
	}
}
