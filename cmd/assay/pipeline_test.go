package main

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/joshdk/go-junit"

	"assay/internal/expect"
	"assay/report"
	"assay/runner/powercuts"
)

// testReport reads a test report as other programs do.
func testReport(t *testing.T, parts ...string) (suites []junit.Suite, all junit.Totals) {
	t.Helper()
	suites, err := junit.Ingest([]byte(readFile(t, parts...)))
	expect.NoError(t, err)
	for _, s := range suites {
		all.Tests += s.Totals.Tests
		all.Passed += s.Totals.Passed
		all.Failed += s.Totals.Failed
		all.Error += s.Totals.Error
		all.Skipped += s.Totals.Skipped
	}
	return suites, all
}

// TestFilesOfARun: a violation is a failure with its evidence in the test report and in the
// summary, and the percentiles are those of result.json; assay check writes the same again.
func TestFilesOfARun(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	assay(t, dir, "run", "bank", "--option", "bug=lost-ack:0.05", "--ops", "500", "--accounts", "100", "--out", "saved", "--quiet",
		"--junit", "run.xml", "--summary", "run.md", "--hgrm", "run.hgrm").want(t, exitViolated)
	suites, all := testReport(t, dir, "run.xml")
	if len(suites) != 1 || suites[0].Name != "bank on SQLite" || all.Failed < 1 || all.Error != 0 || suites[0].Properties["seed"] == "" {
		t.Fatalf("the test report has %+v", suites)
	}
	for _, c := range suites[0].Tests {
		if c.Name == "transfers" && (c.Status != junit.StatusFailed || !strings.Contains(c.Error.Error(), "lost: transfer")) {
			t.Errorf("transfers: %+v", c)
		}
	}
	expect.Text(t, "the summary", readFile(t, dir, "run.md"), "## bank on SQLite", "VIOLATED", "Exit code 1", "Found by transfers", "| throughput |", "saved/report.html")
	assay(t, dir, "check", "saved", "--quiet", "--junit", "check.xml", "--summary", "check.md", "--hgrm", "check.hgrm").want(t, exitViolated)
	if _, again := testReport(t, dir, "check.xml"); again != all {
		t.Errorf("run counts %+v, and check %+v", all, again)
	}
	if readFile(t, dir, "run.hgrm") != readFile(t, dir, "check.hgrm") || readFile(t, dir, "run.md") != readFile(t, dir, "check.md") {
		t.Error("check writes other percentiles, or another summary, than run")
	}
	r, err := report.ReadJSON(filepath.Join(dir, "saved", report.FileResult))
	expect.NoError(t, err)
	text := readFile(t, dir, "run.hgrm")
	expect.Text(t, "the percentiles", text, "Value\tPercentile\tTotalCount\t1/(1-Percentile)", "Unit    = ms", fmt.Sprintf("Total count    = %12d]", r.Latency.Count))
	// The committed ones, without those that were under way while assay stood still.
	if committed := r.Measured.Committed; r.Latency.Count > committed || r.Latency.Count < committed && len(r.Client.Stalls) == 0 {
		t.Errorf("%d response times of %d committed operations, with the stalls %v", r.Latency.Count, committed, r.Client.Stalls)
	}
	// Three digits of a value are told apart.
	for share, want := range map[float64]float64{0.5: r.Latency.P50, 1: r.Latency.Max} {
		if got := percentileOf(t, text, share); math.Abs(got-want) > want/500 {
			t.Errorf("the percentile %v is %v ms there, and %v in result.json", share, got, want)
		}
	}
}

// percentileOf is the value at the first percentile that is not below a share.
func percentileOf(t *testing.T, text string, share float64) float64 {
	t.Helper()
	for line := range strings.Lines(text) {
		cells := strings.Fields(line)
		if len(cells) != 4 || strings.HasPrefix(line, "#") {
			continue
		}
		value, err := strconv.ParseFloat(cells[0], 64)
		percentile, noNumber := strconv.ParseFloat(cells[1], 64)
		if err == nil && noNumber == nil && percentile >= share {
			return value
		}
	}
	t.Fatalf("there is no percentile %v", share)
	return 0
}

// TestFilesOfWhatCannotRun: a pipeline is told why there is no result, without the password.
func TestFilesOfWhatCannotRun(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	e := ends(t, command{dir: dir, args: []string{"run", "bank", "--junit", "run.xml", "--summary", "run.md", "--connect-timeout", "2s"},
		env: []string{"ASSAY_DB=postgres://me:hush-hush@127.0.0.1:1/x"}}).want(t, exitCannotRun)
	_, all := testReport(t, dir, "run.xml")
	if all.Error != 1 || all.Tests != 1 {
		t.Errorf("the test report counts %+v", all)
	}
	for _, name := range []string{"run.xml", "run.md"} {
		text := readFile(t, dir, name)
		if strings.Contains(text+e.stderr, "hush-hush") {
			t.Errorf("%s has the password: %s", name, text)
		}
		expect.Text(t, name, text, "cannot reach postgres://me")
	}
}

// TestFilesOfASeries: each run is a suite of its own, and the summary has a line for each
// configuration; a comparison has its gates.
func TestFilesOfASeries(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	assay(t, dir, "run", "bank", "--db", "mem://", "--ops", "50", "--accounts", "100", "--clients", "1,2", "--repeat", "4", "--out", "series",
		"--junit", "series.xml", "--summary", "-").want(t, exitValid, exitNoVerdict).shows(t, "# bank: a series of 8 runs", "| clients=2 | 4 of 4 |")
	suites, all := testReport(t, dir, "series.xml")
	if len(suites) != 8 || suites[7].Name != "bank on assay's reference database, clients=2, repeat 4" || all.Failed+all.Error != 0 {
		t.Errorf("the test report has %d suites, the last %q, and counts %+v", len(suites), suites[len(suites)-1].Name, all)
	}
	believed := believe(t, filepath.Join(dir, "series"))
	for gate, want := range map[string]junit.Totals{"throughput>-100%": {Tests: 1, Passed: 1}, "throughput>+100000%": {Tests: 1, Failed: 1}} {
		code := map[bool]int{true: exitThreshold, false: exitValid}[want.Failed > 0]
		assay(t, dir, "compare", believed, "--gate", gate, "--junit", "gate.xml", "--summary", "gate.md").want(t, code)
		_, all := testReport(t, dir, "gate.xml")
		if all != want {
			t.Errorf("%s counts %+v", gate, all)
		}
		expect.Text(t, "the summary", readFile(t, dir, "gate.md"), "gate throughput", "| throughput |")
	}
	assay(t, dir, "compare", "series", "--format", "markdown", "--picture", "a (b) c.svg").want(t, exitValid).shows(t, "](a%20%28b%29%20c.svg)", "| throughput |")
	expect.Text(t, "the picture", readFile(t, dir, "a (b) c.svg"), "<svg ", ">throughput: ")
	assay(t, dir, "compare", "series", "--gate", "throughput>-5%", "--junit", "gate.xml").want(t, exitNoVerdict)
	if _, all := testReport(t, dir, "gate.xml"); all.Error != 1 {
		t.Errorf("a gate on invalid measurements counts %+v", all)
	}
	assay(t, dir, "sweep", "bank", "--db", "mem://", "--ops", "50", "--accounts", "100", "--clients", "1,2", "--slo", "p99<1us", "--out", "sweep",
		"--junit", "sweep.xml", "--summary", "sweep.md", "--quiet").want(t, exitThreshold, exitNoVerdict)
	suites, _ = testReport(t, dir, "sweep.xml")
	if last := suites[len(suites)-1]; len(suites) != 3 || last.Tests[0].Name != "objective p99<1us" || last.Tests[0].Status == junit.StatusPassed {
		t.Errorf("the last of %d suites is %+v", len(suites), last)
	}
	expect.Text(t, "the summary", readFile(t, dir, "sweep.md"), "throughput and response time against load")
}

// shows wants standard output to have parts of a text.
func (e ended) shows(t *testing.T, parts ...string) {
	t.Helper()
	expect.Text(t, e, e.stdout, parts...)
}

// TestFilesOfAStudy: all runs of all experiments, also those that could not be made.
func TestFilesOfAStudy(t *testing.T) {
	t.Parallel()
	dir, file := studyFile(t, `title: Two experiments
defaults: {db: "mem://", ops: 50, accounts: 100}
experiments:
  first: {workload: bank, repeat: 2}
  second: {workload: bank, db: "postgres://127.0.0.1:1/x"}
`)
	assay(t, dir, "study", file, "--out", "made", "--junit", "study.xml", "--summary", "study.md").want(t, exitCannotRun).
		shows(t, "first: 2 of 2 runs made", "second: 0 of 1 runs made; exit code 5", "could not be made: ")
	suites, all := testReport(t, dir, "study.xml")
	if len(suites) != 3 || suites[1].Name != "bank on assay's reference database, first, repeat 2" || all.Error != 1 {
		t.Errorf("the test report counts %+v in %+v", all, suites)
	}
	expect.Text(t, "the summary", readFile(t, dir, "study.md"), "# Two experiments", "second: ", "cannot reach")
}

// TestFilesOfAHistory: another tool's history is one case.
func TestFilesOfAHistory(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeFile(t, skewed, dir, "skew.edn")
	assay(t, dir, "check", "skew.edn", "--model", "serializable", "--junit", "check.xml", "--summary", "check.md").want(t, exitViolated)
	if suites, all := testReport(t, dir, "check.xml"); all.Failed != 1 || suites[0].Tests[0].Name != "skew.edn" {
		t.Errorf("the test report is %+v", suites)
	}
	expect.Text(t, "the summary", readFile(t, dir, "check.md"), "## skew.edn", "not serializable")
	assay(t, dir, "check", "skew.edn", "--hgrm", "x.hgrm").want(t, exitUsage)
}

// TestStepSummary: GitHub's file is appended to, also where it is named by the flag, and not
// touched where the flag names another.
func TestStepSummary(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	step := filepath.Join(dir, "step.md")
	run := func(more ...string) ended {
		args := append([]string{"run", "bank", "--db", "mem://", "--ops", "50", "--accounts", "100", "--quiet"}, more...)
		return ends(t, command{dir: dir, args: args, env: []string{stepSummary + "=" + step}})
	}
	writeFile(t, "before", step)
	run().want(t, exitValid)
	run("--summary", step).want(t, exitValid)
	run("--summary", "other.md").want(t, exitValid)
	run("--summary", "").want(t, exitValid)
	text := readFile(t, step)
	if !strings.HasPrefix(text, "before\n") || strings.Count(text, "\n## bank on ") != 2 {
		t.Errorf("the step's summary is %s", text)
	}
	step = filepath.Join(dir, "missing", "step.md")
	if e := run().want(t, exitValid); !strings.Contains(e.stderr, "note: no summary is written") {
		t.Errorf("of a folder that is missing it says %s", e.stderr)
	}
}

// TestFilesAreRefused: what cannot be written is told before any work, and nothing is made.
func TestFilesAreRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, args := range []string{
		"--junit missing/run.xml", "--summary missing/run.md", "--hgrm missing/run.hgrm", "--junit .", "--junit -", "--hgrm -",
		"--summary - --json", "--hgrm run.hgrm --repeat 2", "--junit run.txt --summary ./run.txt", "--summary run.txt --hgrm run.txt",
	} {
		all := append([]string{"run", "bank", "--db", "mem://", "--ops", "10", "--out", "saved"}, strings.Fields(args)...)
		assay(t, dir, all...).want(t, exitUsage).complaint(t)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("it left %v, %v", left, err)
	}
	// What fails later is told as well, and the result was printed.
	e := assay(t, dir, "run", "bank", "--db", "mem://", "--ops", "50", "--accounts", "100", "--junit", "/dev/full").want(t, exitCannotRun)
	expect.Text(t, e, e.stdout+e.stderr, "verdict       VALID", "write /dev/full: ")
	if info, err := os.Stat("/dev/full"); err != nil || info.Mode()&os.ModeDevice == 0 {
		t.Errorf("the device is not there any more: %v", err)
	}
}

// TestFilesOfTrials: each power cut is a case, by its setting.
func TestFilesOfTrials(t *testing.T) {
	dir := t.TempDir()
	var out strings.Builder
	f := pipelineFlags{junit: filepath.Join(dir, "trials.xml"), summary: onOutput}
	trials := []powercuts.Trial{
		{Setting: "fsync=on", Cut: "one node", Verdict: "valid", Acknowledged: 4000, Recovered: -1},
		{Setting: "fsync=off", Cut: "all nodes", Verdict: "violated", Why: "12 operations were lost", Recovered: 310},
		{Setting: "fsync=off", Cut: "one node", Verdict: "unknown", Why: "it did not come back", Recovered: -1},
	}
	err := f.finish(&out, ofTrials("postgres:2", trials), exitError(exitViolated))
	if code := exitCode(err, &out); code != exitViolated {
		t.Errorf("it ends with %d", code)
	}
	suites, all := testReport(t, dir, "trials.xml")
	if (all != junit.Totals{Tests: 3, Passed: 1, Failed: 1, Error: 1}) || suites[0].Tests[1].Name != "fsync=off, power cut: all nodes" || suites[0].Tests[1].Message != "12 operations were lost" {
		t.Errorf("the test report is %+v", suites)
	}
	expect.Text(t, "the summary", out.String(), "## Durability of postgres:2", "| fsync=on | ", "4,000")
}
