package fault

import (
	"errors"
	"io/fs"
	"os/exec"
	"strings"
	"testing"

	"assay/internal/expect"
)

// TestALimitIsProvenAsTheKernelHoldsIt: a quota of 33333 microseconds is a third of a processor, and
// what is no less than a node's own limit is refused, since it would free the node.
func TestALimitIsProvenAsTheKernelHoldsIt(t *testing.T) {
	t.Parallel()
	c := startCluster(t, "redis:1,cpu=0.5")
	i := happen(t, c, "slowcpu=0.333333 n1 at 0s for 1s")[0]
	if strings.Contains(i.Proof, "not 0.333333 processors") || !strings.Contains(i.Proof, "holds the limit of 0.333333 processors") {
		t.Errorf("%+v", i)
	}
	for _, text := range []string{"slowcpu=0.5 n1", "slowcpu=1 n1"} {
		mustBeUnavailable(t, c, text, "want less than the cluster's cpu=0.5")
	}
	checkWhole(t, c)
}

// TestOnlyAMachinesCgroupLimits: a server that starts or has ended is in the topmost cgroup of version 1,
// where the fault found no limit until its end.
func TestOnlyAMachinesCgroupLimits(t *testing.T) {
	t.Parallel()
	other := exec.Command("cat")
	hold, err := other.StdinPipe()
	expect.NoError(t, err)
	expect.NoError(t, other.Start())
	t.Cleanup(func() {
		_ = hold.Close()
		if err := other.Wait(); err != nil {
			t.Error(err)
		}
	})
	disk := limit{controller: "blkio", files: [2]string{"blkio.throttle.write_bps_device", "io.max"}}
	if g, err := cgroupOf(other.Process.Pid, disk); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%+v, %v", g, err)
	}
}
