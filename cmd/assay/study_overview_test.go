package main

import (
	"path/filepath"
	"strings"
	"testing"

	"assay/internal/expect"
)

// overviewStudy has a database that keeps its word, one that loses what it acknowledged, and one
// that has no transactions, which is never started.
const overviewStudy = `title: Databases
defaults: {accounts: 100, records: 20, ops: 200, repeat: 2, seed: 7}
matrix:
  system:
    memory: {db: "mem://"}
    forgetful: {db: "mem://?bug=lost-ack:0.2"}
    Cassandra: {cluster: "cassandra:1"}
experiments:
  transfers:
    title: Transfers
    workload: bank
    columns: [database]
    charts: none
    matrix:
      clients: [1, 2]
    exclude:
      - {system: forgetful, clients: 2, because: one client is enough}
      - {system: Cassandra, clients: 2, because: it has no transactions anyway}
  records:
    workload: ycsb
    charts: none
    matrix:
      system:
        forgetful: {db: "mem://"}
    exclude: [{system: Cassandra, because: nothing is to be started in a test}]
overview:
  - title: What they serve
    rows: system
    columns:
      - {of: transfers, where: clients=1}
      - {title: two clients, of: transfers, where: clients=2}
      - {title: ycsb, of: records}
      - {title: kept, show: anomalies, of: transfers}
      - {title: speed, show: tps, of: transfers, where: clients=1, ratio: memory}
`

// TestStudyHasAnOverview: the tables over several experiments say how runs ended, lead to what was
// found, and why what is not run is not: by the catalog, or by the file.
func TestStudyHasAnOverview(t *testing.T) {
	t.Parallel()
	dir, file := studyFile(t, overviewStudy)
	plan := assay(t, dir, "study", file, "--dry-run").want(t, exitValid)
	const impossible = "not possible: Cassandra has no transaction over several partitions"
	expect.Text(t, plan, plan.stdout, "transfers: 6 runs", "  system=Cassandra, clients=1: "+impossible, "  system=forgetful, clients=2: not run: one client is enough")
	if strings.Contains(plan.stdout, "assay run bank --cluster") {
		t.Errorf("what is not possible is planned: %s", plan.stdout)
	}

	at := filepath.Join(dir, "reports")
	assay(t, dir, "study", file, "--out", "made", "--publish", at, "--quiet").want(t, exitViolated)
	text, page := readFile(t, at, "small.md"), readFile(t, at, "small.html")
	expect.Text(t, "small.md", text, "## What they serve", "| system | Transfers | two clients | ycsb | kept | speed |",
		"| memory | ✓ valid in 2 of 2 runs | ✓ valid in 2 of 2 runs | ✓ valid in 2 of 2 runs | ",
		"| forgetful | [✗ violated in 2 of 2 runs](#found-in-transfers-system-forgetful-clients-1) | not run: one client is enough | ✓ valid in 2 of 2 runs | ",
		"| Cassandra | "+impossible, "| not run: nothing is to be started in a test | ",
		"### Found in transfers system forgetful clients 1", "- transfers, lost: ", ", seeded on purpose (lost-ack:0.2); such as: ",
		"- Transfers: system=Cassandra, clients=2: "+impossible)
	expect.Text(t, "small.html", page, `<h2 id="overview-0">`, `<a href="#found-in-transfers-system-forgetful-clients-1">violated in 2 of 2 runs</a>`,
		`<h3 id="found-in-transfers-system-forgetful-clients-1">`)
	if strings.Contains(text, "](charts/") {
		t.Error("there are charts")
	}
	sections := sectionsOf(text)
	for _, target := range linksOf(text) {
		if _, section, found := strings.Cut(target, "#"); found && !sections[section] {
			t.Errorf("the link to %s leads nowhere", target)
		}
	}
}

// TestNothingLeftOfAStudy: a study of which nothing can be made is refused before any run.
func TestNothingLeftOfAStudy(t *testing.T) {
	t.Parallel()
	_, file := studyFile(t, strings.NewReplacer(`db: "mem://"`, `cluster: "cassandra:1"`, `db: "mem://?bug=lost-ack:0.2"`, `cluster: "cassandra:1"`).Replace(overviewStudy))
	e := inside(t, "study", file, "--only", "transfers", "--out", filepath.Join(t.TempDir(), "made")).want(t, exitUsage)
	expect.Text(t, e, e.stderr, "nothing is left to run: not possible: Cassandra has no transaction")
	_, file = studyFile(t, strings.Replace(overviewStudy, "show: anomalies", "show: anomalis", 1))
	e = inside(t, "study", file, "--out", filepath.Join(t.TempDir(), "made")).want(t, exitUsage)
	expect.Text(t, e, e.stderr, `an overview cannot show "anomalis"`, "small.yaml:33:")
}
