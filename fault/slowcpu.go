package fault

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"assay/cluster"
	"assay/cluster/machine"
)

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
