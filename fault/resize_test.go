package fault

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestGrowTakesHoldOfNoNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFakeSystem(3)
		done, kept, err := play(t, s, Plan{}, "kill all at 1s for 10s", "grow cluster at 2s for 3s", "remove n1 at 3s", "remove n2 at 20s for 5s", "kill n2 at 21s for 1s")
		if err != nil || len(done) != 5 || len(kept.injected) != 3 {
			t.Fatalf("%+v, %v", done, err)
		}
		if i := done[1]; i.Skipped || !i.Healed || len(i.Nodes) != 0 {
			t.Errorf("%+v", i)
		}
		if i := done[2]; !i.Skipped || !strings.Contains(i.Problem, "n1 is down already") {
			t.Errorf("%+v", i)
		}
		if i := done[4]; !i.Skipped || !strings.Contains(i.Problem, "n2 is removed already") {
			t.Errorf("%+v", i)
		}
	})
}

// grow's added node stays while another fault has it.
func TestAnAddedNodeIsRemovedAfterOtherFaults(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &runner{inUse: map[resource]*injecting{{"n4", partProcess}: {}}}
		take := r.acquirer(&injecting{})
		time.AfterFunc(10*time.Second, func() {
			r.mu.Lock()
			defer r.mu.Unlock()
			delete(r.inUse, resource{"n4", partProcess})
		})
		start := time.Now()
		release, err := awaitAcquired(t.Context(), take, "n4")
		if took := time.Since(start); err != nil || took < 10*time.Second {
			t.Fatalf("after %v: %v", took, err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := awaitAcquired(ctx, r.acquirer(&injecting{}), "n4"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("two have it: %v", err)
		}
		release()
		if _, err := awaitAcquired(t.Context(), r.acquirer(&injecting{}), "n4"); err != nil {
			t.Error(err)
		}
	})
}

// Another fault's healing does not start a removed node, and a cluster grows while it shrinks. That
// Galera's members are counted, too, is in package cluster.
func TestMembersComeAndGoUnderOtherFaults(t *testing.T) {
	t.Parallel()
	c := startCluster(t, quickMongo)
	for _, i := range happen(t, c, "grow cluster at 0s for 6s", "slowdisk=1MiB n2 at 0s for 4s", "remove n2 at 100ms for 8s") {
		if i.Skipped || !i.Healed || !i.Proven || i.Fault.Action != "slowdisk" && !(strings.Contains(i.Proof, " members") && strings.Contains(i.Healing, " members")) {
			t.Errorf("%+v", i)
		}
	}
	if len(c.Nodes()) != 3 || c.Node("n4") != nil {
		t.Errorf("members %v", c.Nodes())
	}
	checkWhole(t, c)
}

// Healing removes libfaketime's shared memory, which a killed server with a shifted clock leaves.
func TestAShiftedClockLeavesNoSharedMemory(t *testing.T) {
	t.Parallel()
	c := startCluster(t, "mongodb:1,network=loopback,shutdown=100ms")
	before := c.Node("n1").PID()
	killed := make(chan int, 1)
	go func() {
		n := c.Node("n1")
		for n.PID() == before || n.Dial(t.Context(), dialBound) != nil {
			time.Sleep(20 * time.Millisecond)
		}
		time.Sleep(time.Second)
		pid := n.PID()
		there := 0
		for _, file := range sharedFiles(pid) {
			if _, err := os.Stat(file); err == nil {
				there++
			}
		}
		if there != 2 {
			t.Errorf("libfaketime has made %d files of %v", there, sharedFiles(pid))
		}
		if err := n.Kill(); err != nil {
			t.Error(err)
		}
		killed <- pid
	}()
	if i := happen(t, c, "clock n1 at 0s for 5s")[0]; !i.Healed {
		t.Fatalf("%+v", i)
	}
	for _, file := range sharedFiles(<-killed) {
		if _, err := os.Stat(file); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is still there: %v", file, err)
		}
	}
	checkWhole(t, c)
}
