package machine

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"assay/internal/expect"
)

// open makes machines with networks of their own. If the system cannot, continuous integration
// fails; elsewhere open checks the refusal and loopback, and returns nil.
func open(t *testing.T, names ...string) *Set {
	t.Helper()
	o := Options{ID: newID(), Names: names}
	s, err := Open(o)
	if err == nil {
		closed(t, s)
		if err := s.Own(); err != nil {
			t.Errorf("Own: %v", err)
		}
		return s
	}
	if !isUnsupported(err) {
		t.Fatal(err)
	}
	if os.Getenv("CI") != "" {
		t.Fatalf("these tests need Linux and root, with namespaces allowed: %v", err)
	}
	if left := remainsOf(t, o.ID); len(left) > 0 {
		t.Errorf("a refused Open left %v", left)
	}
	if s, err = Loopback(o); err != nil {
		t.Fatal(err)
	}
	closed(t, s)
	if len(s.All()) != len(names) {
		t.Errorf("loopback machines %v", s.All())
	}
	return nil
}

// remainsOf lists all that exists of an id.
func remainsOf(t *testing.T, id string) []string {
	t.Helper()
	var found []string
	note := func(kind, name string) {
		if strings.Contains(name, id) {
			found = append(found, kind+" "+name)
		}
	}
	entries, err := os.ReadDir(namespaces)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	for _, e := range entries {
		note("namespace", e.Name())
	}
	links, err := net.Interfaces()
	expect.NoError(t, err)
	for _, l := range links {
		note("interface", l.Name)
	}
	mounts, err := readMounts()
	expect.NoError(t, err)
	for _, m := range mounts {
		note("mount", m.folder)
		if strings.HasPrefix(m.kind, "cgroup") {
			groups, err := filepath.Glob(filepath.Join(m.folder, "*", "*"))
			expect.NoError(t, err)
			for _, g := range groups {
				note("cgroup", g)
			}
		}
	}
	return found
}

// echo answers all connections to the machine until the test ends, and returns its address.
func echo(t *testing.T, m *Machine) string {
	t.Helper()
	var listener net.Listener
	err := m.Run(func() (err error) {
		listener, err = net.Listen("tcp4", net.JoinHostPort(m.Address().String(), "7000"))
		return err
	})
	expect.NoError(t, err)
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			serving.Go(func() {
				defer conn.Close()
				_ = conn.SetDeadline(time.Now().Add(time.Minute))
				_, _ = io.Copy(conn, conn)
			})
		}
	})
	t.Cleanup(func() {
		if err := listener.Close(); err != nil {
			t.Error(err)
		}
		serving.Wait()
	})
	return listener.Addr().String()
}

func ask(at string) error {
	conn, err := net.DialTimeout("tcp4", at, 700*time.Millisecond)
	if err != nil {
		return err
	}
	defer conn.Close()
	return sendAndReceive(conn, 5*time.Second)
}

func sendAndReceive(conn net.Conn, patience time.Duration) error {
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		return err
	}
	if _, err := conn.Write([]byte("word")); err != nil {
		return err
	}
	answer := make([]byte, 4)
	if _, err := io.ReadFull(conn, answer); err != nil {
		return err
	}
	if string(answer) != "word" {
		return fmt.Errorf("answered %q", answer)
	}
	return nil
}

func askFrom(m *Machine, at string) error { return m.Run(func() error { return ask(at) }) }

func timedOut(err error) bool {
	var network net.Error
	return errors.As(err, &network) && network.Timeout()
}

func TestMachinesReachEachOther(t *testing.T) {
	s := open(t, "n1", "n2")
	if s == nil {
		return
	}
	n1, n2 := s.All()[0], s.All()[1]
	n3, err := s.Add("n3")
	expect.NoError(t, err)
	if _, err := s.Add("n3"); err == nil {
		t.Error("a second n3")
	}
	at := echo(t, n1)
	expect.NoError(t, ask(at), askFrom(n1, at), askFrom(n2, at), askFrom(n3, at), ask(echo(t, n3)))
	addresses := []netip.Addr{s.Client(), n1.Address(), n2.Address(), n3.Address()}
	for i, last := range []byte{1, 11, 12, 13} {
		if a := addresses[i].As4(); !benchmarkNetwork().Contains(addresses[i]) || a[3] != last || s.network.subnet.Contains(addresses[i]) == false {
			t.Errorf("address %v", addresses[i])
		}
	}
	// Each machine has a working loopback of its own.
	err = n2.Run(func() error {
		listener, err := net.Listen("tcp4", "127.0.0.1:7001")
		if err != nil {
			return err
		}
		return errors.Join(dialAndClose("127.0.0.1:7001"), listener.Close())
	})
	if err != nil {
		t.Error(err)
	}
}

func dialAndClose(at string) error {
	conn, err := net.DialTimeout("tcp4", at, 5*time.Second)
	if err != nil {
		return err
	}
	return conn.Close()
}

func TestSetsAtOnceWithTheSameNames(t *testing.T) {
	if open(t, "n1") == nil {
		return
	}
	sets := make([]*Set, 6)
	var opening sync.WaitGroup
	for i := range sets {
		opening.Go(func() {
			var err error
			if sets[i], err = Open(Options{ID: newID(), Names: []string{"n1", "n2"}}); err != nil {
				t.Error(err)
			}
		})
	}
	opening.Wait()
	var subnets []netip.Prefix
	for _, s := range sets {
		if s == nil {
			continue
		}
		closed(t, s)
		if slices.Contains(subnets, s.network.subnet) {
			t.Errorf("%v twice", s.network.subnet)
		}
		subnets = append(subnets, s.network.subnet)
		at := echo(t, s.All()[0])
		if err := errors.Join(ask(at), askFrom(s.All()[1], at)); err != nil {
			t.Error(err)
		}
	}
	if _, err := Open(Options{ID: sets[0].options.ID}); !errors.Is(err, os.ErrExist) {
		t.Errorf("a second set with the same id: %v", err)
	}
	if at := echo(t, sets[0].All()[1]); ask(at) != nil {
		t.Error("a second set with the same id harmed the first")
	}
}

func TestASubnetIsClaimedOnce(t *testing.T) {
	first, second := open(t), open(t)
	if first == nil {
		return
	}
	links, err := netlink.NewHandle(unix.NETLINK_ROUTE)
	expect.NoError(t, err)
	defer links.Close()
	end, err := links.LinkByName(prefix + second.options.ID)
	expect.NoError(t, err)
	if err := second.network.take(links, end, []netip.Prefix{first.network.subnet}); !isUnsupported(err) {
		t.Errorf("somebody else's subnet: %v", err)
	}
	taken, err := hostNetworks(links)
	expect.NoError(t, err)
	free := freeSubnets(taken)
	for _, s := range []*Set{first, second} {
		if !slices.Contains(taken, s.network.subnet) || slices.Contains(free, s.network.subnet) {
			t.Errorf("%v counts as free", s.network.subnet)
		}
	}
}

func TestFreeSubnets(t *testing.T) {
	for _, c := range []struct {
		taken string
		free  int
	}{
		{"0.0.0.0/0", 512}, {"10.0.0.0/8", 512}, {"198.18.0.0/15", 0}, {"198.16.0.0/12", 0},
		{"198.18.0.0/16", 256}, {"198.19.7.0/24", 511}, {"198.18.3.9/32", 511},
	} {
		free := freeSubnets([]netip.Prefix{netip.MustParsePrefix(c.taken)})
		if len(free) != c.free {
			t.Errorf("beside %s there are %d", c.taken, len(free))
		}
		for _, f := range free {
			if f.Bits() != 24 || !benchmarkNetwork().Overlaps(f) || f != f.Masked() {
				t.Errorf("beside %s: %v", c.taken, f)
			}
		}
	}
}

func TestNothingIsLeft(t *testing.T) {
	s := open(t, "n1", "n2")
	if s == nil {
		return
	}
	id := s.options.ID
	restore, err := s.All()[0].SetLimits(Limits{CPU: 1})
	if err != nil && !isUnsupported(err) {
		t.Fatal(err)
	}
	if _, err := s.All()[0].Drop(Rule{Direction: Both, Share: 1}); err != nil {
		t.Fatal(err)
	}
	seen := strings.Join(remainsOf(t, id), "\n")
	expect.Text(t, "what is left", seen, "namespace assay-"+id+"-n1", "namespace assay-"+id+"-bridge", "interface assay-"+id, "mount ")
	if ids, err := Leftovers(); err != nil || !slices.Contains(ids, id) {
		t.Errorf("Leftovers: %v, %v", ids, err)
	}
	for range 2 {
		expect.NoError(t, s.Close())
	}
	if left := remainsOf(t, id); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	if ids, err := Leftovers(); err != nil || slices.Contains(ids, id) {
		t.Errorf("Leftovers: %v, %v", ids, err)
	}
	if restore != nil {
		if err := restore(); err != nil {
			t.Errorf("restore after Close: %v", err)
		}
	}
	if err := s.All()[0].Run(func() error { return nil }); !errors.Is(err, os.ErrClosed) {
		t.Errorf("Run after Close: %v", err)
	}
	files, err := filepath.Glob("/proc/self/fd/*")
	expect.NoError(t, err)
	for _, f := range files {
		if target, _ := os.Readlink(f); regexp.MustCompile(`^net:|/ns/net`).MatchString(target) {
			t.Errorf("file %s is open still", target)
		}
	}
}

func TestAFailedOpenLeavesNothing(t *testing.T) {
	if open(t, "n1") == nil {
		return
	}
	id := newID()
	// This blocks the second machine.
	obstacle := filepath.Join(namespaces, prefix+id+"-n2", "x")
	expect.NoError(t, os.MkdirAll(obstacle, 0o755))
	s, err := Open(Options{ID: id, Names: []string{"n1", "n2"}})
	if err == nil {
		closed(t, s)
		t.Error("opened")
	}
	expect.NoError(t, os.RemoveAll(filepath.Dir(obstacle)))
	if left := remainsOf(t, id); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}
