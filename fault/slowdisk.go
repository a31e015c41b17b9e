package fault

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"assay/cluster"
	"assay/cluster/machine"
	"assay/quantity"
)

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
