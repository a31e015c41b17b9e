package histories

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/shirou/gopsutil/v4/mem"
)

const searchShare = 2

// searchMemory is the default for Options.Memory: half of the memory of the machine or of the
// control group, whichever is less; 0 if unknown.
func searchMemory(ctx context.Context) int64 {
	least := int64(math.MaxInt64)
	if info, err := mem.VirtualMemoryWithContext(ctx); err == nil && info.Total > 0 && info.Total < math.MaxInt64 {
		least = int64(info.Total)
	}
	if group, err := os.ReadFile("/proc/self/cgroup"); err == nil {
		least = min(least, groupMemory("/sys/fs/cgroup", string(group)))
	}
	if least == math.MaxInt64 {
		return 0
	}
	return least / searchShare
}

// groupMemory is the lowest memory limit of a process's control group and of its parents;
// math.MaxInt64 if there is none. mount is where the groups are, text is /proc/PID/cgroup
// (cgroups(7), and memory.max in the kernel's cgroup-v2 manual).
func groupMemory(mount, text string) int64 {
	least := int64(math.MaxInt64)
	for line := range strings.Lines(text) {
		path, unified := strings.CutPrefix(strings.TrimSpace(line), "0::")
		if !unified {
			continue
		}
		for at := filepath.Clean("/" + path); ; at = filepath.Dir(at) {
			limit, err := os.ReadFile(filepath.Join(mount, at, "memory.max"))
			if n, bad := strconv.ParseInt(strings.TrimSpace(string(limit)), 10, 64); err == nil && bad == nil {
				least = min(least, n)
			}
			if at == "/" {
				return least
			}
		}
	}
	return least
}
