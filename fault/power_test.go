package fault

import (
	"os"
	"strings"
	"testing"
	"time"

	"assay/cluster"
	"assay/cluster/disk"
	"assay/internal/expect"
)

func mounted(t *testing.T, text string) bool {
	t.Helper()
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Error(err)
	}
	return strings.Contains(string(mounts), text)
}

// TestPowerCut cuts the power of all nodes, and of one with another file system.
func TestPowerCut(t *testing.T) {
	maria := "mariadb:1,fs=xfs"
	if cluster.CheckDisk(t.Context(), cluster.DiskImage, "xfs") != nil && os.Getenv("CI") == "" {
		maria = "mariadb:1,disk=image" // without xfsprogs; cluster/image tests the refusal
	}
	for _, test := range []struct{ spec, fault string }{
		{"postgres:2,disk=image", "power-cut all at 0s for 100ms"},
		{maria, "power-cut n1 at 0s for 100ms"},
	} {
		t.Run(test.spec, func(t *testing.T) {
			t.Parallel()
			var c *cluster.Cluster
			t.Cleanup(func() { // called after the cluster's end
				if c != nil && mounted(t, c.ID()) {
					t.Error("a mount is left")
				}
			})
			c = startCluster(t, test.spec)
			if !mounted(t, c.ID()) {
				t.Error("no node has a disk of its own")
			}
			expect.NoError(t, Validate(t.Context(), parse(t, test.fault), Servers(c)))
			began := time.Now()
			i := happen(t, c, test.fault)[0]
			if !i.Proven || strings.Count(i.Proof, "input/output error") != len(i.Nodes) {
				t.Errorf("proven %v: %s", i.Proven, i.Proof)
			}
			if !i.Healed || strings.Count(i.Healing, "journal replayed") != len(i.Nodes) || strings.Count(i.Healing, "serves again") != len(i.Nodes) {
				t.Errorf("healed %v: %s", i.Healed, i.Healing)
			}
			if i.CutAt.Before(began) || i.CutAt.After(i.HealedAt) {
				t.Errorf("cut at %v, injected at %v, healed at %v", i.CutAt, i.InjectedAt, i.HealedAt)
			}
			checkWhole(t, c)
		})
	}
}

// TestACutThatFails leaves no disk without power. The disk is cut already, and refuses the fault's
// cut.
func TestACutThatFails(t *testing.T) {
	t.Parallel()
	c := startCluster(t, "mongodb:1,shutdown=100ms,disk=faulty")
	before := &recording{onInjected: func(Injection) {
		if err := c.Node("n1").CutDisk(disk.Worst, 1); err != nil {
			t.Error(err)
		}
	}}
	done, err := Run(t.Context(), Servers(c), parse(t, "power-cut=worst n1 at 0s for 100ms"), patientPlan(), before)
	if err == nil || len(done) != 1 {
		t.Fatalf("%+v, %v", done, err)
	}
	if i := done[0]; i.Proven || !i.Healed || !strings.Contains(i.Problem, disk.ErrDown.Error()) || !strings.Contains(i.Healing, "serves again") {
		t.Errorf("%+v", i)
	}
	checkWhole(t, c)
}
