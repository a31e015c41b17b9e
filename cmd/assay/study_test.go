package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/google/jsonschema-go/jsonschema"

	"assay/internal/expect"
	"assay/report"
)

// smallStudy has two experiments of quick runs.
const smallStudy = `title: A small study
defaults: {db: "mem://", accounts: 100}
sizes:
  laptop: {ops: 30, repeat: 2}
  report: {ops: 60, repeat: 4}
experiments:
  transfers:
    workload: bank
    seed: 7
    matrix:
      clients: [1, 2]
      keys: [uniform, "zipf:0.99"]
    exclude: [{clients: 2, keys: uniform}]
  entities:
    workload: entity
    matrix:
      load:
        writes: {write-share: 1}
        through the service: {write-share: 0, db: sqlite:entities.sqlite, through-service: true}
`

func studyFile(t *testing.T, text string) (dir, file string) {
	t.Helper()
	dir = t.TempDir()
	file = filepath.Join(dir, "small.yaml")
	writeFile(t, text, file)
	return dir, file
}

// TestStudies: each study of the repository keeps the schema, and can be planned in
// each size.
func TestStudies(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join("..", "..", "studies", "*.yaml"))
	if err != nil || len(files) != 12 {
		t.Fatalf("%q, %v", files, err)
	}
	e := inside(t, "study", "--schema").want(t, exitValid)
	var schema jsonschema.Schema
	expect.NoError(t, json.Unmarshal([]byte(e.stdout), &schema))
	resolved, err := schema.Resolve(nil)
	expect.NoError(t, err)
	for _, file := range files {
		converted, err := yaml.YAMLToJSON([]byte(readFile(t, file)))
		var value any
		if err == nil {
			err = json.Unmarshal(converted, &value)
		}
		if err == nil {
			err = resolved.Validate(value)
		}
		if err != nil {
			t.Errorf("%s does not keep the schema: %v", file, err)
		}
		for _, size := range []string{"laptop", "report"} {
			e := inside(t, "study", file, "--dry-run", "--size", size).want(t, exitValid)
			if !strings.Contains(e.stdout, "size "+size+" of laptop, report; ") || strings.Count(e.stdout, "\n  assay run ") < 20 {
				t.Errorf("%s, size %s: %s", file, size, e.stdout)
			}
		}
	}
}

func TestStudyPlan(t *testing.T) {
	t.Parallel()
	dir, file := studyFile(t, smallStudy)
	e := assay(t, dir, "study", file, "--dry-run", "--size", "report", "--only", "transfers", "--repeat", "2").want(t, exitValid)
	expect.Text(t, e, e.stdout,
		"A small study\nsize report of laptop, report; 6 runs, about ", "transfers: 6 runs, about ",
		"\n  assay run bank --db mem:// --accounts 100 --ops 60 --clients 1 --keys uniform --seed 7\n"+
			"  assay run bank --db mem:// --accounts 100 --ops 60 --clients 1 --keys zipf:0.99 --seed 7\n"+
			"  assay run bank --db mem:// --accounts 100 --ops 60 --clients 2 --keys zipf:0.99 --seed 7\n"+
			"  assay run bank --db mem:// --accounts 100 --ops 60 --clients 1 --keys uniform --seed 8\n")
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("a plan leaves %v, %v", entries, err)
	}
}

// publishedStudy has prose too.
func publishedStudy() string {
	return strings.NewReplacer("title: A small study\n", "title: A small study\nquestion: Is a client enough?\n",
		"  transfers:\n", "  transfers:\n    title: Transfers by clients\n    charts: [tps, \"throughput by clients\"]\n    group: keys\n").Replace(smallStudy) +
		"questions: [{ask: Are two faster?, compare: \"clients=2 against clients=1 in tps\", experiment: transfers}, {ask: Is any lost?, found: transfers}]\n"
}

// TestStudyAsAWhole makes a study, with a run through a web service of its own, and
// goes on with it.
func TestStudyAsAWhole(t *testing.T) {
	t.Parallel()
	dir, file := studyFile(t, publishedStudy())
	e := assay(t, dir, "study", file, "--out", "made")
	e.want(t, exitNoVerdict, exitValid) // figures of so few operations are invalid
	expect.Text(t, e, e.stdout, "transfers: 6 of 6 runs made", "entities: 4 of 4 runs made", "article", "study.html", "Are two faster? ? With clients=2, throughput is not known")
	expect.Text(t, e, e.stderr, "experiment 2 of 2: entities", "run 2 of 6, clients=1, keys=zipf:0.99, repeat 1")
	tables := readFile(t, dir, "made", "study.md")
	// Figures of so few operations are marked where they stand.
	expect.Text(t, "study.md", tables, "# A small study", "Is a client enough?", "**Are two faster?** ? With clients=2, throughput is not known, since no measurement of a side is valid (keys zipf:0.99; ", "**Is any lost?** Nothing wrong was found in 6 runs.", "- made: ", "## Transfers by clients", "| **keys=zipf:0.99** | ", "| 1 | ", " ? |", "## Entities", "| through the service | ",
		"measurement is INVALID in", "assay study small.yaml --size laptop")
	for _, absolute := range []string{readFile(t, dir, "made", "study.html"), tables} {
		if strings.Contains(absolute, dir) {
			t.Error("the article names a folder of this machine")
		}
	}
	if csv := readFile(t, dir, "made", "runs.csv"); strings.Count(csv, "\n") != 11 || !strings.Contains(csv, "configuration") {
		t.Errorf("runs.csv: %s", csv)
	}
	expect.Text(t, "study.html", readFile(t, dir, "made", "study.html"), `<section aria-labelledby="transfers">`, "<summary>What the answers rest on</summary>", "no valid measurement", "Throughput by clients", "<figure class=\"lines bars\"", ">keys=uniform</th>", `class="heads"`)
	result, err := report.ReadJSON(filepath.Join(dir, "made", "entities", "001-002", "result.json"))
	if err != nil || !strings.Contains(fmt.Sprint(result.Options), "a web service in assay's own process") || result.Verdict.String() != "valid" {
		t.Errorf("through the service: %v, %+v", err, result)
	}

	assay(t, dir, "study", file, "--out", "made", "--quiet").want(t, exitNoVerdict, exitValid)
	assay(t, dir, "study", file, "--out", "apart", "--only", "entities", "--quiet").want(t, exitNoVerdict, exitValid)
	expect.Text(t, "study.md of one experiment", readFile(t, dir, "apart", "study.md"), "? Not known: experiment transfers has no result")
	testPublished(t, dir, file)
	if more := assay(t, dir, "study", file, "--out", "made", "--only", "transfers", "--repeat", "3"); strings.Contains(more.stderr, "run 6 of 9") || !strings.Contains(more.stderr, "run 7 of 9") {
		t.Errorf("one more repeat: %v", more)
	}
	other := assay(t, dir, "study", file, "--out", "made", "--size", "report").want(t, exitUsage)
	expect.Text(t, other, other.stderr, "holds a series of another plan")
}

// TestStudyIsInterrupted: what is made is told, and the same command goes on.
func TestStudyIsInterrupted(t *testing.T) {
	t.Parallel()
	dir, file := studyFile(t, smallStudy)
	p := start(t, command{dir: dir, args: []string{"study", file, "--only", "transfers", "--out", "made", "--size", "report"}})
	p.until("run 3 of 12")
	p.signal(syscall.SIGINT)
	cut := p.wait()
	cut.want(t, exitNoVerdict)
	expect.Text(t, cut, cut.stderr, "interrupted; the same command with --out made goes on")
	e := assay(t, dir, "study", file, "--only", "transfers", "--out", "made", "--size", "report").want(t, exitNoVerdict, exitValid)
	if strings.Contains(e.stderr, "run 1 of 12") || !strings.Contains(e.stdout, "transfers: 12 of 12 runs made") {
		t.Error(e)
	}
}

// TestStudyRefuses names what is wrong, where, and what may have been meant, before
// anything is made.
func TestStudyRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, want string }{
		{strings.Replace(smallStudy, "matrix:", "matirx:", 1), `small.yaml:10:5: there is no key "matirx" in an experiment of workload bank; did you mean matrix?`},
		{strings.Replace(smallStudy, "[1, 2]", "[2, many]", 1), `small.yaml:11:20: clients "many" cannot be used`},
		{strings.Replace(smallStudy, "zipf:0.99", "zipf:9", 1), `small.yaml:12:23: --keys "zipf:9"`},
		{strings.Replace(smallStudy, "seed: 7", "cluster: mongodb:0", 1), "small.yaml:9:"},
		{strings.Replace(smallStudy, "seed: 7", "fault: kill primary at 5", 1), "small.yaml:9:"},
		{strings.Replace(smallStudy, "seed: 7", "threshold: fast", 1), "small.yaml:9:16: "},
		{strings.Replace(smallStudy, "seed: 7", "price: cheap", 1), "small.yaml:9:12: "},
		{strings.Replace(smallStudy, "[1, 2]", "[2, 2]", 1), "small.yaml:7:3: the series has "},
		{strings.Replace(smallStudy, "[1, 2]", "[2, '1..8']", 1), "small.yaml:11:20: clients has several values here"},
		{strings.Replace(smallStudy, "seed: 7", "isolation: [serializable, read committed]", 1), "small.yaml:9:16: isolation has several values here; list them in the matrix"},
		{strings.Replace(smallStudy, "seed: 7", "group: client", 1), `small.yaml:9:12: rows cannot be grouped by "client": the matrix has clients, keys; did you mean clients?`},
		{strings.Replace(smallStudy, "{write-share: 1}", "{write-share: 1, repeat: 9}", 1), "small.yaml:14:3: repeat, seed and agents hold for a whole experiment"},
		{smallStudy + "questions: [{ask: Which?, experiment: transfers, compare: clients=2 against clients=1 in outage}]\n", `small.yaml:20:59: compare "clients=2 against clients=1 in outage": no run has "outage", since none has a fault`},
	} {
		dir, file := studyFile(t, c.text)
		e := inside(t, "study", file, "--out", filepath.Join(dir, "made"))
		if e.code != exitUsage || !strings.Contains(e.stderr, c.want) {
			t.Errorf("want %q: %v", c.want, e)
		}
		if _, err := os.Stat(filepath.Join(dir, "made")); err == nil {
			t.Errorf("%q: a folder is left", c.want)
		}
	}
	dir, file := studyFile(t, smallStudy)
	for _, args := range [][]string{
		{}, {"none.yaml"}, {file, "--size", "reprot"}, {file, "--only", "transfer"}, {file, "--repeat", "0"}, {file, file}, {file, "--out", dir},
	} {
		if e := assay(t, dir, append([]string{"study"}, args...)...); e.code != exitUsage || e.stderr == "" {
			t.Errorf("%q: %v", args, e)
		}
	}
}

// TestStudyKeepsPasswords: an address with a password is in no file of a study's report, wherever
// the study names it.
func TestStudyKeepsPasswords(t *testing.T) {
	t.Parallel()
	const address = "mem://clerk:hidden-one@host"
	dir, file := studyFile(t, `defaults: {accounts: 100, ops: 30, repeat: 1}
experiments:
  transfers:
    workload: bank
    matrix: {db: ["mem://", "`+address+`"]}
    reported: [{db: "`+address+`", throughput: 5, remark: "as said"}]
overview:
  - {title: All, rows: db, columns: [{of: transfers}, {show: tps, of: transfers, where: "`+address+`", ratio: "`+address+`"}]}
questions:
  - ask: Which is faster?
    compare: ["db=mem:// against db=`+address+` in tps", "`+address+` against mem:// in tps"]
`)
	e := assay(t, dir, "study", file, "--out", "made")
	for _, name := range []string{"study.yaml", "study.md", "study.html", "charts/transfers-throughput.svg", "runs.csv", "transfers/series.json"} {
		if strings.Contains(readFile(t, dir, "made", name), "hidden-one") {
			t.Errorf("%s tells the password", name)
		}
	}
	if strings.Contains(e.stdout+e.stderr, "hidden-one") {
		t.Error("the output tells the password")
	}
	expect.Text(t, "study.yaml", readFile(t, dir, "made", "study.yaml"), `matrix: {db: ["mem://", "mem://clerk:xxxxx@host"]}`)
	expect.Text(t, "study.md", readFile(t, dir, "made", "study.md"), "5.00/s", "as said", "no configuration with db=mem://clerk:xxxxx&#64;host has a run")
	_, wrong := studyFile(t, strings.Replace(readFile(t, file), "db="+address+" in", "mem://clerk:hidden-one@nowhere in", 1))
	if e := assay(t, dir, "study", wrong, "--out", "other").want(t, exitUsage); !strings.Contains(e.stderr, "small.yaml:11:15: ") || !strings.Contains(e.stderr, "no configuration has mem://clerk:xxxxx@nowhere") || strings.Contains(e.stderr, "hidden-one") {
		t.Error(e)
	}
}
