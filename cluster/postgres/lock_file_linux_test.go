package postgres

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"assay/cluster/server"
	"assay/internal/expect"
)

// A start waits for somebody to take note of a process that has ended and that the lock
// file names, and for no other one.
func TestAwaitReaped(t *testing.T) {
	p := &Server{Node: &server.Node{Dir: t.TempDir()}}
	expect.NoError(t, os.MkdirAll(p.data(), 0o700))
	ended := exec.Command("true")
	expect.NoError(t, ended.Start())
	pid := ended.Process.Pid
	for server.Identify(pid).Alive() {
		time.Sleep(time.Millisecond)
	}
	lock := func(text string) {
		expect.NoError(t, os.WriteFile(p.lockFile(), []byte(text), 0o600))
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for _, text := range []string{"", "no number\n", "0\n", fmt.Sprintf("%d\n", os.Getpid())} {
		lock(text)
		expect.NoError(t, p.awaitReaped(ctx))
	}
	p.cut = true
	lock("")
	if err := p.awaitReaped(ctx); err != nil || server.Exists(p.lockFile()) {
		t.Errorf("the empty lock file of what was cut is still there: %v", err)
	}
	lock(fmt.Sprintf("-%d\n%s\n", pid, p.data())) // as pg_rewind has it, in single-user mode
	short, end := context.WithTimeout(ctx, 100*time.Millisecond)
	defer end()
	if err := p.awaitReaped(short); err == nil {
		t.Errorf("process %d has ended, and nobody took note of it", pid)
	}
	done := make(chan error, 1)
	go func() { done <- p.awaitReaped(ctx) }()
	expect.NoError(t, ended.Wait())
	expect.NoError(t, <-done)
}
