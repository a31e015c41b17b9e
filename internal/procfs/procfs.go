// Package procfs reads what Linux tells of processes in /proc. Other systems have no
// such files: there no process is found.
//
// It imports no other package of assay.
package procfs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Process is what /proc/PID/stat tells of a process (proc_pid_stat(5)).
type Process struct {
	PID, Parent int
	// Name is as the process gives it to itself, so it may hold anything.
	Name  string
	State byte
	// Kernel is true for a thread of the kernel's own.
	Kernel bool
	// Ticks is the time in user and system mode, without the children's, and
	// Started when it began, since the system did: both in clock ticks. A process
	// and a later one of the same PID differ in Started.
	Ticks   int64
	Started uint64
}

// Ended reports whether the process is only waiting for its parent to ask how it
// ended.
func (p Process) Ended() bool { return strings.IndexByte("ZXx", p.State) >= 0 }

// Stopped reports whether the process can do nothing: it is stopped, by a signal or by
// a tracer, or has ended.
func (p Process) Stopped() bool { return p.State == 'T' || p.State == 't' || p.Ended() }

// Read returns a process. The error of one that is not there is os.ErrProcessDone.
func Read(pid int) (Process, error) {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Process{}, os.ErrProcessDone
	case err != nil:
		return Process{}, err
	}
	return parse(pid, string(text))
}

// All returns the processes that can be seen.
func All() []Process {
	folders, _ := filepath.Glob("/proc/[0-9]*") // fails for a malformed pattern only
	var all []Process
	for _, folder := range folders {
		pid, err := strconv.Atoi(filepath.Base(folder))
		if err != nil {
			continue
		}
		if p, err := Read(pid); err == nil { // one that has just ended is no error
			all = append(all, p)
		}
	}
	return all
}

// Tree returns a process and its descendants, parents before children. The error of
// one that is not there is os.ErrProcessDone.
func Tree(root int) ([]Process, error) {
	first, err := Read(root)
	if err != nil {
		return nil, err
	}
	children := map[int][]Process{}
	for _, p := range All() {
		children[p.Parent] = append(children[p.Parent], p)
	}
	tree := []Process{first}
	for i := 0; i < len(tree); i++ {
		tree = append(tree, children[tree[i].PID]...)
	}
	return tree, nil
}

// kernelThread is PF_KTHREAD (include/linux/sched.h).
const kernelThread = 0x00200000

func parse(pid int, text string) (Process, error) {
	// The name is in parentheses, which it may hold as well.
	opened, closed := strings.IndexByte(text, '('), strings.LastIndexByte(text, ')')
	if opened < 0 || closed < opened {
		return Process{}, malformed(pid)
	}
	const state, parent, flags, user, system, started = 3, 4, 9, 14, 15, 22
	fields := strings.Fields(text[closed+1:])
	if len(fields) <= started-state {
		return Process{}, malformed(pid)
	}
	numbers := map[int]int64{}
	for _, field := range []int{parent, flags, user, system, started} {
		n, err := strconv.ParseInt(fields[field-state], 10, 64)
		if err != nil {
			return Process{}, malformed(pid)
		}
		numbers[field] = n
	}
	return Process{
		PID: pid, Parent: int(numbers[parent]), Name: text[opened+1 : closed], State: fields[0][0],
		Kernel: numbers[flags]&kernelThread != 0, Ticks: numbers[user] + numbers[system], Started: uint64(numbers[started]),
	}, nil
}

func malformed(pid int) error { return fmt.Errorf("cannot read the state of process %d", pid) }
