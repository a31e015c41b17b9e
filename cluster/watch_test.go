//go:build unix

package cluster

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"assay/internal/expect"
)

// TestADeadServerIsTold: once, and not for servers that were ended on purpose.
func TestADeadServerIsTold(t *testing.T) {
	t.Parallel()
	spec, err := ParseSpec("mongodb:1,network=loopback")
	expect.NoError(t, err)
	told := make(chan string, 10)
	c, err := Start(t.Context(), spec, Options{Died: func(node, how string) { told <- node + ", " + how }})
	expect.NoError(t, err)
	expect.AtEnd(t, c.Close)
	n := c.Node("n1")
	for _, end := range []func() error{n.Kill, func() error { return n.Stop(t.Context()) }} {
		expect.NoError(t, end())
		time.Sleep(3 * watchEvery)
		expect.NoError(t, n.Start(t.Context()))
	}
	expect.NoError(t, syscall.Kill(n.PID(), syscall.SIGKILL))
	select {
	case got := <-told:
		if !strings.HasPrefix(got, "n1, signal: killed, by nobody here") {
			t.Errorf("told %q", got)
		}
	case <-time.After(expect.Patience):
		t.Error("a server that was killed by somebody else is not told")
	}
	time.Sleep(3 * watchEvery)
	if len(told) != 0 {
		t.Errorf("told again: %q", <-told)
	}
}
