package lease

import (
	"errors"
	"os"
	"strconv"
	"strings"

	"assay/internal/procfs"
)

// Machine identifies the running system and its process table: boot_id (random(4)) and the
// namespace of process ids (pid_namespaces(7)), since containers have tables of their own. It is
// empty if unknown, as on systems other than Linux. A killed run's lease must then expire.
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

// processStart is when a process began, in clock ticks since the system started. gone means
// that there certainly is no such process. Both are zero if it cannot be told.
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
