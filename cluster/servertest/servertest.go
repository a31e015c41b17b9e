//go:build unix

// Package servertest has the common parts of the tests of clusters: who leads after a fault, what a
// closed cluster leaves, and what the error of a failed start says.
package servertest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"assay/cluster/server"
	"assay/internal/expect"
)

// Cluster is the cluster under test.
type Cluster interface {
	Restart(ctx context.Context, i int, env ...string) error
	Close() error
}

// A Leading cluster knows which node leads.
type Leading interface {
	Primary(ctx context.Context) (int, error)
}

// Leader returns the number of the node that leads.
func Leader(t *testing.T, c Leading) int {
	t.Helper()
	leader, err := c.Primary(expect.Patiently(t))
	expect.NoError(t, err)
	return leader
}

// OtherLeader waits until another node than old leads.
func OtherLeader(t *testing.T, c Leading, old int) (leader int) {
	t.Helper()
	expect.Eventually(t, fmt.Sprintf("another leader than node %d", old), func() bool {
		leader = Leader(t, c)
		return leader != old
	})
	return leader
}

// Closed closes a cluster twice. Its processes and its folder must be gone, except logs elsewhere,
// and no node may start again.
func Closed(t *testing.T, c Cluster, nodes []*server.Node, dir, logs string) {
	t.Helper()
	expect.NoError(t, c.Close())
	for _, n := range nodes {
		if err := syscall.Kill(n.PID(), 0); err != syscall.ESRCH {
			t.Errorf("%s is still there: %v", n.Name, err)
		}
		if logs == "" {
			continue
		}
		if info, err := os.Stat(n.Log); err != nil || info.Size() == 0 || filepath.Dir(n.Log) != logs {
			t.Errorf("log of %s: %v, %v", n.Name, n.Log, err)
		}
	}
	gone(t, dir)
	if err := c.Restart(t.Context(), 0); !errors.Is(err, os.ErrClosed) {
		t.Errorf("Restart after Close: %v", err)
	}
	if err := c.Close(); err != nil {
		t.Errorf("second Close: %v", err)
	}
}

// CommandLines are the arguments of all processes of this machine.
func CommandLines(t *testing.T) (lines []string) {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	expect.NoError(t, err)
	for _, file := range files {
		if text, err := os.ReadFile(file); err == nil { // one that has just ended is not an error
			lines = append(lines, strings.ReplaceAll(string(text), "\x00", " "))
		}
	}
	return lines
}

func gone(t *testing.T, dir string) {
	t.Helper()
	if server.Exists(dir) {
		t.Errorf("folder %s is still there", dir)
	}
}

// Wrong is options with which a cluster cannot start, and what the error must say.
type Wrong[Options any] struct {
	Options Options
	Says    string
}

// SaysWhy requires that the start fails, says the reason, and leaves nothing in the folder.
func SaysWhy[Options, C any](ctx context.Context, t *testing.T, dir string, start func(context.Context, Options) (C, error), all map[string]Wrong[Options]) {
	t.Helper()
	for name, c := range all {
		t.Run(name, func(t *testing.T) {
			if _, err := start(ctx, c.Options); err == nil || !strings.Contains(err.Error(), c.Says) {
				t.Errorf("got %v; want it to speak of %q", err, c.Says)
			}
			gone(t, dir)
		})
	}
}

// GivenUp requires that a start whose context ends leaves nothing in the folder.
func GivenUp[Options, C any](t *testing.T, dir string, after time.Duration, start func(context.Context, Options) (C, error), o Options) {
	t.Helper()
	if _, err := start(expect.Within(t, after), o); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("after %v: %v", after, err)
	}
	gone(t, dir)
}
