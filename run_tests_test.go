package assay_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"assay/internal/expect"
)

// TestUnsteadyTestsRunAgain: scripts/run-tests.sh, by which make test runs everything.
func TestUnsteadyTestsRunAgain(t *testing.T) {
	script, err := filepath.Abs("scripts/run-tests.sh")
	expect.NoError(t, err)
	const steady = "func TestSteady(t *testing.T) {}\n"
	for _, c := range []struct {
		name, tests string
		passes      bool
		lines       []string
	}{
		{"all pass", steady, true, []string{"ok  \tunsteady"}},
		{"once", steady + "func TestOnce(t *testing.T) { if first() { t.Error(`too late`) } }\n", true,
			[]string{"once more, alone: TestOnce of unsteady", "UNSTEADY, passed when they ran alone:", "unsteady TestOnce", "too late"}},
		{"twice", "func TestTwice(t *testing.T) { t.Run(`part`, func(t *testing.T) { t.Error(`never`) }) }\n", false,
			[]string{"What failed, once more:", "once more, alone: TestTwice of unsteady", "never"}},
		{"panic", "func TestPanic(t *testing.T) { if first() { panic(`lost`) } }\n", false, []string{"panic: lost"}},
		{"race", "func TestRace(t *testing.T) { if first() { t.Error(`race detected during execution of test`) } }\n", false, []string{"race detected"}},
		{"no test", "func TestMain(*testing.M) { if first() { os.Exit(1) } }\n", false, []string{"FAIL\tunsteady"}},
		{"not compiled", "func TestBroken(t *testing.T) { missing() }\n", false, []string{"[build failed]"}},
		{"many", "func TestA(t *testing.T) { if first() { t.Error() } }\nfunc TestB(t *testing.T) { t.Error() }\nfunc TestC(t *testing.T) { t.Error() }\nfunc TestD(t *testing.T) { t.Error() }\n",
			false, []string{"--- FAIL: TestD"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			folder := t.TempDir()
			for name, text := range map[string]string{
				"go.mod": "module unsteady\n",
				"unsteady_test.go": `package unsteady
import ("os"; "testing")
// first is whether it was not called before, by any process.
func first() bool { return os.Mkdir("called", 0o700) == nil }
var _ testing.TB
` + c.tests} {
				expect.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600))
			}
			run := exec.Command(script, "go", "test", "-vet=off", "-run", "Test", "-timeout", "60m", ".")
			run.Dir = folder
			out, err := run.CombinedOutput()
			if (err == nil) != c.passes {
				t.Errorf("%v", err)
			}
			expect.Text(t, "output", string(out), c.lines...)
			if again := strings.Contains(string(out), "once more, alone"); again != (c.passes && c.name != "all pass" || c.name == "twice") {
				t.Errorf("run again: %t\n%s", again, out)
			}
		})
	}
}

// TestThePageOfBugsIsMade: scripts/record-bugs.sh, by which make record finds all known bugs again.
func TestThePageOfBugsIsMade(t *testing.T) {
	script, err := filepath.Abs("scripts/record-bugs.sh")
	expect.NoError(t, err)
	for code, made := range map[int]bool{0: true, 4: true, 5: true, 130: false} {
		folder := t.TempDir()
		expect.NoError(t, os.MkdirAll(filepath.Join(folder, "scripts"), 0o700))
		expect.NoError(t, os.Mkdir(filepath.Join(folder, "docs"), 0o700))
		text, err := os.ReadFile(script)
		expect.NoError(t, err)
		for name, text := range map[string]string{
			"scripts/record-bugs.sh": string(text), "Makefile": "build:\n",
			"assay": fmt.Sprintf("#!/bin/sh\n[ \"$2\" = --all ] && exit %d\necho the page\n", code),
		} {
			expect.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o700))
		}
		run := exec.Command("scripts/record-bugs.sh")
		run.Dir = folder
		if out, _ := run.CombinedOutput(); run.ProcessState.ExitCode() != code {
			t.Errorf("the code is %d, want %d\n%s", run.ProcessState.ExitCode(), code, out)
		}
		if _, err := os.Stat(filepath.Join(folder, "docs", "record.md")); (err == nil) != made {
			t.Errorf("after code %d: %v", code, err)
		}
	}
}
