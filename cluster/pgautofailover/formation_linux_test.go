package pgautofailover

import (
	"errors"
	"strings"
	"testing"
	"time"

	"assay/cluster/server"
	"assay/cluster/streaming"
	"assay/cluster/streaming/streamingtest"
	"assay/internal/expect"
)

func start(t *testing.T, o Options) *Formation {
	t.Helper()
	o.Unhealthy = 5 * time.Second
	return expect.Started(t, Start, o)
}

func TestAFormationLosesItsPrimary(t *testing.T) {
	streamingtest.LosePrimary(t, start(t, Options{Placement: streaming.Placement{Nodes: 2}}))
}

func TestManagedLifeOfAFormation(t *testing.T) {
	goThroughLife(t, Options{Placement: streaming.Placement{Nodes: 2}})
	goThroughLife(t, Options{Placement: streaming.Placement{Nodes: 3}, Asynchronous: true})
}

func goThroughLife(t *testing.T, o Options) {
	t.Helper()
	o.Placement = streamingtest.Archived(t, o.Placement)
	f := start(t, o)
	monitor := f.Beside()[0]
	before := server.Identify(monitor.PID())
	expect.NoError(t, monitor.Kill(), f.Restart(expect.Patiently(t), o.Nodes))
	if before.Alive() || !monitor.Running() {
		t.Error("the monitor was not started again")
	}
	expect.NoError(t, f.awaitStates(expect.Patiently(t)))
	streamingtest.Run(t, f, true)
	if monitor.Running() {
		t.Error("the monitor is still there")
	}
}

// TestManagedWithoutItsMonitor: the primary stays, and no other node replaces it.
func TestManagedWithoutItsMonitor(t *testing.T) {
	f := start(t, Options{})
	expect.NoError(t, f.monitor.Kill())
	time.Sleep(10 * time.Second) // longer than a node may be silent
	if primary, ok := f.Leader(expect.Patiently(t)); !ok || primary != 0 {
		t.Errorf("node %d takes writes: %v", primary, ok)
	}
	expect.NoError(t, f.Node(0).Kill())
	time.Sleep(10 * time.Second)
	if primary, ok := f.Leader(expect.Patiently(t)); ok {
		t.Errorf("node %d was promoted by nobody", primary)
	}
	expect.NoError(t, f.Restart(expect.Patiently(t), 2), f.Restart(expect.Patiently(t), 0), f.Settled(expect.Patiently(t)))
}

func TestManagedFormationThatCannotStart(t *testing.T) {
	f, err := Start(expect.Patiently(t), Options{Settings: []string{"shared_buffers=nonsense"}})
	if err == nil || !strings.Contains(err.Error(), "shared_buffers") {
		t.Errorf("%v, %v", f, err)
	}
	t.Setenv("PATH", t.TempDir())
	t.Setenv("ASSAY_SERVERS", t.TempDir())
	if _, err := autoctlProgram(t.TempDir()).Find(""); err != nil {
		if missing := (*server.MissingError)(nil); !errors.As(err, &missing) {
			t.Errorf("without the program: %v", err)
		}
	}
}
