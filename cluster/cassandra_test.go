package cluster

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	gocql "github.com/apache/cassandra-gocql-driver/v2"
	"github.com/shirou/gopsutil/v4/mem"

	"assay/cluster/server"
	"assay/internal/expect"
)

func TestCassandraHeapFollowsTheMemory(t *testing.T) {
	machine, err := mem.VirtualMemory()
	expect.NoError(t, err)
	share := int64(256 << 20)
	if third := int64(machine.Total) / 3; third >= 1<<30 {
		share = max(min(third/2, 1<<30), min(third/4, 8<<30))
	}
	for text, want := range map[string]int64{
		"cassandra:3": share, "cassandra:3,memory=700MiB": 256 << 20, "cassandra:1,memory=1GiB": 512 << 20,
		"cassandra:1,memory=8GiB": 2 << 30, "cassandra:1,memory=64GiB": 8 << 30, "cassandra:3,memory=1GiB,heap=300MiB": 300 << 20,
	} {
		spec, err := ParseSpec(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got := cassandraHeap(spec); got != want {
			t.Errorf("%s: a heap of %d, want %d", text, got, want)
		}
	}
	for _, text := range []string{"cassandra:0", "cassandra:2+arbiter", "cassandra:3,heap=1MiB", "cassandra:3,commitlog=never"} {
		_, err := ParseSpec(text)
		wantRefusal(t, text, err, "")
	}
}

func wantCassandraSettings(t *testing.T, n *Node, want map[string]string) {
	t.Helper()
	config := gocql.NewCluster(n.Address())
	config.Consistency, config.Timeout = gocql.One, 30*time.Second
	session, err := config.CreateSession()
	expect.NoError(t, err)
	defer session.Close()
	for name, value := range want {
		var got string
		if err := session.Query("SELECT value FROM system_views.settings WHERE name = ?", name).ScanContext(t.Context(), &got); err != nil || got != value {
			t.Errorf("%s is %s, %v; want %s", name, got, err, value)
		}
	}
}

func TestCassandraAsACluster(t *testing.T) {
	t.Parallel()
	spec, err := ParseSpec("cassandra:1,network=loopback,heap=200MiB,set.write_request_timeout=777ms,set.auto_snapshot=true")
	expect.NoError(t, err)
	c, err := Start(expect.Patiently(t), spec, Options{})
	expect.NoError(t, err)
	expect.AtEnd(t, c.Close)
	var none *server.NoPrimaryError
	if n, err := c.Primary(t.Context()); !errors.As(err, &none) {
		t.Errorf("primary %v, %v", n, err)
	}
	node := c.Node("n1")
	if node == nil || !node.Running() || !strings.HasPrefix(c.Address(), "cassandra://127.0.0.1:") {
		t.Fatalf("%+v at %s", node, c.Address())
	}
	if text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", node.PID())); err == nil && !strings.Contains(string(text), "-Xmx209715200") {
		t.Errorf("the heap did not reach it: %q", text)
	}
	expect.NoError(t, c.Settled(expect.Patiently(t)))
	wantCassandraSettings(t, node, map[string]string{"write_request_timeout": "777ms", "auto_snapshot": "true"})
	pid := node.PID()
	expect.NoError(t, c.Close())
	if err := syscall.Kill(pid, 0); err != syscall.ESRCH {
		t.Errorf("it is still there: %v", err)
	}
}
