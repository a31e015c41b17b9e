package server

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"assay/internal/expect"
)

// TestWhoEndedAServer: an end that the machine may have brought is told apart from the program's
// own. What was in the log before its start does not count.
func TestWhoEndedAServer(t *testing.T) {
	for name, c := range map[string]struct {
		before, script string
		byMachine      bool
	}{
		"a damaged file":            {"", "echo 'PANIC: could not locate a valid checkpoint record'; exit 1", false},
		"nothing said":              {"", "exit 1", false},
		"no room":                   {"", "echo 'FATAL: could not write lock file: No space left on device'; exit 1", true},
		"no memory":                 {"", "echo 'InnoDB: mmap failed: Cannot allocate memory'; exit 1", true},
		"no memory for Java":        {"", "echo 'java.lang.OutOfMemoryError: Java heap space'; exit 3", true},
		"a flag of Java's":          {"", "echo 'JVM Arguments: [-XX:+ExitOnOutOfMemoryError]'; echo damaged; exit 1", false},
		"no files":                  {"", "echo 'open log: too many open files'; exit 1", true},
		"no port":                   {"", "echo 'bind: Address already in use'; exit 1", true},
		"a process of its own":      {"", "echo 'startup process (PID 7) was terminated by signal 9: Killed'; exit 1", true},
		"killed":                    {"", "kill -9 $$", true},
		"another signal":            {"", "kill -11 $$", false},
		"what was said before":      {"server process (PID 6) was terminated by signal 9: Killed\n", "echo damaged; exit 1", false},
		"a log that was begun anew": {"a line that is longer than what comes after it\n", `: > log; echo 'No space left on device'; exit 1`, true},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			log := filepath.Join(dir, "log")
			expect.NoError(t, os.WriteFile(log, []byte(c.before), 0o600))
			p, err := StartProcess(ProcessOptions{Name: "script", Program: shell(), Args: []string{"-c", c.script}, Dir: dir, Log: log})
			expect.NoError(t, err)
			ended := p.Wait(t.Context())
			if end, is := errors.AsType[*EndedError](ended); !is || end.ByMachine != c.byMachine {
				t.Errorf("%v: %+v", ended, end)
			}
		})
	}
}
