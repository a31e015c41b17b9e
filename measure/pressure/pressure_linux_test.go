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

const (
	envListen = "ASSAY_TEST_LISTEN" // network and address
	envOnward = "ASSAY_TEST_ONWARD" // the same, of what it connects to; empty for nothing
	envBusy   = "ASSAY_TEST_BUSY"
)

// TestMain is a server that listens where a test has it do so, and may connect to another one.
func TestMain(m *testing.M) {
	if os.Getenv(envListen) == "" {
		os.Exit(m.Run())
	}
	network, address, _ := strings.Cut(os.Getenv(envListen), " ")
	l, err := net.Listen(network, address)
	if err != nil {
		os.Exit(1)
	}
	var held []net.Conn
	if network, address, found := strings.Cut(os.Getenv(envOnward), " "); found {
		c, err := net.Dial(network, address)
		if err != nil {
			os.Exit(1)
		}
		held = append(held, c)
	}
	fmt.Println(network + " " + l.Addr().String())
	end := time.Now().Add(2 * time.Minute) // unless it is ended before
	for os.Getenv(envBusy) != "" && time.Now().Before(end) {
	}
	for time.Now().Before(end) {
		c, err := l.Accept()
		if err != nil {
			os.Exit(1)
		}
		held = append(held, c)
	}
	_ = held
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

// server starts a process of this name that listens, and returns where; it is busy, or
// connected onward.
func server(t *testing.T, name, listen, onward string, isBusy bool) (pid int, address string) {
	t.Helper()
	own, err := os.Executable()
	expect.NoError(t, err)
	program, err := os.ReadFile(own)
	expect.NoError(t, err)
	path := filepath.Join(t.TempDir(), name)
	expect.NoError(t, os.WriteFile(path, program, 0o700))
	c := exec.Command(path)
	c.Env = append(os.Environ(), envListen+"="+listen, envOnward+"="+onward)
	if isBusy {
		c.Env = append(c.Env, envBusy+"=1")
	}
	out, err := c.StdoutPipe()
	expect.NoError(t, err)
	expect.NoError(t, c.Start())
	t.Cleanup(func() { _ = c.Process.Kill(); _ = c.Wait() })
	line, err := bufio.NewReader(out).ReadString('\n')
	expect.NoError(t, err)
	return c.Process.Pid, strings.TrimSpace(line)
}

const loopback = "tcp 127.0.0.1:0"

// connect connects this process to a server.
func connect(t *testing.T, to string) {
	t.Helper()
	network, address, _ := strings.Cut(to, " ")
	c, err := net.Dial(network, address)
	expect.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
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
	u := watchFor(t, 2*time.Second, Database{Servers: nobody})
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
	if short := watchFor(t, 50*time.Millisecond, Database{Servers: nobody}); short != nil {
		t.Errorf("of a moment: %+v", short)
	}
}

// The servers are those that assay's connections lead to, also through a pooler, by whatever
// they are called; another one of such a name, and who works on them besides, is not.
func TestTheServersAreWhereConnectionsLead(t *testing.T) {
	for name, listen := range map[string]func() string{
		"tcp":  func() string { return loopback },
		"ipv6": func() string { return "tcp [::]:0" }, // what is asked for by IPv4 comes as IPv6
		"unix": func() string { return "unix " + filepath.Join(t.TempDir(), "s") },
	} {
		behind, at := server(t, "engine", listen(), "", false)
		pooler, front := server(t, "pgbouncer", listen(), at, false)
		member, _ := server(t, "engine", listen(), at, false)
		client, _ := server(t, "application", listen(), at, false)
		stranger, _ := server(t, "mongod", listen(), "", false)
		of := Connected(nil)
		if early := of.Servers(); slices.Contains(early, pooler) {
			t.Errorf("%s: before a connection there are %v", name, early)
		}
		connect(t, front)
		var got []int
		missing := func(pid int) bool { return !slices.Contains(got, pid) }
		for end := time.Now().Add(time.Minute); time.Now().Before(end); { // until each server has accepted
			of = Connected(nil)
			if got = of.Servers(); !slices.ContainsFunc([]int{behind, pooler, member}, missing) {
				break
			}
		}
		if slices.ContainsFunc([]int{behind, pooler, member}, missing) {
			t.Errorf("%s: the servers are %v (behind %d, pooler %d, member %d)", name, got, behind, pooler, member)
		}
		for _, other := range []int{client, stranger, os.Getpid()} {
			if slices.Contains(got, other) {
				t.Errorf("%s: %d is among %v (client %d, stranger %d)", name, other, got, client, stranger)
			}
		}
	}
}

// What only is called like a server is other work, and the servers are not.
func TestWhatIsOnlyCalledAServerIsOtherWork(t *testing.T) {
	_, at := server(t, "pgbouncer", loopback, "", true)
	server(t, "mongod", loopback, "", true)
	connect(t, at)
	if u := watchFor(t, 1500*time.Millisecond, Connected(nil)); u == nil || u.Servers <= 0 || u.Perhaps > 0 || named(u, "pgbouncer") || !named(u, "mongod") {
		t.Errorf("%+v", u)
	}
}

// A session's process ends with the session, perhaps between a look at all processes and the
// question which are the servers': it was the database's.
func TestAServerThatEndsIsTheDatabases(t *testing.T) {
	const name = "ending-server" // that no other test's server has
	pid, _ := server(t, name, loopback, "", true)
	w := watcher{of: Database{Servers: func() []int { return []int{pid} }}, byName: map[string]int64{}}
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
