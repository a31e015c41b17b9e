package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

func TestPostgresCloseLeavesNothing(t *testing.T) {
	for _, killed := range []bool{false, true} {
		dir := filepath.Join(os.TempDir(), fmt.Sprintf("assay-test-%d-%v", os.Getpid(), killed))
		log := filepath.Join(t.TempDir(), "kept.log")
		p := startPostgres(t, PostgresOptions{Dir: dir, Log: log})
		pid := p.PID()
		maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
		if err != nil {
			t.Fatal(err)
		}
		shared := regexp.MustCompile(`/dev/shm/\S+`).FindAllString(string(maps), -1)
		if len(shared) == 0 || segmentsOf(t, pid) == 0 {
			t.Errorf("files in /dev/shm %v, segments %d: the test looks in the wrong place", shared, segmentsOf(t, pid))
		}
		if killed {
			if err := p.Kill(); err != nil {
				t.Fatal(err)
			}
		}
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
		for _, path := range append(shared, dir) {
			if exists(path) {
				t.Errorf("%s is still there (killed: %v)", path, killed)
			}
		}
		if n := segmentsOf(t, pid); n != 0 {
			t.Errorf("%d segments of shared memory are still there (killed: %v)", n, killed)
		}
		if !exists(log) {
			t.Error("a log outside of the folder was removed")
		}
		if err := p.Restart(t.Context()); !errors.Is(err, os.ErrClosed) {
			t.Errorf("Restart after Close: %v", err)
		}
	}
}

// segmentsOf counts the System V shared memory segments that a process made.
func segmentsOf(t *testing.T, pid int) int {
	t.Helper()
	data, err := os.ReadFile("/proc/sysvipc/shm")
	if err != nil {
		t.Fatal(err)
	}
	count := 0
	for _, line := range strings.Split(string(data), "\n") {
		if fields := strings.Fields(line); len(fields) > 4 && fields[4] == fmt.Sprint(pid) {
			count++
		}
	}
	return count
}

// TestPostgresDiesWithAssay kills a stand-in for assay that has a server with a
// session, and then clears away the folder and the shared memory, which a
// killed server cannot do itself.
func TestPostgresDiesWithAssay(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(os.TempDir(), fmt.Sprintf("assay-test-%d-orphan", os.Getpid()))
	parent := exec.Command(self)
	parent.Env = append(os.Environ(), keepServer+"=postgres:"+dir)
	out, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	var port int
	if _, err := fmt.Fscan(out, &port); err != nil {
		t.Error(err)
	}
	server, err := postgresProgram().Find("")
	if err != nil {
		t.Error(err)
	}
	user, err := Unprivileged("postgres", "nobody")
	if err != nil {
		t.Error(err)
	}
	p := &Postgres{programs: filepath.Dir(server), user: user, options: PostgresOptions{
		Dir: dir, Log: filepath.Join(dir, "postgres.log"), Port: port, User: "assay", Password: orphanPassword}}
	defer func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}()
	connect(t, p)
	tree, err := readTree(parent.Process.Pid)
	if err != nil || len(tree) < 5 {
		t.Errorf("a tree of %d processes, %v; want the stand-in, the server and its children", len(tree), err)
	}
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := parent.Wait(); err == nil {
		t.Error("the killed stand-in ended well")
	}
	for _, m := range tree {
		eventually(t, fmt.Sprintf("process %d is gone", m.pid), func() bool { return gone(m.pid) })
	}
	// Dead, but a zombie until init has reaped it, it still holds its lock file
	// in the eyes of the next server.
	if err := os.Remove(filepath.Join(p.data(), "postmaster.pid")); err != nil {
		t.Fatal(err)
	}
	if err := p.start(context.Background(), postgresReady); err != nil {
		t.Fatal(err)
	}
}
