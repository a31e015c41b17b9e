package streaming

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"assay/cluster/machine"
	"assay/cluster/server"
	"assay/internal/expect"
)

// TestPostgresSetClose closes sets with a dead server or a change under way; nothing may be left.
func TestPostgresSetClose(t *testing.T) {
	for _, stage := range []string{"a standby down", "the primary paused", "the primary killed", "a node comes back"} {
		t.Run(stage, func(t *testing.T) {
			dir := filepath.Join(os.TempDir(), fmt.Sprintf("assay-test-%d-set", os.Getpid()))
			logs := t.TempDir()
			s := startPlain(t, PlainOptions{Placement: Placement{Nodes: 2, Dir: dir, LogDir: logs}})
			table(t, s)
			var pids []int
			for i := range s.Nodes() {
				pids = append(pids, s.Node(i).PID())
			}
			back := make(chan error, 1)
			back <- nil
			switch stage {
			case "the primary paused":
				expect.NoError(t, s.Node(0).Pause())
			case "the primary killed":
				expect.NoError(t, s.Node(0).Kill())
			case "a standby down":
				expect.NoError(t, s.Node(1).Kill())
			case "a node comes back":
				expect.NoError(t, s.Node(0).Kill())
				<-back
				go func() { back <- s.Restart(t.Context(), 0) }()
				time.Sleep(50 * time.Millisecond)
			}
			expect.NoError(t, s.Close())
			if err := <-back; err != nil && !errors.Is(err, os.ErrClosed) {
				t.Errorf("Restart while Close: %v", err)
			}
			checkNothingLeft(t, s, dir, pids)
			if !server.Exists(filepath.Join(logs, "postgres-n2.log")) {
				t.Error("a log outside of the folder was removed")
			}
			if err := s.Restart(t.Context(), 0); !errors.Is(err, os.ErrClosed) {
				t.Errorf("Restart after Close: %v", err)
			}
			if _, err := s.Primary(t.Context()); !errors.Is(err, os.ErrClosed) {
				t.Errorf("Primary after Close: %v", err)
			}
		})
	}
}

func checkNothingLeft(t *testing.T, s *Plain, dir string, pids []int) {
	t.Helper()
	if server.Exists(dir) {
		t.Error("the folder is still there")
	}
	for i := range s.Nodes() {
		pids = append(pids, s.Node(i).PID())
	}
	for _, pid := range pids {
		if server.Identify(pid).Alive() {
			t.Errorf("process %d is still there", pid)
		}
	}
}

func TestPostgresSetRefuses(t *testing.T) {
	dir := filepath.Join(os.TempDir(), fmt.Sprintf("assay-test-%d-refused", os.Getpid()))
	set, err := machine.Loopback(machine.Options{ID: "0123abcd", Names: []string{"n1"}})
	expect.NoError(t, err)
	for want, o := range map[string]PlainOptions{
		"-1 nodes":              {Placement: Placement{Nodes: -1}},
		"2 nodes on 1 machines": {Placement: Placement{Nodes: 2, Machines: set.All()}},
		"max_connections":       {Placement: Placement{Nodes: 2}, Settings: []string{"max_connections=none"}},
	} {
		o.Dir = dir
		if _, err := StartPlain(t.Context(), o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
		if server.Exists(dir) {
			t.Errorf("%s: the folder is still there", want)
		}
	}
}
