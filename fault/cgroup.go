package fault

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// cgroup is one that a process is in, found by itself and not by asking those
// who set the limit.
type cgroup struct {
	folder string
	v2     bool
}

func (g cgroup) read(file string) (string, error) {
	text, err := os.ReadFile(filepath.Join(g.folder, file))
	return string(text), err
}

// cgroupOf finds the cgroup in which the process is limited by a controller,
// under its name in version 1: cpu or blkio. In version 2, which is taken if
// version 1 has no such controller, all controllers share one. See cgroups(7).
func cgroupOf(pid int, controller string) (cgroup, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid))
	if err != nil {
		return cgroup{}, fmt.Errorf("find the cgroup of process %d: %w", pid, err)
	}
	const top = "/sys/fs/cgroup"
	var candidates []cgroup
	for line := range strings.Lines(string(text)) {
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(fields) != 3 {
			continue
		}
		within := below(fields[2])
		switch {
		case fields[1] == "":
			candidates = append(candidates, cgroup{filepath.Join(top, within), true}, cgroup{filepath.Join(top, "unified", within), true})
		case slices.Contains(strings.Split(fields[1], ","), controller):
			v1 := []cgroup{{filepath.Join(top, fields[1], within), false}, {filepath.Join(top, controller, within), false}}
			candidates = append(v1, candidates...)
		}
	}
	for _, c := range candidates {
		if _, err := os.Stat(filepath.Join(c.folder, limitFile(controller, c.v2))); err == nil {
			return c, nil
		}
	}
	return cgroup{}, fmt.Errorf("process %d is in no cgroup that limits its %s", pid, controller)
}

func limitFile(controller string, v2 bool) string {
	switch {
	case controller == "cpu" && v2:
		return "cpu.max"
	case controller == "cpu":
		return "cpu.cfs_quota_us"
	case v2:
		return "io.max"
	}
	return "blkio.throttle.write_bps_device"
}

// below is the end of a cgroup's path, assay-ID/NAME: seen from within a
// container the path may begin with folders that are not mounted there.
func below(full string) string {
	machine := path.Base(full)
	return path.Join(path.Base(path.Dir(full)), machine)
}
