package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"assay/internal/expect"
)

// TestRepro: what is written is judged violated by the command that is printed,
// is the same each time, and cannot be made smaller.
func TestRepro(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	keyed := strings.NewReplacer(":value [", ":value [7 [", "]}", "]]}", ":value {", ":value [7 {", "}}", "}]}", ":value nil", ":value [7 nil]")
	for name, text := range map[string]string{"skew.edn": skewed, "broken.edn": skewed[:len(skewed)-20], "register.edn": recordedHistories["registers.edn"],
		"keyed.edn": keyed.Replace(skewed), "banks.edn": keyed.Replace(recordedHistories["overdrawn.edn"]), "blind.edn": recordedHistories["blind.edn"], "lists.edn": recordedHistories["lists.edn"]} {
		writeFile(t, text, dir, name)
	}
	for _, test := range []struct {
		args []string
		file string
	}{
		{[]string{"skew.edn", "--model", "serializable"}, "repro.edn"},
		{[]string{"skew.edn", "--model", "serializable", "--out", "it's.edn"}, "it's.edn"},
		{[]string{"skew.edn", "--format", "json"}, "repro.jsonl"},
		{[]string{"blind.edn", "--model", "serializable", "--assume", "sequential-keys", "--out", "blind-repro.edn"}, "blind-repro.edn"},
		{[]string{"register.edn", "--out", "register-repro.edn"}, "register-repro.edn"},
		{[]string{"register.edn", "--initial", "2", "--out", "initial.edn"}, "initial.edn"},
		{[]string{"keyed.edn", "--model", "serializable", "--out", "keyed-repro.edn"}, "keyed-repro.edn"},
		{[]string{"banks.edn", "--total", "5", "--out", "bank-repro.edn"}, "bank-repro.edn"},
		{[]string{"repro.edn", "--model", "serializable", "--out", "again.edn"}, "again.edn"},
	} {
		e := assay(t, dir, append([]string{"repro"}, test.args...)...).want(t, exitValid)
		_, command, found := strings.Cut(e.stdout, "judge it with\n\n  assay check ")
		if !found || !strings.Contains(e.stdout, "That cannot be: ") {
			t.Fatal(e)
		}
		words := strings.Fields(strings.ReplaceAll(command, `'it'\''s.edn'`, "it's.edn"))
		if words[0] != test.file {
			t.Errorf("%v: %q", test.args, command)
		}
		assay(t, dir, append([]string{"check"}, words...)...).want(t, exitViolated)
	}
	if bank := readFile(t, dir, "bank-repro.edn"); !strings.Contains(bank, ":value [7 {1 -45, 2 50}]") || strings.Contains(bank, "transfer") {
		t.Errorf("of a bank of an independent key, the smallest history is\n%s", bank)
	}
	first, again := readFile(t, dir, "repro.edn"), readFile(t, dir, "again.edn")
	if first != again || strings.Count(first, ":invoke") != 2 || strings.Contains(first, ":append 3") {
		t.Errorf("of its own smallest history, the smallest is\n%sand not\n%s", again, first)
	}
}

// TestReproReport: the page about a planted bug is written once, in the form that its name asks
// for; of what has no finding, and with flags of histories, none is.
func TestReproReport(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeFile(t, skewed, dir, "skew.edn")
	assay(t, dir, "run", "bank", "--db", "mem://?bug=lost-ack:0.2", "--ops", "200", "--out", "bad", "--quiet").want(t, exitViolated)
	assay(t, dir, "run", "bank", "--ops", "50", "--out", "good", "--quiet").want(t, exitValid, exitNoVerdict)
	for out, says := range map[string]string{"bug.md": "# assay", "page.html": "<!DOCTYPE html>"} {
		e := assay(t, dir, "repro", "bad", "--report", "--out", out).want(t, exitValid)
		expect.Text(t, out, e.stdout, "written to "+out)
		expect.Text(t, out, readFile(t, dir, out), says, "has no journal row")
	}
	for _, test := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"bad"}, exitUsage, "bug.md exists"},
		{[]string{"bad", "--out", "bug.txt"}, exitUsage, "a page ends in .md or .html"},
		{[]string{"bad", "--format", "json", "--out", "b.md"}, exitUsage, "--report does not go with --format"},
		{[]string{"good", "--out", "b.md"}, exitNoVerdict, "nothing to reproduce: the verdict is valid"},
		{[]string{"skew.edn", "--out", "b.md"}, exitUsage, "holds no run of assay's"},
		{[]string{"none", "--out", "b.md"}, exitUsage, "none"},
	} {
		e := assay(t, dir, append([]string{"repro", "--report"}, test.args...)...).want(t, test.code)
		expect.Text(t, test.args, e.complaint(t), test.says)
	}
	if _, err := os.Stat(filepath.Join(dir, "b.md")); err == nil {
		t.Error("a file was written")
	}
}

// TestReproRefuses: what there is nothing to reproduce of, and what cannot be
// read, leaves no file.
func TestReproRefuses(t *testing.T) {
	t.Parallel()
	dir := writeHistories(t)
	for name, text := range map[string]string{"skew.edn": skewed, "broken.edn": skewed[:len(skewed)-20]} {
		writeFile(t, text, dir, name)
	}
	for _, test := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"skew.edn", "--model", "read-committed"}, exitNoVerdict, "nothing to reproduce: the verdict is valid"},
		{[]string{"empty.edn"}, exitNoVerdict, "nothing to reproduce: the verdict is unknown (the history has no operations"},
		{[]string{"broken.edn"}, exitUsage, "broken.edn line"},
		{[]string{"run"}, exitUsage, "run"},
		{[]string{"skew.edn", "--total", "5"}, exitUsage, "--total"},
		{[]string{"skew.edn", "--out", "lists.edn"}, exitUsage, "lists.edn exists"},
		{[]string{}, exitUsage, "an argument is missing"},
	} {
		e := assay(t, dir, append([]string{"repro"}, test.args...)...).want(t, test.code)
		expect.Text(t, test.args, e.complaint(t), test.says)
	}
	if _, err := os.Stat(filepath.Join(dir, "repro.edn")); err == nil {
		t.Error("a file was written")
	}
}
