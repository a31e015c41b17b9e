package fault

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"assay/cluster"
	"assay/cluster/machine"
	"assay/quantity"
)

// slowdown sets limits on the machines of nodes that run.
type slowdown struct {
	nodes  []*slowedNode
	limits machine.Limits
	// format is a limit in words.
	format func(limit float64) string
	// controller is the limit's name in cgroups of version 1, read what is in
	// force there and what that has done.
	controller string
	read       func(cgroup) (pressure, error)
	acquire    acquirer
}

type slowedNode struct {
	*cluster.Node
	removeLimit func() error // nil until there is one
	group       cgroup       // once it is found; it outlives the server
	before      pressure
}

// pressure is what the kernel reports about a limit.
type pressure struct {
	// limit is in the unit of machine.Limits; 0 means none.
	limit float64
	// throttled is how often somebody had to wait for it; counted is false if
	// the kernel does not count it.
	throttled int64
	counted   bool
}

func slowedNodes(nodes []*cluster.Node) (all []*slowedNode) {
	for _, n := range nodes {
		all = append(all, &slowedNode{Node: n})
	}
	return all
}

func (s *slowdown) inject(context.Context) error {
	return forEach(s.nodes, func(n *slowedNode) (err error) {
		if n.removeLimit, err = n.Machine().SetLimits(s.limits); err != nil {
			return err
		}
		n.before, err = s.readPressure(n)
		return err
	})
}

// readPressure reads what the kernel reports about a node's limit. A server that
// is down has the zero pressure until it was seen once.
func (s *slowdown) readPressure(n *slowedNode) (pressure, error) {
	if n.group.folder == "" {
		if !n.Running() {
			return pressure{}, nil
		}
		var err error
		if n.group, err = cgroupOf(n.PID(), s.controller); err != nil {
			return pressure{}, err
		}
	}
	return s.read(n.group)
}

// verify is that the kernel has the limit in force, and that somebody had to
// wait for it where that is counted.
func (s *slowdown) verify(context.Context, bool) (observation, error) {
	return observeEach(s.nodes, func(n *slowedNode) (observation, error) {
		now, err := s.readPressure(n)
		if err != nil {
			return observation{}, err
		}
		throttled := now.throttled - n.before.throttled
		wanted := s.limits.CPU + float64(s.limits.DiskWrite) // one of them is 0
		switch {
		case now.limit != wanted:
			return observation{text: fmt.Sprintf("the kernel's limit is %s, not %s", s.format(now.limit), s.format(wanted))}, nil
		case !now.counted:
			return observation{proven: true, text: "the kernel holds the limit of " + s.format(wanted)}, nil
		}
		return observation{proven: throttled > 0,
			text: fmt.Sprintf("the kernel holds the limit of %s and has throttled the server %d times", s.format(wanted), throttled)}, nil
	})
}

func (s *slowdown) undo(context.Context) error {
	return forEach(s.nodes, func(n *slowedNode) error {
		if n.removeLimit == nil {
			return nil
		}
		return n.removeLimit()
	})
}

func (s *slowdown) restore(ctx context.Context) (string, error) {
	return describeEach(s.nodes, func(n *slowedNode) (string, error) {
		now, err := s.readPressure(n)
		if err != nil {
			return "", err
		}
		limit := "the limit is gone, "
		if now.limit != 0 {
			limit = "the limit is " + s.format(now.limit) + " again, "
		}
		text, err := awaitReachable(ctx, n.Node, s.acquire)
		return limit + text, err
	})
}

// slowCPU leaves nodes a share of a processor.
func slowCPU(nodes []*cluster.Node, share float64, acquire acquirer) *slowdown {
	return &slowdown{nodes: slowedNodes(nodes), limits: machine.Limits{CPU: cmp.Or(share, DefaultCPU)}, controller: "cpu", read: cpuPressure, acquire: acquire,
		format: func(limit float64) string { return strconv.FormatFloat(limit, 'f', -1, 64) + " processors" }}
}

// cpuPressure reads the quota and how many periods ended throttled
// (Documentation/admin-guide/cgroup-v2.rst, "CPU Interface Files"; version 1:
// Documentation/scheduler/sched-bwc.rst).
func cpuPressure(group cgroup) (p pressure, err error) {
	var quota, period string
	if group.v2 {
		text, err := group.read("cpu.max")
		if err != nil {
			return p, err
		}
		quota, period, _ = strings.Cut(strings.TrimSpace(text), " ")
	} else {
		var failed [2]error
		quota, failed[0] = group.read("cpu.cfs_quota_us")
		period, failed[1] = group.read("cpu.cfs_period_us")
		if err := errors.Join(failed[:]...); err != nil {
			return p, err
		}
	}
	if p.limit, err = quotient(strings.TrimSpace(quota), strings.TrimSpace(period)); err != nil {
		return p, err
	}
	stat, err := group.read("cpu.stat")
	if err != nil {
		return p, err
	}
	for line := range strings.Lines(stat) {
		if name, value, _ := strings.Cut(strings.TrimSpace(line), " "); name == "nr_throttled" {
			p.counted = true
			p.throttled, err = strconv.ParseInt(value, 10, 64)
		}
	}
	return p, err
}

// quotient is 0 for no quota, which the kernel writes as "max" or -1.
func quotient(quota, period string) (float64, error) {
	if quota == "max" || quota == "-1" {
		return 0, nil
	}
	q, err := strconv.ParseFloat(quota, 64)
	if err != nil {
		return 0, fmt.Errorf("quota of the processor: %w", err)
	}
	d, err := strconv.ParseFloat(period, 64)
	if err != nil || d <= 0 {
		return 0, fmt.Errorf("period of the processor's quota: %q", period)
	}
	return q / d, nil
}

// slowDisk leaves nodes so many bytes a second to write.
func slowDisk(nodes []*cluster.Node, rate int64, acquire acquirer) *slowdown {
	return &slowdown{nodes: slowedNodes(nodes), limits: machine.Limits{DiskWrite: cmp.Or(rate, DefaultRate)}, controller: "blkio", read: diskPressure, acquire: acquire,
		format: func(limit float64) string { return quantity.Format(int64(limit)) + " a second" }}
}

// diskPressure reads the limit on writes of the one device that has one; the
// kernel does not count who waits for it (Documentation/admin-guide/cgroup-v2.rst,
// "IO Interface Files"; version 1: cgroup-v1/blkio-controller.rst).
func diskPressure(group cgroup) (p pressure, err error) {
	file := "blkio.throttle.write_bps_device"
	if group.v2 {
		file = "io.max"
	}
	text, err := group.read(file)
	if err != nil {
		return p, err
	}
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) < 2 {
			continue
		}
		value := fields[1]
		if group.v2 {
			value = ""
			for _, field := range fields[1:] {
				if v, is := strings.CutPrefix(field, "wbps="); is && v != "max" {
					value = v
				}
			}
		}
		if value == "" {
			continue
		}
		limit, err := strconv.ParseFloat(value, 64)
		if err != nil {
			return p, fmt.Errorf("limit of the disk: %w", err)
		}
		p.limit = limit
	}
	return p, nil
}

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
