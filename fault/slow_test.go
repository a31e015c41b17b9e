package fault

import (
	"errors"
	"io/fs"
	"os/exec"
	"testing"

	"assay/internal/expect"
)

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
