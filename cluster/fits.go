package cluster

import (
	"fmt"
	"os"
	"runtime"

	"github.com/shirou/gopsutil/v4/disk"

	"assay/internal/quantity"
)

// fits returns a *SpecError for limits beyond this machine's resources: they would limit nothing.
func (s Spec) fits() error {
	if have := runtime.NumCPU(); s.Limits.CPU > float64(have) {
		return &SpecError{Spec: s.String(), Part: fmt.Sprintf("option \"cpu=%g\"", s.Limits.CPU), Want: fmt.Sprintf("at most %d, which this machine has", have)}
	}
	if have := machineMemory(); have > 0 && s.Limits.Memory > have {
		return &SpecError{Spec: s.String(), Part: "option \"memory=" + quantity.FormatBinary(s.Limits.Memory) + "\"",
			Want: "at most " + quantity.FormatBinary(have) + ", which this machine has"}
	}
	return nil
}

// enoughRoom, in bytes, is more than the largest file made at once (PostgreSQL's log, 16 MiB).
const enoughRoom = 32 << 20

func littleRoom(folder string) string {
	on, err := disk.Usage(folder)
	if err != nil || on.Free >= enoughRoom {
		return ""
	}
	return "; the disk of " + folder + " is full: " + quantity.FormatBinary(int64(on.Free)) + " are left"
}

func machineMemory() (total int64) {
	file, err := os.Open("/proc/meminfo")
	if err != nil {
		return 0
	}
	defer file.Close()
	if _, err := fmt.Fscanf(file, "MemTotal: %d kB", &total); err != nil {
		return 0
	}
	return total << 10
}
