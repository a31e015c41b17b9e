package server

import (
	"bytes"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/shirou/gopsutil/v4/disk"
)

// killedByOthers reports whether a SIGKILL that assay did not send ended the process. The kernel
// sends it when memory runs out. The process must have ended.
func (p *Process) killedByOthers() bool {
	return p.err != nil && p.err.Error() == "signal: killed" && !p.asked.Load()
}

// endedByMachine reports whether the machine may be why the process ended. The log counts from the
// process's start on: what assay's own kill left in it before proves nothing. A server that could
// not even write its log says nothing there, so its disks are looked at too. The process must have
// ended.
func (p *Process) endedByMachine() bool {
	said, err := endOf(p.options.Log, p.logged)
	if err != nil || p.killedByOthers() || isFull(p.options.Dir) || isFull(filepath.Dir(p.options.Log)) {
		return true
	}
	said = bytes.ToLower(said)
	return slices.ContainsFunc(lacks(), func(lack string) bool { return bytes.Contains(said, []byte(lack)) })
}

// lacks are what servers log, in lower case, when the machine refuses them something. The systems'
// libraries and Go have the same words for an error number.
func lacks() []string {
	all := []string{
		"out of memory",                        // PostgreSQL, Redis, Go's runtime
		"java.lang.outofmemoryerror",           // Java; Cassandra logs its flag ExitOnOutOfMemoryError at each start
		"terminated by signal 9",               // PostgreSQL, of a process of its own that the kernel has killed
		"insufficient memory for the java run", // Java, before it starts
	}
	for _, number := range []syscall.Errno{syscall.ENOSPC, syscall.EDQUOT, syscall.ENOMEM, syscall.EMFILE, syscall.ENFILE, syscall.EADDRINUSE} {
		all = append(all, strings.ToLower(number.Error()))
	}
	return all
}

// leastRoom, in bytes, is what the disk of a server must have left for its log.
const leastRoom = 64 << 10

func isFull(folder string) bool {
	on, err := disk.Usage(folder)
	return err == nil && (on.Free < leastRoom || on.InodesTotal > 0 && on.InodesFree == 0)
}
