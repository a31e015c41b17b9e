package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"assay/cluster"
	"assay/internal/expect"
	"assay/runner/catalog"
)

// TestHelpListsWhatCanBeUsed: a flag that the workload refuses is not in its
// help, and is still refused with the reason.
func TestHelpListsWhatCanBeUsed(t *testing.T) {
	t.Parallel()
	for workload, refused := range map[string][]string{
		"churn":        {"rate", "arrivals", "duration", "ops", "warmup", "ramp"},
		"candles":      {"rate", "arrivals", "duration", "ops", "warmup", "ramp", "retry", "max-attempts"},
		"bulkupdate":   {"clients", "rate", "arrivals", "duration", "ops", "warmup", "ramp"},
		"availability": {"retry", "max-attempts"},
	} {
		help := inside(t, "run", workload, "--help-all").want(t, 0).stdout
		expect.Text(t, workload, help, "--seed")
		for _, flag := range refused {
			if strings.Contains(help, "--"+flag+" ") {
				t.Errorf("help of %s offers --%s", workload, flag)
			}
			value := map[string]string{"arrivals": "uniform", "duration": "5s", "warmup": "1s", "retry": "none"}[flag]
			if value == "" {
				value = "5"
			}
			if said := inside(t, "run", workload, "--"+flag, value).want(t, exitUsage).complaint(t); !strings.Contains(said, "--"+flag) || strings.Contains(said, "unknown") {
				t.Errorf("%s --%s: %q", workload, flag, said)
			}
		}
	}
}

// TestClustersAreNamed: help, list and errors name every cluster that can be
// started, and no other.
func TestClustersAreNamed(t *testing.T) {
	t.Parallel()
	help, list := inside(t, "cluster", "--help").want(t, 0).stdout, inside(t, "list").want(t, 0).stdout
	for _, product := range cluster.Products() {
		specs := cluster.Specs(product)
		wrong := inside(t, "run", "bank", "--cluster", product+":99").want(t, exitUsage).complaint(t)
		for _, spec := range specs {
			if _, err := cluster.ParseSpec(spec); err != nil {
				t.Errorf("%s: %v", spec, err)
			}
			for name, text := range map[string]string{"help": help, "list": list, "the error": wrong} {
				expect.Text(t, name, text, spec)
			}
		}
	}
	for _, want := range []string{"postgres:5", "mongodb:5", "mongodb:2+arbiter", "mariadb:2"} {
		if !strings.Contains(help, want+",") && !strings.Contains(help, want+"\n") {
			t.Errorf("help does not name %s", want)
		}
	}
	for _, text := range []string{help, inside(t, "run", "bank", "--help-all").stdout, readFile(t, "..", "..", "README.md")} {
		expect.Text(t, "the text", text, "ASSAY_SERVERS")
	}
}

// TestCompletion: a shell is offered the values that a flag or a command takes.
func TestCompletion(t *testing.T) {
	t.Parallel()
	for args, want := range map[string][]string{
		"run ":                       {"bank", "churn"},
		"run bank --db ":             catalog.Schemes(),
		"run bank --cluster ":        {"postgres:5", "mongodb:2+arbiter", "cassandra:3"},
		"run bank --fault ":          {"kill primary", "partition halves"},
		"run bank --arrivals ":       {"poisson", "uniform"},
		"run bank --retry ":          {"none", "failed", "idempotent"},
		"run bank --isolation ":      {"serializable", "snapshot"},
		"run bank --keys ":           {"uniform", "zipf:"},
		"run availability --policy ": {"idempotent"},
		"run availability --read ":   {"nearest"},
		"run isolation --test ":      {"predicate"},
		"run isolation --model ":     {"snapshot-isolation"},
		"check --model ":             {"serializable"},
		"cluster up ":                {"mariadb:2"},
		"serve --db ":                {"sqlite:"},
		"report --format ":           {"markdown"},
		"export --format ":           {"edn"},
	} {
		words := append([]string{"__complete"}, strings.Split(args, " ")...)
		offered := strings.Split(inside(t, words...).want(t, 0).stdout, "\n")
		for i, line := range offered {
			offered[i], _, _ = strings.Cut(line, "\t")
		}
		for _, w := range want {
			expect.Text(t, args, "\n"+strings.Join(offered, "\n"), "\n"+w+"\n")
		}
	}
	for _, shell := range []string{"bash", "zsh", "fish"} {
		inside(t, "completion", shell).want(t, 0)
	}
}

// TestVersion: what a report of a fault needs.
func TestVersion(t *testing.T) {
	t.Parallel()
	var b build
	expect.NoError(t, json.Unmarshal([]byte(assay(t, "", "version", "--json").want(t, 0).stdout), &b))
	if b.Version == "" || b.Go != runtime.Version() || b.Platform != runtime.GOOS+"/"+runtime.GOARCH {
		t.Errorf("%+v", b)
	}
	text := assay(t, "", "version").want(t, 0).stdout
	expect.Text(t, "the text", text, b.Version, "commit", b.Commit, b.Go, b.Platform)
}

// TestAddressFromElsewhere: --db names a file or a variable that holds the
// address, in every command that takes one.
func TestAddressFromElsewhere(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string, mode os.FileMode) {
		t.Helper()
		expect.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), mode))
	}
	write("address", "sqlite:first.db\n", 0o600)
	write("empty", " \n", 0o600)
	write("two", "sqlite:a\nhunter2\n", 0o600)
	write("secret", "postgres://u:hunter2@127.0.0.1:1/d?sslrootcert=missing.pem&sslmode=verify-full\n", 0o600)
	environment := []string{"SECOND=sqlite:second.db", "ASSAY_DB=sqlite:neither.db"}
	do := func(args ...string) ended {
		t.Helper()
		return ends(t, command{dir: dir, env: environment, args: args})
	}
	work := []string{"--ops", "50", "--accounts", "10", "--quiet"}
	do(append([]string{"run", "bank", "--db", "@address", "--out", "first"}, work...)...).want(t, exitValid, exitNoVerdict)
	do(append([]string{"run", "bank", "--db", "env:SECOND", "--out", "second"}, work...)...).want(t, exitValid, exitNoVerdict)
	for name, there := range map[string]bool{"first.db": true, "second.db": true, "neither.db": false} {
		if _, err := os.Stat(filepath.Join(dir, name)); (err == nil) != there {
			t.Errorf("%s: %v", name, err)
		}
	}
	if kept := readFile(t, dir, "first", "scenario.yaml"); !strings.Contains(kept, "first.db") || strings.Contains(kept, "@") {
		t.Errorf("the scenario that was kept: %s", kept)
	}
	do("check", "first", "--db", "@address", "--quiet").want(t, exitValid, exitNoVerdict)
	for db, says := range map[string]string{"@nowhere": "nowhere: no such file", "@.": "directory", "@empty": "one line", "@two": "one line", "env:NOTHING": "NOTHING"} {
		for _, words := range [][]string{{"run", "bank"}, {"check", "first"}, {"serve"}} {
			e := do(append(words, "--db", db)...).want(t, exitUsage)
			if said := e.complaint(t); !strings.Contains(said, says) || strings.Contains(said, "hunter2") {
				t.Errorf("%v --db %s: %q", words, db, said)
			}
		}
	}
	e := do("run", "bank", "--db", "@secret").want(t, exitUsage)
	if said := e.complaint(t); !strings.Contains(said, `sslrootcert "missing.pem" is not possible here: no such file`) || strings.Contains(e.stderr+e.stdout, "hunter2") || strings.Contains(e.stderr, "warning") {
		t.Errorf("%v", e)
	}
}

// TestPasswordOnTheCommandLine is warned of, in one line that does not repeat
// it, also with --quiet.
func TestPasswordOnTheCommandLine(t *testing.T) {
	t.Parallel()
	const db = "postgres://u:hunter2@127.0.0.1:1/d"
	for _, words := range [][]string{{"run", "bank", "--db", db}, {"run", "bank", "--quiet", "--db", db}, {"serve", "--db", db}, {"check", ".", "--db", db}} {
		e := assay(t, "", words...).want(t, exitCannotRun, exitUsage)
		if strings.Count(e.stderr, "warning: ") != 1 || !strings.Contains(e.stderr, "ASSAY_DB") || strings.Contains(e.stderr, "hunter2") {
			t.Errorf("%v", e)
		}
	}
	for _, args := range []command{
		{args: []string{"run", "bank", "--db", "postgres://u@127.0.0.1:1/d"}},
		{args: []string{"run", "bank"}, env: []string{"ASSAY_DB=" + db}},
	} {
		if e := ends(t, args).want(t, exitCannotRun); strings.Contains(e.stderr, "warning") {
			t.Errorf("%v", e)
		}
	}
}

// TestPasswordInTheWrongPlace: an address that is taken for another word is shown without its password,
// and the complaint says where it belongs.
func TestPasswordInTheWrongPlace(t *testing.T) {
	t.Parallel()
	const db, hint = "postgres://me:hunter2@h/db", "an address goes with --db"
	for _, c := range []struct {
		says string
		args []string
	}{
		{hint, []string{db}},
		{hint, []string{"run", db}},
		{hint, []string{"run", "bank", db}},
		{hint, []string{"run", "bank", "postgres://me:hunter2 and\" more@h/db"}},
		{"unknown command", []string{"run", "bank", "host=h user=me password=hunter2"}},
		{"", []string{"run", "script", db}},
		{hint, []string{"sweep", db}},
		{hint, []string{"list", db}},
		{"stands before --", []string{"app", db, "--", "python", "orders.py"}},
		{"--db" + db, []string{"run", "bank", "--db" + db}},
		{"-d", []string{"run", "bank", "-d" + db}},
		{"", []string{"check", db}},
		{"", []string{"report", db}},
		{"", []string{"study", db}},
		{"", []string{"run", "bank", "--scenario", db}},
		{"", []string{"run", "bank", "--fault", db}},
		{"", []string{"run", "bank", "--cluster", db}},
		{"", []string{"run", "bank", "--clients", db}},
	} {
		e := inside(t, c.args...).want(t, exitUsage)
		says := strings.ReplaceAll(c.says, "hunter2", "xxxxx")
		if said := e.complaint(t); !strings.Contains(said, says) || says != "" && !strings.Contains(said, "xxxxx") || strings.Contains(e.stderr, "hunter2") {
			t.Errorf("%v", e)
		}
	}
}
