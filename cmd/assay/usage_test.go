package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/spf13/pflag"

	"assay/internal/expect"
	"assay/runner"
	"assay/workload/bank"
)

// TestBadInput: each mistake ends with exit code 2 and one line that names
// what was wrong, before anything is made.
func TestBadInput(t *testing.T) {
	t.Parallel()
	tests := []struct {
		args string // separated by blanks; _ stands for a blank within one, and DIR for a folder
		says []string
	}{
		{"frobnicate", []string{"frobnicate", "--help"}},
		{"run", []string{"which workload", "bank"}},
		{"run chess", []string{`"chess"`, "bank"}},
		{"run bank extra", []string{"extra"}},
		{"run bank --colour red", []string{"--colour"}},
		{"--colour", []string{"--colour"}},
		{"list extra", []string{"extra"}},
		{"check", []string{"the run's folder"}},
		{"check a b", []string{"there are 2"}},
		{"report", []string{"the run's folder"}},

		{"run bank --db oracle://host", []string{`"oracle:"`, "postgres://", "mongodb://", "sqlite:"}},
		{"run bank --db localhost", []string{"no scheme", "postgres://"}},
		{"run bank --db sqlite:", []string{"sqlite:PATH"}},
		{"run bank --db sqlite:x?journal=none", []string{"journal", "wal"}},
		{"run bank --db mem://?bug=typo:1", []string{`"typo"`, "lost-ack"}},
		{"run bank --db mongodb://", []string{"mongodb://"}},
		{"run bank --db mem:// --cluster postgres:1", []string{"--db", "--cluster"}},
		{"run bank --cluster postgres:9", []string{"postgres:9", "postgres:1", "postgres:3"}},
		{"run bank --fault kill_primary", []string{"--cluster"}},
		{"run bank --cluster mongodb:3 --fault kill_primary_at_1h", []string{"kill primary at 1h", "never happens"}},
		{"run bank --cluster postgres:1 --fault kill_secondary", []string{"only one node"}},
		{"cluster up", []string{"the cluster's spec"}},
		{"cluster down a b", []string{"at most 1"}},
		{"run availability --policy hope", []string{"--policy", "idempotent"}},
		{"run availability --retry failed", []string{"--retry", "--policy"}},
		{"run bulkupdate --workers 3..1", []string{"--workers", "1..30"}},
		{"run bulkupdate --clients 5", []string{"--clients", "--workers"}},
		{"run bulkupdate --timeout 0s", []string{"--timeout", "more than 0"}},
		{"run bulkupdate --db cassandra://localhost", []string{"all rows of a partition"}},
		{"run ycsb --mix read=0.5,update=0.4", []string{"--mix", "add up to 0.9 and not to 1", "read=0.7,update=0.2,insert=0.1"}},
		{"run ycsb --mix g", []string{"--mix", `"g"`, "a, b, c, d, e, f"}},
		{"run churn --delete-share 0", []string{"--delete-share", "at most 1"}},
		{"run churn --rate 5", []string{"--rate", "--rows"}},
		{"app --db postgres://u@127.0.0.1/d --compare env:NOWHERE -- true", []string{"--compare env:NOWHERE", "no variable NOWHERE"}},
		{"app --db postgres://u@127.0.0.1/d --compare @nowhere -- true", []string{"--compare @nowhere"}},
		{"app --db postgres://u:xxxxx@h/d -- true", []string{"--db", "without its password", "ASSAY_DB"}},
		{"app --db postgres://u@h/d --compare postgres://u:xxxxx@h/d -- true", []string{"--compare", "without its password", "--compare env:NAME"}},
		{"app --db postgres://h/d --serve 127.0.0.1:0 --fault kill_primary", []string{"--serve takes none of", "--fault"}},
		{"app --db postgres://h/d --serve 127.0.0.1:0 --compare postgres://h/e", []string{"--serve takes none of", "--compare"}},
		{"app --cluster postgres:1 --serve 127.0.0.1:0", []string{"--serve takes none of", "--cluster"}},
		{"advise ../../examples/shop.star --db postgres://u:xxxxx@h/d", []string{"--db", "without its password"}},
		{"run bank --db postgres://u:xxxxx@h/d", []string{"--db", "without its password"}},
		{"sweep script nowhere.star", []string{"nowhere.star", "no such file"}},
		{"sweep bank nowhere.star", []string{"unknown command", "nowhere.star"}},
		{"run bank --db env:NOWHERE", []string{"--db env:NOWHERE"}},
		{"run bank --db mem:// --ops 5 --agents 1 --engine @nowhere", []string{"--engine @nowhere"}},
		{"known --all --page", []string{"--page", "--all"}},
		{"known none", []string{"none", "assay known"}},
		{"isolation-matrix --db mem:// --cluster postgres:1", []string{"--db", "--cluster"}},
		{"isolation-matrix --json --markdown", []string{"--json", "--markdown"}},
		{"isolation-matrix --db mem:// --level sloppy", []string{"sloppy", "strict serializable"}},
		{"isolation-matrix --db mem://?bug=lost-update:1", []string{"without seeded bugs"}},
		{"isolation-matrix --db cassandra://localhost", []string{"lightweight transaction"}},
		{"cluster", []string{"up", "down"}},
		{"cluster down", []string{"--all"}},
		{"cluster down no-such", []string{"no-such", "status"}},
		{"run bank --db mem:// --isolation sloppy", []string{"sloppy", "serializable"}},

		{"run bank --clients 0", []string{"--clients", "0"}},
		{"run bank --clients many", []string{"--clients", "many"}},
		{"run bank --clients 20000", []string{"--clients", "10000"}},
		{"run bank --rate 0", []string{"--rate", "0"}},
		{"run bank --rate NaN", []string{"--rate", "NaN"}},
		{"run bank --rate fast", []string{"--rate", "fast"}},
		{"run bank --arrivals poisson", []string{"--arrivals", "--rate"}},
		{"run bank --rate 5 --arrivals sometimes", []string{"--arrivals", "sometimes"}},
		{"run bank --duration 0s", []string{"--duration", "0s"}},
		{"run bank --duration 10x", []string{"--duration", "10x", "a number alone is of seconds"}},
		{"run bank --vus 10", []string{"--vus", "here it is --clients"}},
		{"run bank --threads=8", []string{"here it is --clients"}},
		{"run bank -threads 8", []string{"here it is --clients"}},
		{"run bank -target 100", []string{"here it is --rate"}},
		{"run bank -c10", []string{"here it is --clients"}},
		{"run bank -T 60", []string{"here it is --duration"}},
		{"run bank -j 4", []string{"leave it out", "--clients"}},
		{"run bank -n 100", []string{"here it is --ops"}},
		{"run bank --url mem://", []string{"here it is --db"}},
		{"run tpcc -w 2", []string{"here it is --warehouses"}},
		{"run bank --clints 4", []string{"did you mean --clients?"}},
		{"run bank --warmup -1s", []string{"--warmup", "-1s"}},
		{"run bank --ops 0", []string{"--ops"}},
		{"run bank --ops 5 --duration 1s", []string{"--ops", "--duration"}},
		{"run bank --ramp 0", []string{"--ramp"}},
		{"run bank --timeout -1s", []string{"--timeout", "-1s"}},
		{"run bank --connect-timeout -1s", []string{"--connect-timeout", "-1s"}},
		{"run bank --retry always", []string{"--retry", "always", "idempotent"}},
		{"run bank --retry failed --max-attempts -1", []string{"--max-attempts", "-1"}},
		{"run bank --seed lucky", []string{"--seed", "lucky"}},
		{"run bank --accounts 1", []string{"--accounts", "1", "2 to 100000000"}},
		{"run bank --payroll 1.1", []string{"--payroll", "1.1"}},
		{"run bank --keys zipf:1", []string{"--keys", "zipf:1", "zipf:0.99"}},
		{"run bank --loaders 0", []string{"--loaders", "0"}},
		{"run bank --threshold fast", []string{`"fast"`, "p99"}},
		{"run bank --threshold p98<5ms", []string{"p98", "p99"}},
		{"run bank --threshold p99<5", []string{"p99<5", "20ms"}},
		{"run bank --db mem:// --ops 10 --out DIR/used", []string{"used", "in use", "--out"}},
		{"run bank --db mem:// --ops 10 --out DIR/used/file", []string{"used/file", "--out"}},
		{"run bank --out what?", []string{"what?", "question mark", "--out"}},
		{"run bank --scenario DIR/missing.yaml", []string{"missing.yaml", "no such file"}},
		{"run bank --scenario DIR/used/file", []string{"used/file"}},
		{"run bank --scenario DIR/list.yaml", []string{"list.yaml"}},
		{"run bank --scenario DIR/field.yaml", []string{"field.yaml", "clints"}},
		{"run bank --scenario DIR/value.yaml", []string{"value.yaml", "--clients"}},
		{"run bank --scenario DIR/redacted.yaml", []string{"password", "ASSAY_DB"}},

		// A word that is nearly a known one is answered with that, at every place where words are known.
		{"rnu", []string{"did you mean run?"}},
		{"run bnak", []string{"did you mean bank?"}},
		{"cluster stats", []string{"did you mean status?"}},
		{"list --jsn", []string{"did you mean --json?"}},
		{"run bank --db postgers://h/d", []string{"did you mean postgres:?"}},
		{"run bank --db sqlit:x", []string{"did you mean sqlite:?"}},
		{"run bank --db sqlite:x?jurnal=1", []string{"did you mean journal?"}},
		{"run bank --db mem://?bug=lostack:1 --ops 1", []string{"did you mean lost-ack?"}},
		{"run bank --db sqlite:x --isolation serialisable", []string{"did you mean serializable?"}},
		{"run bank --cluster mongdb:3", []string{"did you mean mongodb?"}},
		{"run bank --cluster mongodb:3 --fault kill_primary_evry_20s", []string{"did you mean every?"}},

		{"app --db postgres://h/d --out DIR/used -- true", []string{"used", "is not empty"}},
		{"app --db postgres://h/d --serve 127.0.0.1:0 --out DIR/used", []string{"used", "is not empty"}},
		{"check DIR/missing", []string{"missing"}},
		{"check DIR/used", []string{"used", "no run"}},
		{"check DIR/used/file", []string{"used/file", "line 1"}},
		{"report DIR/missing", []string{"missing"}},
		{"report DIR/used", []string{"used", "no run"}},
		{"report --format pdf DIR/used", []string{"pdf", "markdown"}},
	}
	dir := t.TempDir()
	for name, text := range map[string]string{
		"used/file":     "precious",
		"list.yaml":     "- bank\n- chess\n",
		"field.yaml":    "workload: bank\nload:\n  clints: 4\n",
		"value.yaml":    "workload: bank\nload:\n  clients: 0\n",
		"redacted.yaml": "workload: bank\ndatabase: postgres://u:xxxxx@host/db\n",
	} {
		writeFile(t, text, dir, name)
	}
	before := files(t, dir)
	blanks := strings.NewReplacer("_", " ", "DIR", dir)
	for _, test := range tests {
		args := strings.Fields(test.args)
		for i := range args {
			args[i] = blanks.Replace(args[i])
		}
		e := inside(t, args...)
		said := e.complaint(t)
		if e.code != exitUsage {
			t.Errorf("%s: exit %d, want %d: %s", test.args, e.code, exitUsage, said)
		}
		expect.Text(t, test.args, said, test.says...)
	}
	if after := files(t, dir); after != before {
		t.Errorf("there is now %s where there was %s", after, before)
	}
	if _, err := os.Stat("runs"); err == nil {
		t.Error("a run has left its folder")
	}
}

// TestAdviseKeepsOtherFolders: it goes on with an advise of its own alone.
func TestAdviseKeepsOtherFolders(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeFile(t, "{}", dir, "run", "result.json")
	writeFile(t, "{}", dir, "advise", "levels", "series.json")
	for name, refused := range map[string]bool{"run": true, "advise": false, "new": false, "": false} {
		f := &adviseFlags{}
		if name != "" {
			f.out = filepath.Join(dir, name)
		}
		err := f.checkFolder()
		if isA[*runner.FolderError](err) != refused || err != nil && codeOf(err) != exitUsage {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// files lists a folder, all levels.
func files(t *testing.T, dir string) string {
	t.Helper()
	var names []string
	err := filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		names = append(names, strings.TrimPrefix(path, dir))
		return err
	})
	expect.NoError(t, err)
	return strings.Join(names, " ")
}

// TestHelp: every command explains itself on standard output, in 80 columns.
func TestHelp(t *testing.T) {
	t.Parallel()
	for _, args := range []string{"", "--help", "run --help", "run bank --help", "check --help", "report --help", "list --help", "help run bank"} {
		e := inside(t, strings.Fields(args)...).want(t, 0)
		if e.stderr != "" || !strings.Contains(e.stdout, "Usage:") {
			t.Errorf("%v", e)
		}
	}
	if e := assay(t, t.TempDir(), "--version").want(t, 0); !strings.HasPrefix(e.stdout, "assay version ") {
		t.Errorf("%v", e)
	}
}

// TestHelpIsShort: ten flags with an example each, and behind --help-all every one.
func TestHelpIsShort(t *testing.T) {
	t.Parallel()
	run := newRoot("test", []string{"run", "bank"}).Commands()[0].Commands()[0]
	first, all := firstFlags(run), allFlags(run)
	if shown := strings.Count(first, "\n  --"); shown != 10 {
		t.Errorf("%d flags are shown first:\n%s", shown, first)
	}
	grouped := map[string]int{}
	for _, group := range flagGroups() {
		for _, name := range group.names {
			grouped[name]++
		}
	}
	for flag := range ofWorkload(run) {
		grouped[flag.Name]++
	}
	run.Flags().VisitAll(func(flag *pflag.Flag) {
		if flag.Name == "help" || flag.Name == helpAll {
			return
		}
		if grouped[flag.Name] != 1 {
			t.Errorf("--%s is in %d groups", flag.Name, grouped[flag.Name])
		}
		expect.Text(t, "--help-all", all, "--"+flag.Name+" ")
	})
	if own := len(bank.Definition().Config().Flags()); len(slices.Collect(ofWorkload(run))) != own {
		t.Errorf("flags of no group: %d, and the workload has %d", len(slices.Collect(ofWorkload(run))), own)
	}
	for _, c := range newRoot("test", nil).Commands() {
		if c.Hidden {
			continue
		}
		if c.GroupID == "" {
			t.Errorf("%s is in no group", c.Name())
		}
		if len(c.Short) > 61 {
			t.Errorf("%s: %q does not fit a line", c.Name(), c.Short)
		}
	}
}

// TestLackOfMemoryIsNoUsageError: what the system had too little of was not the user's
// mistake, though the same command ends with 2 where the file is not there.
func TestLackOfMemoryIsNoUsageError(t *testing.T) {
	t.Parallel()
	of := func(reason error) error {
		return usageError{fmt.Errorf("read the history: %w", &fs.PathError{Op: "read", Path: "history.edn", Err: reason})}
	}
	for _, reason := range []error{syscall.ENOMEM, syscall.ENOSPC, syscall.EDQUOT, syscall.EMFILE, syscall.ENFILE, syscall.EIO} {
		if code := codeOf(of(reason)); code != exitCannotRun {
			t.Errorf("%v ends with %d", reason, code)
		}
	}
	if code := codeOf(of(syscall.ENOENT)); code != exitUsage {
		t.Errorf("a missing file ends with %d", code)
	}
}
