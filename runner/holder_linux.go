package runner

import (
	"errors"
	"io/fs"
	"os"
	"strconv"
	"strings"
)

// machine identifies the running system and its table of processes: what the
// kernel drew when it started (random(4), boot_id) and the namespace of process
// ids (pid_namespaces(7)), since containers on one kernel have tables of their
// own. It is empty if that cannot be read.
func machine() string {
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

// processStart is when a process began, in clock ticks since the system started
// (proc_pid_stat(5), starttime). gone is true if there certainly is no such
// process; a process that cannot be looked at gives neither.
func processStart(pid int) (start string, gone bool) {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return "", errors.Is(err, fs.ErrNotExist)
	}
	// The name, in parentheses, may hold anything; state is the first field after
	// it, and the third of all.
	_, rest, found := strings.Cut(string(text[strings.LastIndexByte(string(text), ')')+1:]), " ")
	fields := strings.Fields(rest)
	const state, starttime = 3, 22
	if !found || len(fields) <= starttime-state {
		return "", false
	}
	if fields[0] == "Z" || fields[0] == "X" { // killed, and its parent has not asked yet
		return "", true
	}
	return fields[starttime-state], false
}
