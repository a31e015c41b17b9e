package lease

import (
	"errors"
	"os"
	"strconv"
	"strings"

	"assay/internal/procfs"
)

// Machine identifies the running system and its table of processes: what the
// kernel drew when it started (random(4), boot_id) and the namespace of process
// ids (pid_namespaces(7)), since containers on one kernel have tables of their
// own. It is empty if that cannot be read, as on other systems than Linux: a lease which a
// killed run left is then waited for until it expires.
func Machine() string {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	table, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(boot)) + " " + table
}

// processStart is when a process began, in clock ticks since the system started.
// gone is true if there certainly is no such process; a process that cannot be looked
// at gives neither.
func processStart(pid int) (start string, gone bool) {
	p, err := procfs.Read(pid)
	switch {
	case err != nil:
		return "", errors.Is(err, os.ErrProcessDone)
	case p.Ended(): // killed, and its parent has not asked yet
		return "", true
	}
	return strconv.FormatUint(p.Started, 10), false
}
