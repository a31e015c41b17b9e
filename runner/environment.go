package runner

import (
	"context"
	"fmt"
	"runtime"

	"github.com/shirou/gopsutil/v4/cpu"
	"github.com/shirou/gopsutil/v4/disk"
	"github.com/shirou/gopsutil/v4/host"
	"github.com/shirou/gopsutil/v4/mem"
)

// Environment is the machine that assay ran on. Fields that could not be found
// out are empty or 0.
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

// environment asks the machine. What it does not tell stays empty.
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
