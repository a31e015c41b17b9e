package server

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"time"
)

func processAttributes(user *User) *syscall.SysProcAttr {
	a := &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if user != nil {
		a.Credential = &syscall.Credential{Uid: user.UID, Gid: user.GID}
	}
	return a
}

func lockThread() (unlock func()) {
	runtime.LockOSThread()
	return runtime.UnlockOSThread
}

// treeBound is how long a signal may take to have its effect on a whole tree. A
// process in an uninterruptible wait for the disk takes it late.
const treeBound = 10 * time.Second

// stopTree stops the root and all its descendants and returns when all have
// stopped. A process can fork until it has really stopped; so the tree is read
// again until it holds nothing that runs. After that no process id of the tree
// can be reused, since a stopped parent reaps nobody.
func stopTree(root *os.Process) error {
	if err := root.Signal(syscall.SIGSTOP); err != nil {
		return err
	}
	for deadline := time.Now().Add(treeBound); ; time.Sleep(time.Millisecond) {
		tree, err := readTree(root.Pid)
		if err != nil {
			return err
		}
		running := 0
		for _, member := range tree {
			if member.halted() {
				continue
			}
			running++
			if err := syscall.Kill(member.pid, syscall.SIGSTOP); err != nil && err != syscall.ESRCH {
				return err
			}
		}
		if running == 0 {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%d processes still run %v after SIGSTOP", running, treeBound)
		}
	}
}

// continueTree undoes stopTree, descendants first: while the root is stopped
// their ids cannot be reused.
func continueTree(root *os.Process) error {
	tree, err := readTree(root.Pid)
	if err != nil {
		return err
	}
	for i := len(tree) - 1; i > 0; i-- {
		if err := syscall.Kill(tree[i].pid, syscall.SIGCONT); err != nil && err != syscall.ESRCH {
			return err
		}
	}
	return root.Signal(syscall.SIGCONT)
}

// killTree kills the root and all its descendants, and returns when the
// descendants are gone. They are stopped first, so that none is missed. That
// can fail (a process stuck on its disk); then what was seen is killed anyway.
func killTree(root *os.Process) error {
	stopErr := stopTree(root)
	if errors.Is(stopErr, os.ErrProcessDone) {
		return stopErr
	}
	tree, err := readTree(root.Pid)
	if err != nil {
		return err
	}
	for i := len(tree) - 1; i > 0; i-- {
		if err := syscall.Kill(tree[i].pid, syscall.SIGKILL); err != nil && err != syscall.ESRCH {
			return err
		}
	}
	if err := root.Kill(); err != nil {
		return err
	}
	for deadline := time.Now().Add(treeBound); ; time.Sleep(time.Millisecond) {
		left := 0
		for _, member := range tree[min(1, len(tree)):] {
			now, err := readMember(member.pid)
			if err == nil && now.started == member.started && !now.dead() {
				left++
			}
		}
		if left == 0 {
			return nil
		}
		if time.Now().After(deadline) {
			return errors.Join(fmt.Errorf("%d processes still there %v after SIGKILL", left, treeBound), stopErr)
		}
	}
}

// Halted reports whether the process and all its descendants are stopped.
func (p *Process) Halted() (bool, error) {
	tree, err := readTree(p.PID())
	if err != nil {
		return false, fmt.Errorf("look at %s: %w", p.options.Name, err)
	}
	for _, member := range tree {
		if !member.halted() {
			return false, nil
		}
	}
	return true, nil
}

// Processes returns the process and all its descendants.
func (p *Process) Processes() ([]ProcessID, error) {
	tree, err := readTree(p.PID())
	if err != nil {
		return nil, fmt.Errorf("look at %s: %w", p.options.Name, err)
	}
	var all []ProcessID
	for _, m := range tree {
		if !m.dead() {
			all = append(all, ProcessID{PID: m.pid, Started: m.started})
		}
	}
	return all, nil
}

// Identify returns the process's id with its start, which tells a reused id.
func Identify(pid int) ProcessID {
	m, err := readMember(pid)
	if err != nil {
		return ProcessID{PID: pid}
	}
	return ProcessID{PID: pid, Started: m.started}
}

// Alive reports whether this very process still runs.
func (id ProcessID) Alive() bool {
	m, err := readMember(id.PID)
	return err == nil && !m.dead() && m.started == id.Started
}

// member is what /proc/PID/stat tells of a process; see proc(5).
type member struct {
	pid, parent int
	state       byte
	started     uint64 // clock ticks since boot; tells a reused id
}

// halted reports whether the process can do nothing: stopped (T), stopped by a
// tracer (t), or ended.
func (m member) halted() bool { return m.state == 'T' || m.state == 't' || m.dead() }

// dead reports whether the process has ended: a zombie (Z) or going (X).
func (m member) dead() bool { return m.state == 'Z' || m.state == 'X' || m.state == 'x' }

// readTree returns the process and its descendants, parents before children.
func readTree(root int) ([]member, error) {
	first, err := readMember(root)
	if err != nil {
		if errors.Is(err, os.ErrNotExist) {
			return nil, os.ErrProcessDone
		}
		return nil, err
	}
	folders, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return nil, err
	}
	children := make(map[int][]member)
	for _, folder := range folders {
		pid, err := strconv.Atoi(filepath.Base(folder))
		if err != nil {
			continue
		}
		if m, err := readMember(pid); err == nil { // one that has just ended is not an error
			children[m.parent] = append(children[m.parent], m)
		}
	}
	tree := []member{first}
	for i := 0; i < len(tree); i++ {
		tree = append(tree, children[tree[i].pid]...)
	}
	return tree, nil
}

func readMember(pid int) (member, error) {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return member{}, err
	}
	// The program's name, in parentheses, may hold anything: go by the last one.
	end := bytes.LastIndexByte(data, ')')
	fields := bytes.Fields(data[end+1:])
	if end < 0 || len(fields) < 20 {
		return member{}, fmt.Errorf("cannot read the state of process %d", pid)
	}
	m := member{pid: pid, state: fields[0][0]}
	if m.parent, err = strconv.Atoi(string(fields[1])); err != nil {
		return member{}, err
	}
	m.started, err = strconv.ParseUint(string(fields[19]), 10, 64)
	return m, err
}

// homed returns the processes whose environment, as they were started with, has
// the folder or one in it for HOME. Those that we may not look at are not ours.
func homed(folder string) ([]int, error) {
	files, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		return nil, err
	}
	var found []int
	for _, file := range files {
		environment, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		for variable := range bytes.SplitSeq(environment, []byte{0}) {
			home, is := bytes.CutPrefix(variable, []byte("HOME="))
			if !is || string(home) != folder && !bytes.HasPrefix(home, []byte(folder+"/")) {
				continue
			}
			if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file))); err == nil {
				if m, err := readMember(pid); err == nil && !m.dead() {
					found = append(found, pid)
				}
			}
		}
	}
	return found, nil
}
