package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"assay/cluster/server"
	"assay/internal/expect"
)

func TestPostgresCloseLeavesNothing(t *testing.T) {
	for _, left := range []string{"running", "killed", "killed, and not to be started"} {
		killed := left != "running"
		dir := filepath.Join(os.TempDir(), fmt.Sprintf("assay-test-%d-%d", os.Getpid(), len(left)))
		log := filepath.Join(t.TempDir(), "kept.log")
		p := expect.Started(t, Start, Options{Dir: dir, Log: log})
		pid := p.PID()
		maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
		expect.NoError(t, err)
		shared := regexp.MustCompile(`/dev/shm/\S+`).FindAllString(string(maps), -1)
		if len(shared) == 0 || segmentsOf(t, pid) == 0 {
			t.Errorf("files in /dev/shm %v, segments %d: the test looks in the wrong place", shared, segmentsOf(t, pid))
		}
		if killed {
			expect.NoError(t, p.Kill())
		}
		if strings.HasSuffix(left, "started") {
			p.options.Settings = append(p.options.Settings, "shared_buffers=nonsense")
		}
		expect.NoError(t, p.Close())
		for _, path := range append(shared, dir) {
			if server.Exists(path) {
				t.Errorf("%s is still there (%s)", path, left)
			}
		}
		if n := segmentsOf(t, pid); n != 0 {
			t.Errorf("%d segments of shared memory are still there (%s)", n, left)
		}
		if !server.Exists(log) {
			t.Error("a log outside of the folder was removed")
		}
		if err := p.Restart(t.Context()); !errors.Is(err, os.ErrClosed) {
			t.Errorf("Restart after Close: %v", err)
		}
	}
}

// TestFailedInitdbLeavesNothing: initdb or its server may be killed, as when memory runs out.
// initdb itself removes the file that names the shared memory.
func TestFailedInitdbLeavesNothing(t *testing.T) {
	key := os.Getpid()<<5 | 31
	id, err := unix.SysvShmGet(key, 56, unix.IPC_CREAT|unix.IPC_EXCL|0o600)
	expect.NoError(t, err)
	t.Cleanup(func() { _, _ = unix.SysvShmCtl(id, unix.IPC_RMID, nil) }) // the one that went
	programs, err := os.MkdirTemp("", "assay-test-")
	expect.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(programs) })
	expect.NoError(t, os.Chmod(programs, 0o755))
	script := fmt.Sprintf(`#!/bin/sh
data=${1#--pgdata=}
mkdir "$data" && printf -- '-4711\n\n\n\n\n\n%d %d\n' >"$data/postmaster.pid"
case "$*" in *--no-clean*) ;; *) rm -r "$data" ;; esac
exit 1
`, key, id)
	for _, name := range []string{"initdb", "postgres"} {
		expect.NoError(t, os.WriteFile(filepath.Join(programs, name), []byte(script), 0o755))
	}
	if _, err := Start(t.Context(), Options{Programs: programs}); err == nil {
		t.Fatal("it started")
	}
	if _, err := unix.SysvShmCtl(id, unix.IPC_STAT, new(unix.SysvShmDesc)); !errors.Is(err, unix.EINVAL) {
		t.Errorf("the segment is still there: %v", err)
	}
}

func segmentsOf(t *testing.T, pid int) int {
	t.Helper()
	data, err := os.ReadFile("/proc/sysvipc/shm")
	expect.NoError(t, err)
	count := 0
	for _, line := range strings.Split(string(data), "\n") {
		if fields := strings.Fields(line); len(fields) > 4 && fields[4] == fmt.Sprint(pid) {
			count++
		}
	}
	return count
}

// keepServer makes the test program start a server in this folder and wait for its kill, as an
// assay that dies.
const keepServer = "ASSAY_TEST_KEEP_SERVER"

const orphanPassword = "orphan"

func TestMain(m *testing.M) {
	if dir := os.Getenv(keepServer); dir != "" {
		keep(dir)
		return
	}
	os.Exit(m.Run())
}

type orphan struct {
	Port      int
	Processes []server.ProcessID
}

func keep(dir string) {
	p, err := Start(context.Background(), Options{Dir: dir, Password: orphanPassword})
	if err != nil {
		fmt.Println("error:", err)
		return
	}
	processes, err := p.Process().Processes()
	if err != nil {
		fmt.Println("error:", err)
	}
	json.NewEncoder(os.Stdout).Encode(orphan{p.Port, processes})
	select {}
}

// TestPostgresDiesWithAssay kills such a stand-in with a server and a session, and then clears the
// folder and the shared memory, which a killed server leaves.
func TestPostgresDiesWithAssay(t *testing.T) {
	self, err := os.Executable()
	expect.NoError(t, err)
	dir := filepath.Join(os.TempDir(), fmt.Sprintf("assay-test-%d-orphan", os.Getpid()))
	parent := exec.Command(self)
	parent.Env = append(os.Environ(), keepServer+"="+dir)
	out, err := parent.StdoutPipe()
	expect.NoError(t, err)
	expect.NoError(t, parent.Start())
	var left orphan
	expect.NoError(t, json.NewDecoder(out).Decode(&left))
	programs, err := FindPrograms("")
	if err != nil {
		t.Error(err)
	}
	user, err := server.Unprivileged("postgres", "nobody")
	if err != nil {
		t.Error(err)
	}
	p := &Server{programs: programs, options: Options{User: "assay", Password: orphanPassword}, Node: &server.Node{
		Name: "the orphan", Host: "127.0.0.1", Port: left.Port, Dir: dir, Log: filepath.Join(dir, "postgres.log"), User: user}}
	expect.AtEnd(t, p.Close)
	session, err := strconv.Atoi(query(t, connect(t, p), "SELECT pg_backend_pid()::text"))
	expect.NoError(t, err)
	left.Processes = append(left.Processes, server.Identify(session))
	if len(left.Processes) < 5 {
		t.Errorf("a tree of %d processes; want the server and its children", len(left.Processes))
	}
	expect.NoError(t, parent.Process.Kill())
	if err := parent.Wait(); err == nil {
		t.Error("the killed stand-in ended well")
	}
	for _, id := range left.Processes {
		expect.Eventually(t, fmt.Sprintf("process %d is gone", id.PID), func() bool { return !id.Alive() })
	}
	// To the next server the dead process holds its lock file until init has reaped it.
	expect.NoError(t, os.Remove(filepath.Join(p.data(), "postmaster.pid")))
	expect.NoError(t, p.start(context.Background(), stateReady))
}
