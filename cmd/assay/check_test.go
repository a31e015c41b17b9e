package main

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/spf13/pflag"

	"assay/check/cycle"
	"assay/internal/expect"
)

// recordedHistories are small ones that other tools might have recorded.
var recordedHistories = map[string]string{
	// Two registers that held 0 when the recording began.
	"registers.edn": `{:type :invoke, :process 0, :f :read, :value nil}
{:type :ok, :process 0, :f :read, :value 0}
{:type :invoke, :process 0, :f :write, :value 1}
{:type :ok, :process 0, :f :write, :value 1}
`,
	"words.jsonl": `{"type":"invoke","process":0,"f":"read","value":null}
{"type":"ok","process":0,"f":"read","value":"empty"}
`,
	// One read of a bank in which money was moved.
	"bank.edn": `{:type :invoke, :process 0, :f :transfer, :value {:from 1, :to 2, :amount 5}}
{:type :ok, :process 0, :f :transfer, :value {:from 1, :to 2, :amount 5}}
{:type :invoke, :process 0, :f :read, :value nil}
{:type :ok, :process 0, :f :read, :value {1 45, 2 55}}
`,
	// A read that lacks the account which the money went to, and one below zero.
	"lacking.edn": `{:type :invoke, :process 0, :f :transfer, :value {:from 1, :to 2, :amount 5}}
{:type :ok, :process 0, :f :transfer, :value {:from 1, :to 2, :amount 5}}
{:type :invoke, :process 0, :f :read, :value nil}
{:type :ok, :process 0, :f :read, :value {1 100}}
`,
	"overdrawn.edn": `{:type :invoke, :process 0, :f :transfer, :value {:from 1, :to 2, :amount 50}}
{:type :ok, :process 0, :f :transfer, :value {:from 1, :to 2, :amount 50}}
{:type :invoke, :process 0, :f :read, :value nil}
{:type :ok, :process 0, :f :read, :value {1 -45, 2 50}}
`,
	"zeroed.edn": "{:type :invoke, :process 0, :f :read, :value nil}\n\x00\x00",
	"wide.edn":   "\xff\xfe{\x00}\x00",
	"lists.edn": `{:type :invoke, :process 0, :f :txn, :value [[:append 1 1]]}
{:type :ok, :process 0, :f :txn, :value [[:append 1 1]]}
`,
	// Two writes, one after the other, and a read of the first.
	"blind.edn": `{:type :invoke, :process 0, :f :txn, :value [[:w 1 1]]}
{:type :ok, :process 0, :f :txn, :value [[:w 1 1]]}
{:type :invoke, :process 1, :f :txn, :value [[:w 1 2]]}
{:type :ok, :process 1, :f :txn, :value [[:w 1 2]]}
{:type :invoke, :process 2, :f :txn, :value [[:r 1 nil] [:r 2 nil]]}
{:type :ok, :process 2, :f :txn, :value [[:r 1 1] [:r 2 nil]]}
{:type :invoke, :process 2, :f :txn, :value [[:r 1 nil]]}
{:type :ok, :process 2, :f :txn, :value [[:r 1 2]]}
{:type :invoke, :process 2, :f :txn, :value [[:r 1 nil]]}
{:type :ok, :process 2, :f :txn, :value [[:r 1 1]]}
`,
	"empty.edn":       "",
	"run/result.json": "{}",
}

func writeHistories(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range recordedHistories {
		writeFile(t, text, dir, name)
	}
	return dir
}

// What a history does not tell is given with flags, and decides.
func TestWhatAHistoryDoesNotTell(t *testing.T) {
	t.Parallel()
	dir := writeHistories(t)
	for _, test := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"registers.edn"}, exitViolated, "nobody wrote 0; if the register held it from the beginning, give it as the initial value"},
		{[]string{"registers.edn", "--initial", "0"}, exitValid, "each is linearizable"},
		{[]string{"registers.edn", "--initial", " +00 ; nothing"}, exitValid, "each is linearizable"},
		{[]string{"words.jsonl", "--initial", `"empty"`}, exitValid, "each is linearizable"},
		{[]string{"bank.edn"}, exitNoVerdict, "give the total"},
		{[]string{"bank.edn", "--total", "100"}, exitValid, "each read saw a total of 100"},
		{[]string{"bank.edn", "--total", "-1"}, exitViolated, "101 more than the -1 that there are"},
		{[]string{"blind.edn", "--model", "serializable", "--assume", "sequential-keys"}, exitViolated, "assumed: sequential-keys"},
		{[]string{"blind.edn", "--model", "serializable", "--assume", "wfr-keys,linearizable-keys"}, exitViolated, "assumed: wfr-keys, linearizable-keys"},
		{[]string{"bank.edn", "--total", "100", "--accounts", "1,2,:savings"}, exitViolated, "has no account :savings"},
		{[]string{"lacking.edn", "--total", "100", "--accounts", "1..2"}, exitViolated, "missing-account"},
		{[]string{"overdrawn.edn", "--total", "5", "--negative-balances"}, exitValid, "each read saw a total of 5"},
		{[]string{"empty.edn"}, exitNoVerdict, "empty.edn: a history without operations verdict UNKNOWN: the history has no operations: nothing was put to the test"},
	} {
		e := assay(t, dir, append([]string{"check"}, test.args...)...).want(t, test.code)
		expect.Text(t, e, unwrapped(e.stdout), test.says)
	}
}

func TestWhatAHistoryDoesNotTellIsRefused(t *testing.T) {
	t.Parallel()
	dir := writeHistories(t)
	for _, test := range []struct {
		args []string
		says []string
	}{
		{[]string{"registers.edn", "--initial", ""}, []string{"--initial", ":word"}},
		{[]string{"registers.edn", "--initial", `"open`}, []string{"--initial", "open"}},
		{[]string{"registers.edn", "--total", "5"}, []string{"registers.edn", "register", "--total", "bank"}},
		{[]string{"bank.edn", "--total", ""}, []string{"--total", "whole number"}},
		{[]string{"bank.edn", "--total", "9223372036854775808"}, []string{"--total", "64 bits"}},
		{[]string{"bank.edn", "--initial", "0"}, []string{"bank.edn", "bank", "--initial", "register"}},
		{[]string{"bank.edn", "--accounts", "7..0"}, []string{"--accounts", "7..0", "0..7"}},
		{[]string{"bank.edn", "--accounts", ""}, []string{"--accounts", "0..7"}},
		{[]string{"registers.edn", "--negative-balances"}, []string{"registers.edn", "register", "--negative-balances", "bank"}},
		{[]string{"nothing.edn"}, []string{"nothing.edn does not exist", "history"}},
		{[]string{"zeroed.edn"}, []string{"zeroed.edn", "line 2", "byte 50", "crash"}},
		{[]string{"wide.edn"}, []string{"wide.edn", "UTF-16", "iconv"}},
		{[]string{"blind.edn", "--assume", "keys"}, []string{"--assume", "keys", "linearizable-keys"}},
		{[]string{"registers.edn", "--assume", "wfr-keys"}, []string{"registers.edn", "register", "--assume"}},
		{[]string{"--assume", "wfr-keys"}, []string{"an argument is missing"}},
	} {
		e := assay(t, dir, append([]string{"check"}, test.args...)...).want(t, exitUsage)
		said := e.complaint(t)
		expect.Text(t, test.args, said, test.says...)
	}
}

// A history may come from another program, through standard input or a pipe.
func TestHistoryFromStandardInput(t *testing.T) {
	t.Parallel()
	dir := writeHistories(t)
	e := ends(t, command{dir: dir, args: []string{"check", "-"}, shell: `gzip -c <bank.edn | "$0" "$@" --total 100`}).want(t, exitValid)
	expect.Text(t, e, unwrapped(e.stdout), "standard input: a history of kind bank")
	e = ends(t, command{dir: dir, args: []string{"check", "-"}, shell: `printf '{:a' | "$0" "$@"`}).want(t, exitUsage)
	expect.Text(t, e, e.complaint(t), "standard input line 1")
}

// One interrupt ends the wait for a pipe that nobody writes to.
func TestInterruptWhileAPipeIsSilent(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	pipe := filepath.Join(dir, "history.pipe")
	expect.NoError(t, syscall.Mkfifo(pipe, 0o600))
	p := start(t, command{dir: dir, args: []string{"check", pipe}})
	writer, err := os.OpenFile(pipe, os.O_WRONLY, 0) // waits until assay has opened it
	expect.NoError(t, err)
	if _, err := writer.WriteString(recordedHistories["bank.edn"][:100]); err != nil {
		t.Fatal(err)
	}
	p.signal(syscall.SIGINT)
	e := p.wait().want(t, exitNoVerdict)
	expect.Text(t, e, e.stderr, "interrupted while reading "+pipe)
	expect.NoError(t, writer.Close())
}

// TestModelsAreListed: each model stands there once, with what its verdict rests on.
func TestModelsAreListed(t *testing.T) {
	t.Parallel()
	e := assay(t, t.TempDir(), "check", "--models").want(t, exitValid)
	lines := strings.Split(strings.TrimSpace(e.stdout), "\n")
	listed := map[string]bool{}
	for _, line := range lines {
		model, basis, _ := strings.Cut(line, " ")
		listed[model] = len(strings.Fields(basis)) > 3
	}
	for _, model := range cycle.Models() {
		if !listed[string(model)] {
			t.Errorf("nothing says what the verdict on %s rests on: %s", model, e.stdout)
		}
	}
	if len(lines) != len(cycle.Models()) || len(listed) != len(lines) {
		t.Errorf("%d lines for %d models", len(lines), len(cycle.Models()))
	}
}

// TestAskedModelIsNoBrokenPromise: of another tool's history nobody knows what
// the vendor promises, and a missed model says no more than that.
func TestAskedModelIsNoBrokenPromise(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeFile(t, skewed, dir, "skew.edn")
	const judged = "(not serializable; judged against serializable, as asked; what the vendor promises is not known)"
	for _, form := range []string{"", "--quiet"} {
		e := assay(t, dir, strings.Fields("check skew.edn --model serializable "+form)...).want(t, exitViolated)
		expect.Text(t, e, unwrapped(e.stdout), judged)
	}
	assay(t, dir, "check", "skew.edn", "--model", "serializable", "--json").want(t, exitViolated).shows(t, `"kept": null`, `"asked": true`)
}

// skewed is a write skew among other work.
const skewed = `{:type :invoke, :process 0, :f :txn, :value [[:append 3 1]]}
{:type :ok, :process 0, :f :txn, :value [[:append 3 1]]}
{:type :invoke, :process 0, :f :txn, :value [[:r 1 nil] [:append 2 1]]}
{:type :invoke, :process 1, :f :txn, :value [[:r 2 nil] [:append 1 1]]}
{:type :ok, :process 0, :f :txn, :value [[:r 1 []] [:append 2 1]]}
{:type :ok, :process 1, :f :txn, :value [[:r 2 []] [:append 1 1]]}
{:type :invoke, :process 0, :f :txn, :value [[:r 1 nil] [:r 2 nil]]}
{:type :ok, :process 0, :f :txn, :value [[:r 1 [1]] [:r 2 [1]]]}
`

// TestExplain: the story of a write skew among other work, in the order of time,
// at 80 columns, with what the model forbids.
func TestExplain(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeFile(t, skewed, dir, "skew.edn")
	e := assay(t, dir, "check", "skew.edn", "--model", "serializable", "--explain").want(t, exitViolated)
	expect.Text(t, e, unwrapped(e.stdout),
		"2 operations of 4, the smallest part of the history that shows it.",
		"event process 0 process 1", "┌ T2", "└ committed",
		"T2, of process 0, begins. It reads [] from key 1, then appends 1 to key 2. It is acknowledged.",
		"T1, of process 1, begins while T2 runs. It reads [] from key 2, then appends 1 to key 1. It is acknowledged.",
		"serializable forbids that (G2-item).")
	for _, line := range strings.Split(e.stdout, "\n") {
		if len([]rune(line)) > 80 {
			t.Errorf("%q is wider than 80 columns", line)
		}
	}
	e = assay(t, dir, "check", "skew.edn", "--explain", "--quiet").want(t, exitUsage)
	expect.Text(t, e, e.complaint(t), "--quiet")
	assay(t, dir, "check", "skew.edn", "--json").want(t, exitViolated).shows(t, `"smallest": {`)
}

// TestEveryFlagOfCheck goes through all flags: each belongs to a file, to a folder, to
// both or to neither, and is refused by the other with a word.
func TestEveryFlagOfCheck(t *testing.T) {
	t.Parallel()
	dir := writeHistories(t)
	file, folder := []string{"db", "engine", "hgrm", "verbose"}, []string{"test", "assume", "initial", "total", "accounts", "negative-balances", "timeout", "memory"}
	both := []string{"model", "explain", "json", "quiet", "models", "help", "junit", "summary"}
	values := map[string]string{"db": "mem://", "engine": "nats://127.0.0.1:1", "total": "1", "timeout": "1m", "memory": "1GiB", "test": "register", "model": "linearizable", "assume": "wfr-keys"}
	known := slices.Concat(file, folder, both)
	cmd := newCheck("test")
	cmd.InitDefaultHelpFlag()
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !slices.Contains(known, f.Name) {
			t.Errorf("nobody says whether --%s goes with a file or with a folder", f.Name)
		}
		arg := "--" + f.Name
		if f.Value.Type() != "bool" {
			arg += "=" + cmp.Or(values[f.Name], "1")
		}
		var refused []string
		if slices.Contains(file, f.Name) {
			refused = append(refused, "registers.edn")
		}
		if slices.Contains(folder, f.Name) {
			refused = append(refused, "run")
		}
		for _, subject := range refused {
			expect.Text(t, arg, assay(t, dir, "check", subject, arg).want(t, exitUsage).complaint(t), arg[:len(f.Name)+2], subject)
		}
		if f.Name == "models" || f.Name == "help" {
			return
		}
		expect.Text(t, arg, assay(t, dir, "check", "--models", arg).want(t, exitUsage).complaint(t), "--models judges nothing, so --"+f.Name+" has no effect")
	})
	expect.Text(t, "the complaint", assay(t, dir, "check", "--models", "registers.edn").want(t, exitUsage).complaint(t), "leave registers.edn out")
	for _, name := range []string{"test", "model", "assume", "initial", "accounts", "memory"} {
		expect.Text(t, name, assay(t, dir, "check", "registers.edn", "--"+name, "").want(t, exitUsage).complaint(t), "--"+name)
	}
}
