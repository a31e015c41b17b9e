package main

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"assay/check"
	"assay/internal/expect"
	"assay/runner/catalog"
)

func TestReferenceIsCurrent(t *testing.T) {
	folder := filepath.Join("..", "..", "docs", "reference")
	want := referencePages()
	found, err := os.ReadDir(folder)
	expect.NoError(t, err)
	for _, f := range found {
		if _, ok := want[f.Name()]; !ok {
			t.Errorf("%s is no page of the reference; make reference writes it anew", f.Name())
		}
	}
	for name, text := range want {
		if readFile(t, folder, name) != text {
			t.Errorf("%s is out of date; make reference writes it anew", name)
		}
		for _, target := range linksOf(text) {
			file, section, _ := strings.Cut(target, "#")
			if file == "" {
				file = name
			}
			if section != "" && !strings.Contains(want[file], "\n## "+section+"\n") {
				t.Errorf("%s refers to %s, which is not there", name, target)
			}
		}
	}
	if len(want) != 4 {
		t.Errorf("the reference has %d pages", len(want))
	}
}

// increments is a script with something to judge of each kind.
const increments = `
def setup(db):
    db.exec("CREATE TABLE counter (id bigint PRIMARY KEY, n bigint NOT NULL)")
    db.exec("CREATE TABLE step (id bigint PRIMARY KEY)")
    db.insert("counter", columns = ["id", "n"], rows = [(1, 0)])

def increment(tx, r):
    tx.exec("INSERT INTO step (id) VALUES ($1)", r.id())
    tx.exec("UPDATE counter SET n = n + 1 WHERE id = 1")
    tx.expect(tx.value("SELECT n FROM counter WHERE id = 1"), at_least = 1)

transaction("increment", run = increment)
invariant("steps", "SELECT n - (SELECT count(*) FROM step) FROM counter", equals = 0)
counted("step", transaction = "increment")
listed("step", transaction = "increment")
`

// TestChecksAreThoseOfARun: what the reference says of the checks is complete.
func TestChecksAreThoseOfARun(t *testing.T) {
	t.Parallel()
	script := filepath.Join(t.TempDir(), "increments.star")
	writeFile(t, increments, script)
	arguments := map[string][]string{
		"bank":         {"--ops", "200", "--accounts", "100"},
		"isolation":    {"--ops", "400", "--test", "all"},
		"availability": {"--duration", "1s", "--warmup", "0s"},
		"entity":       {"--ops", "200"},
		"candles":      {"--candles", "2000", "--queries", "50"},
		"bulkupdate":   {"--users", "5", "--documents", "10", "--workers", "1,2"},
		"churn":        {"--rows", "500", "--cycles", "1"},
		"ycsb":         {"--ops", "300", "--mix", "read=0.5,update=0.3,scan=0.2"},
		"smallbank":    {"--ops", "300", "--customers", "100", "--hotspot", "20"},
		"tpcb":         {"--ops", "300", "--accounts", "100"},
		"tpcc":         {"--items", "100", "--customers", "10", "--ops", "200"},
		"script":       {script, "--ops", "100"},
	}
	for _, w := range catalog.Workloads() {
		folder, database := filepath.Join(t.TempDir(), "run"), "mem://"
		if w.Name == "script" { // which mem does not serve
			database = "sqlite:" + w.Name + ".db"
		}
		assay(t, t.TempDir(), append([]string{"run", w.Name, "--db", database, "--quiet", "--out", folder}, arguments[w.Name]...)...).sound(t, folder)
		var want, got []string
		for _, c := range w.Checks {
			if c.Name != "restored" && c.Name != "sessions" { // of backups, with --fault; of databases that promise it
				want = append(want, c.Name)
			}
		}
		want = append(want, recordCheck)
		for _, c := range resultOf(t, folder).Checks {
			got = append(got, c.Name)
			if c.Verdict != check.Valid {
				t.Errorf("%s: %s is %v: %s", w.Name, c.Name, c.Verdict, c.Detail)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s has the checks %v, and its definition %v", w.Name, got, want)
		}
	}
	if names := slices.Sorted(maps.Keys(arguments)); len(names) != len(catalog.Workloads()) {
		t.Errorf("%v are run, which are not all workloads", names)
	}
}
