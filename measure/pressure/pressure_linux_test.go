package pressure

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"assay/internal/expect"
)

const envListen = "ASSAY_TEST_LISTEN"

// TestMain is a server that listens where a test has it do so.
func TestMain(m *testing.M) {
	if os.Getenv(envListen) == "" {
		os.Exit(m.Run())
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		os.Exit(1)
	}
	fmt.Println(l.Addr())
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); { // busy, unless it is ended before
	}
	os.Exit(0)
}

// busy starts processes that use a processor each, and ends them with the test.
func busy(t *testing.T, n int, path string, args ...string) {
	t.Helper()
	for range n {
		c := exec.Command(path, args...)
		expect.NoError(t, c.Start())
		t.Cleanup(func() { _ = c.Process.Kill(); _ = c.Wait() })
	}
}

// server starts a busy process of this name that listens, and returns where.
func server(t *testing.T, name string) (pid int, address string) {
	t.Helper()
	own, err := os.Executable()
	expect.NoError(t, err)
	program, err := os.ReadFile(own)
	expect.NoError(t, err)
	path := filepath.Join(t.TempDir(), name)
	expect.NoError(t, os.WriteFile(path, program, 0o700))
	c := exec.Command(path)
	c.Env = append(os.Environ(), envListen+"=1")
	out, err := c.StdoutPipe()
	expect.NoError(t, err)
	expect.NoError(t, c.Start())
	t.Cleanup(func() { _ = c.Process.Kill(); _ = c.Wait() })
	line, err := bufio.NewReader(out).ReadString('\n')
	expect.NoError(t, err)
	return c.Process.Pid, strings.TrimSpace(line)
}

func watchFor(t *testing.T, d time.Duration, of Database) *Usage {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	return Watch(ctx, of)
}

func nobody() []int { return nil }

func TestWhoWorks(t *testing.T) {
	busy(t, 2, "yes")
	u := watchFor(t, 2*time.Second, Database{Certain: true, Servers: nobody})
	if u == nil {
		t.Fatal("nothing is known")
	}
	i := slices.IndexFunc(u.Processes, func(p Process) bool { return p.Name == "yes" })
	if i < 0 || u.Processes[i].Share <= 0 || u.Others < u.Processes[i].Share || u.Seconds < 2 || u.CPUs < 1 {
		t.Errorf("%+v", u)
	}
	if !slices.IsSortedFunc(u.Processes, func(a, b Process) int { return int(1e6 * (b.Share - a.Share)) }) {
		t.Errorf("%+v", u.Processes)
	}
	if short := watchFor(t, 50*time.Millisecond, Database{Certain: true, Servers: nobody}); short != nil {
		t.Errorf("of a moment: %+v", short)
	}
}

// The process that listens on the database's port is the database's, and where
// that is not known for certain nobody of such a name is blamed.
func TestTheDatabaseIsNotBlamed(t *testing.T) {
	pid, address := server(t, "mongod")
	of := Listening([]string{address})
	if !of.Certain || !slices.Contains(of.Servers(), pid) || slices.Contains(of.Servers(), os.Getpid()) {
		t.Fatalf("certain %v, servers %v, want %d", of.Certain, of.Servers(), pid)
	}
	if u := watchFor(t, 1500*time.Millisecond, of); u == nil || u.Servers <= 0 || named(u, "mongod") {
		t.Errorf("known: %+v", u)
	}
	for name, of := range map[string]Database{"none": Listening(nil), "elsewhere": Listening([]string{"192.0.2.1:27017"}), "nobody listens": Listening([]string{"127.0.0.1:1"})} {
		if of.Certain || len(of.Servers()) != 0 {
			t.Errorf("%s: certain %v, %v", name, of.Certain, of.Servers())
		}
	}
	if u := watchFor(t, 1500*time.Millisecond, Listening(nil)); u == nil || u.Perhaps <= 0 || named(u, "mongod") {
		t.Errorf("not known: %+v", u)
	}
	if u := watchFor(t, 1500*time.Millisecond, Database{Certain: true, Servers: nobody}); u == nil || !named(u, "mongod") {
		t.Errorf("of another database: %+v", u)
	}
}

// A session's process ends with the session, perhaps between a look at all processes and the
// question which are the servers': it was the database's.
func TestAServerThatEndsIsTheDatabases(t *testing.T) {
	const name = "ending-server" // that no other test's server has
	pid, _ := server(t, name)
	w := watcher{of: Database{Certain: true, Servers: func() []int { return []int{pid} }}, byName: map[string]int64{}}
	w.look(true)
	w.of.Servers = nobody
	for end := time.Now().Add(time.Minute); w.servers == 0 && time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		w.look(false)
	}
	if w.servers == 0 || w.byName[name] > 0 {
		t.Errorf("servers %d, others %v", w.servers, w.byName)
	}
}

func named(u *Usage, name string) bool {
	return slices.ContainsFunc(u.Processes, func(p Process) bool { return p.Name == name && p.Share > 0 })
}

// What stands behind a proxy is not known by the port.
func TestAProxyIsNotTheServer(t *testing.T) {
	pid, address := server(t, "docker-proxy")
	if of := Listening([]string{address}); of.Certain || !slices.Contains(of.Servers(), pid) {
		t.Errorf("certain %v, servers %v", of.Certain, of.Servers())
	}
}

func TestNamesAndStalls(t *testing.T) {
	if got := printable("a) b (\x1b[2J"); got != "a) b (?[2J" {
		t.Errorf("printed as %q", got)
	}
	if n, found := parseStall("some avg10=1.00 avg60=0.00 avg300=0.00 total=1234\nfull avg10=0.00 total=5\n"); n != 1234 || !found {
		t.Errorf("stalled for %d, %v", n, found)
	}
	if _, found := parseStall("nothing"); found {
		t.Error("nothing is a stall")
	}
}
