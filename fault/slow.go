package fault

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"assay/cluster"
	"assay/cluster/machine"
	"assay/internal/quantity"
)

func slowCPU() Action {
	limit := limit{controller: "cpu", files: [2]string{"cpu.cfs_quota_us", "cpu.max"}, read: cpuPressure,
		set:    func(f Fault) machine.Limits { return machine.Limits{CPU: valueOf[float64](f)} },
		format: func(limit float64) string { return plain(limit) + " processors" }}
	return Action{Name: "slowcpu", Targets: nodeTargets(), Lasts: true, part: partCPU, state: "slowed",
		Value:  number("PROCESSORS", "processors from 0.01 to 1024, such as 0.1", 0.1, 0.01, 1024),
		Effect: "leaves the node this much of a processor",
		check:  func(f Fault, c *cluster.Cluster) error { return tryLimit(f, c, limit.set(f)) },
		on:     limiting(limit)}
}

// cpuPressure reads the quota and the number of throttled periods
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

func slowDisk() Action {
	limit := limit{controller: "blkio", files: [2]string{"blkio.throttle.write_bps_device", "io.max"}, read: diskPressure,
		set:    func(f Fault) machine.Limits { return machine.Limits{DiskWrite: valueOf[int64](f)} },
		format: func(limit float64) string { return quantity.Format(int64(limit)) + " a second" }}
	return Action{Name: "slowdisk", Targets: nodeTargets(), Lasts: true, part: partDisk, state: "slowed",
		Value:  size("RATE", "bytes a second, at least 1KiB, such as 1MiB or 500kB", 1<<20),
		Effect: "leaves the node this many bytes a second to write",
		check: func(f Fault, c *cluster.Cluster) error {
			if n := c.Nodes()[0]; n.HasDisk() {
				return &UnavailableError{Action: f.Action, Reason: "each node has a disk of its own (disk=" + c.Spec().Disk + "), to which the machine's limits do not apply",
					Instead: "with disk=" + cluster.DiskFaulty + ", write io-delay, slow-fsync or disk-stall"}
			}
			return tryLimit(f, c, limit.set(f))
		},
		on: limiting(limit)}
}

// diskPressure reads the write limit of the one limited device. The kernel does not count waits for
// it (Documentation/admin-guide/cgroup-v2.rst, "IO Interface Files"; version 1:
// cgroup-v1/blkio-controller.rst).
func diskPressure(group cgroup) (p pressure, err error) {
	text, err := group.read(group.file)
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

// limit is a limit on the machines of running nodes.
type limit struct {
	set    func(f Fault) machine.Limits
	format func(limit float64) string
	// controller is its name in cgroups of version 1. files has it in versions 1 and 2. read reads
	// what is in force and its effect.
	controller string
	files      [2]string
	read       func(cgroup) (pressure, error)
}

type slowedNode struct {
	*cluster.Node
	limit
	limits      machine.Limits
	acquire     acquirer
	removeLimit func() error // nil until there is one
	group       cgroup       // once it is found; it outlives the server
	before      pressure
}

type pressure struct {
	// limit is in the unit of machine.Limits; 0 means none.
	limit float64
	// throttled counts waits for it, if the kernel counts them (counted).
	throttled int64
	counted   bool
}

func limiting(l limit) func(task) (injector, error) {
	return func(t task) (injector, error) {
		return onEach(t.nodes, func(n *cluster.Node) oneNode {
			return &slowedNode{Node: n, limit: l, limits: l.set(t.Fault), acquire: t.acquire}
		}), nil
	}
}

// tryLimit refuses a limit that slows nothing: the latest limit counts, so that it would free a node
// whose own is lower.
func tryLimit(f Fault, c *cluster.Cluster, l machine.Limits) error {
	of := c.Spec()
	if own := of.Limits; own.CPU > 0 && l.CPU >= own.CPU || own.DiskWrite > 0 && l.DiskWrite >= own.DiskWrite {
		option := "cpu=" + plain(own.CPU)
		if l.DiskWrite > 0 {
			option = "disk=" + quantity.Format(own.DiskWrite)
		}
		return &UnavailableError{Action: f.Action, Reason: "each node of " + of.String() + " has no more than that already", Instead: "want less than the cluster's " + option}
	}
	restore, err := c.Nodes()[0].Machine().SetLimits(l)
	if err == nil {
		err = restore()
	}
	var unsupported *machine.UnsupportedError
	if errors.As(err, &unsupported) {
		return &UnavailableError{Action: f.Action, Reason: unsupported.Error(), Err: err}
	}
	if err != nil {
		return fmt.Errorf("fault %q: %w", f, err)
	}
	return nil
}

func (n *slowedNode) inject(context.Context) (err error) {
	if n.removeLimit, err = n.Machine().SetLimits(n.limits); err != nil {
		return err
	}
	n.before, err = n.pressure()
	return err
}

// pressure is zero for a server that is down, or starts or ends at this moment, and was never seen.
func (n *slowedNode) pressure() (p pressure, err error) {
	if n.group.folder == "" {
		if !n.Running() {
			return p, nil
		}
		n.group, err = cgroupOf(n.PID(), n.limit)
		if errors.Is(err, fs.ErrNotExist) {
			return p, nil
		}
		if err != nil {
			return p, err
		}
	}
	return n.read(n.group)
}

// limitStep is how exactly the kernel holds a limit, relative to it: a quota is whole microseconds of
// a period of 100 ms.
const limitStep = 1e-5

// verify checks that the kernel has the limit in force and, if counted, that it caused waits.
func (n *slowedNode) verify(context.Context, bool) (observation, error) {
	now, err := n.pressure()
	if err != nil {
		return observation{}, err
	}
	throttled := now.throttled - n.before.throttled
	wanted := n.limits.CPU + float64(n.limits.DiskWrite) // the other is 0
	switch {
	case math.Abs(now.limit-wanted) > limitStep*max(1, wanted):
		return observation{text: fmt.Sprintf("the kernel's limit is %s, not %s", n.format(now.limit), n.format(wanted))}, nil
	case !now.counted:
		return observation{proven: true, text: "the kernel holds the limit of " + n.format(wanted)}, nil
	}
	return observation{proven: throttled > 0,
		text: fmt.Sprintf("the kernel holds the limit of %s and has throttled the server %d times", n.format(wanted), throttled)}, nil
}

func (n *slowedNode) undo(context.Context) error {
	if n.removeLimit == nil {
		return nil
	}
	if err := n.removeLimit(); err != nil {
		return err
	}
	n.removeLimit = nil
	return nil
}

func (n *slowedNode) restore(ctx context.Context) (string, error) {
	now, err := n.pressure()
	if err != nil {
		return "", err
	}
	limit := "the limit is gone, "
	if now.limit != 0 {
		limit = "the limit is " + n.format(now.limit) + " again, "
	}
	text, err := awaitReachable(ctx, n.Node, n.acquire)
	return limit + text, err
}

// cgroup is a process's cgroup, found independently of the code that set the limit.
type cgroup struct {
	folder string
	v2     bool
	file   string // that has the limit
}

func (g cgroup) read(file string) (string, error) {
	text, err := os.ReadFile(filepath.Join(g.folder, file))
	return string(text), err
}

// cgroupOf finds the machine's cgroup that limits the process. Version 2, where all controllers share
// one, is used if version 1 lacks the controller. A process that starts is not in it yet, and one that
// ended is in the topmost of version 1 (cgroups(7), "/proc files"): the error is fs.ErrNotExist then.
func cgroupOf(pid int, l limit) (cgroup, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid))
	if err != nil {
		return cgroup{}, fmt.Errorf("find the cgroup of process %d: %w", pid, err)
	}
	const top = "/sys/fs/cgroup"
	for version, file := range l.files {
		for line := range strings.Lines(string(text)) {
			fields := strings.SplitN(strings.TrimSpace(line), ":", 3)
			if len(fields) != 3 || !strings.HasPrefix(below(fields[2]), "assay-") || !slices.Contains(strings.Split(fields[1], ","), [2]string{l.controller, ""}[version]) {
				continue
			}
			for _, mounted := range [][]string{{fields[1], l.controller}, {"", "unified"}}[version] {
				folder := filepath.Join(top, mounted, below(fields[2]))
				if _, err := os.Stat(filepath.Join(folder, file)); err == nil {
					return cgroup{folder, version == 1, file}, nil
				}
			}
		}
	}
	return cgroup{}, fmt.Errorf("process %d is in no cgroup of a machine that limits its %s: %w", pid, l.controller, fs.ErrNotExist)
}

// below is the end of a cgroup's path, assay-ID/NAME: within a container, the path may begin with
// folders that are not mounted there.
func below(full string) string {
	return path.Join(path.Base(path.Dir(full)), path.Base(full))
}
