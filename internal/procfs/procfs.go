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
	// Ticks is the time in user and system mode, Children that of the children that it has waited
	// for, and Started when it began, since the system did: all in clock ticks, TicksPerSecond. A
	// process and a later one of the same PID differ in Started.
	Ticks, Children int64
	Started         uint64
	Threads         int64
}

// TicksPerSecond is USER_HZ, in which Linux tells times on every architecture that Go
// runs on (proc(5), sysconf(3)).
const TicksPerSecond = 100

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

// Table is the processes of one moment, for who wants several trees: each reading of
// /proc costs as much as there are processes.
type Table struct {
	processes map[int]Process
	children  map[int][]int
}

// Now reads the processes that can be seen.
func Now() Table { return TableOf(All()) }

// TableOf is the table of these processes.
func TableOf(all []Process) Table {
	t := Table{make(map[int]Process, len(all)), make(map[int][]int)}
	for _, p := range all {
		t.processes[p.PID] = p
		t.children[p.Parent] = append(t.children[p.Parent], p.PID)
	}
	return t
}

// Tree returns a process and its descendants, parents before children; nil if it was
// not there.
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

// Tree returns a process and its descendants, parents before children. The error of
// one that is not there is os.ErrProcessDone.
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
	// The name is in parentheses, which it may hold as well.
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
