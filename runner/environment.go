package runner

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"

	"github.com/shirou/gopsutil/v4/cpu"
	"github.com/shirou/gopsutil/v4/disk"
	"github.com/shirou/gopsutil/v4/host"
	"github.com/shirou/gopsutil/v4/mem"
)

// Environment is the machine that assay ran on. Unknown fields are empty or 0.
type Environment struct {
	Version        string `json:"assay_version"`
	Go             string `json:"go_version"`
	OS             string `json:"os"`
	Architecture   string `json:"architecture"`
	Platform       string `json:"platform"`
	Kernel         string `json:"kernel"`
	CPU            string `json:"cpu_model"`
	CPUs           int    `json:"cpus"`
	MemoryBytes    uint64 `json:"memory_bytes"`
	FileSystem     string `json:"run_folder_file_system"`
	DiskFreeBytes  uint64 `json:"run_folder_free_bytes"`
	Virtualization string `json:"virtualization,omitempty"`
}

func environment(ctx context.Context, version, folder string) Environment {
	e := Environment{
		Version: version, Go: runtime.Version(), OS: runtime.GOOS, Architecture: runtime.GOARCH,
		CPUs: runtime.NumCPU(),
	}
	if info, err := host.InfoWithContext(ctx); err == nil {
		e.Platform = fmt.Sprintf("%s %s", info.Platform, info.PlatformVersion)
		e.Kernel = info.KernelVersion
		if info.VirtualizationRole == "guest" {
			e.Virtualization = info.VirtualizationSystem
		}
	}
	if info, err := cpu.InfoWithContext(ctx); err == nil && len(info) > 0 {
		e.CPU = info[0].ModelName
	}
	if info, err := mem.VirtualMemoryWithContext(ctx); err == nil {
		e.MemoryBytes = info.Total
	}
	if info, err := disk.UsageWithContext(ctx, folder); err == nil {
		e.FileSystem, e.DiskFreeBytes = info.Fstype, info.Free
	}
	return e
}

// peakMemory is the largest resident size of this process so far, in bytes; 0 if unknown.
// Linux tells it in /proc/self/status.
func peakMemory() int64 {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if rest, found := strings.CutPrefix(line, "VmHWM:"); found {
			kib, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")), 10, 64)
			if err != nil {
				return 0
			}
			return kib << 10
		}
	}
	return 0
}

// manyClients is the number of clients from which their stacks are most of a run's memory.
const manyClients = 1000

// collectOften collects garbage twice as often as Go's default if there are many clients. Go
// lets the heap grow by a share of heap and stacks, though stacks do not become garbage.
func collectOften(clients int) (restore func()) {
	if clients < manyClients {
		return func() {}
	}
	return CollectAfter(50)
}

// CollectAfter collects garbage when the heap has grown by percent, unless GOGC is set. restore
// brings back the previous setting.
func CollectAfter(percent int) (restore func()) {
	if os.Getenv("GOGC") != "" {
		return func() {}
	}
	before := debug.SetGCPercent(percent)
	return func() { debug.SetGCPercent(before) }
}
