// Package procfs reads Linux's /proc for processes. Other systems have no such files, so it finds
// none there.
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

// Process is what /proc/PID/stat says of a process (proc_pid_stat(5)).
type Process struct {
	PID, Parent int
	// Name is the process's own choice, so it may hold anything.
	Name   string
	State  byte
	Kernel bool
	// Ticks is the time in user and system mode, Children the same of children waited for, and
	// Started the start since boot, all in clock ticks (TicksPerSecond). Started distinguishes
	// processes with the same PID.
	Ticks, Children int64
	Started         uint64
	Threads         int64
}

// TicksPerSecond is USER_HZ on every architecture of Go (proc(5), sysconf(3)).
const TicksPerSecond = 100

// Ended reports whether the process has ended but its parent has not asked how.
func (p Process) Ended() bool { return strings.IndexByte("ZXx", p.State) >= 0 }

// Stopped reports whether the process cannot run: stopped by a signal or tracer, or ended.
func (p Process) Stopped() bool { return p.State == 'T' || p.State == 't' || p.Ended() }

// Read returns a process, or os.ErrProcessDone.
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

// All returns the visible processes.
func All() []Process {
	folders, _ := filepath.Glob("/proc/[0-9]*") // fails for a malformed pattern only
	all := make([]Process, 0, len(folders))
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

// Table is all processes at one moment. It serves several trees, since reading /proc costs as
// much as there are processes.
type Table struct {
	processes map[int]Process
	children  map[int][]int
}

// Now reads the visible processes.
func Now() Table { return TableOf(All()) }

// TableOf makes a table of these processes.
func TableOf(all []Process) Table {
	t := Table{make(map[int]Process, len(all)), make(map[int][]int)}
	for _, p := range all {
		t.processes[p.PID] = p
		t.children[p.Parent] = append(t.children[p.Parent], p.PID)
	}
	return t
}

// Tree returns a process and its descendants, parents before children; nil if it is missing.
func (t Table) Tree(root int) []Process {
	first, is := t.processes[root]
	if !is {
		return nil
	}
	tree := []Process{first}
	for i := 0; i < len(tree); i++ {
		for _, child := range t.children[tree[i].PID] {
			tree = append(tree, t.processes[child])
		}
	}
	return tree
}

// Tree returns a process and its descendants, parents before children, or os.ErrProcessDone.
func Tree(root int) ([]Process, error) {
	if _, err := Read(root); err != nil {
		return nil, err
	}
	tree := Now().Tree(root)
	if tree == nil {
		return nil, os.ErrProcessDone
	}
	return tree, nil
}

// kernelThread is PF_KTHREAD (include/linux/sched.h).
const kernelThread = 0x00200000

func parse(pid int, text string) (Process, error) {
	// The name is in parentheses, and may contain some.
	opened, closed := strings.IndexByte(text, '('), strings.LastIndexByte(text, ')')
	if opened < 0 || closed < opened {
		return Process{}, malformed(pid)
	}
	const state, parent, flags, user, system, childUser, childSystem, threads, started = 3, 4, 9, 14, 15, 16, 17, 20, 22
	fields := strings.Fields(text[closed+1:])
	if len(fields) <= started-state {
		return Process{}, malformed(pid)
	}
	wrong := false
	number := func(field int) int64 {
		n, err := strconv.ParseInt(fields[field-state], 10, 64)
		wrong = wrong || err != nil
		return n
	}
	p := Process{
		PID: pid, Parent: int(number(parent)), Name: text[opened+1 : closed], State: fields[0][0],
		Kernel: number(flags)&kernelThread != 0, Ticks: number(user) + number(system), Children: number(childUser) + number(childSystem),
		Started: uint64(number(started)), Threads: number(threads),
	}
	if wrong {
		return Process{}, malformed(pid)
	}
	return p, nil
}

func malformed(pid int) error { return fmt.Errorf("cannot read the state of process %d", pid) }
