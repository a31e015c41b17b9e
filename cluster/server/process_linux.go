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

	"assay/internal/procfs"
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

// treeBound limits how long a signal takes to reach a whole tree. A process in an uninterruptible
// wait for the disk takes it late.
const treeBound = 10 * time.Second

// stopTree returns when the root and all its descendants have stopped. A process can fork until it
// has stopped, so the tree is read again until nothing in it runs. After that the tree's process
// ids cannot be reused, since a stopped parent reaps no child.
func stopTree(root *os.Process) error {
	if err := root.Signal(syscall.SIGSTOP); err != nil {
		return err
	}
	for deadline := time.Now().Add(treeBound); ; time.Sleep(time.Millisecond) {
		tree, err := procfs.Tree(root.Pid)
		if err != nil {
			return err
		}
		running := 0
		for _, member := range tree {
			if member.Stopped() {
				continue
			}
			running++
			if err := syscall.Kill(member.PID, syscall.SIGSTOP); err != nil && err != syscall.ESRCH {
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

// continueTree begins with descendants: their ids cannot be reused while the root is stopped.
func continueTree(root *os.Process) error {
	tree, err := procfs.Tree(root.Pid)
	if err != nil {
		return err
	}
	for i := len(tree) - 1; i > 0; i-- {
		if err := syscall.Kill(tree[i].PID, syscall.SIGCONT); err != nil && err != syscall.ESRCH {
			return err
		}
	}
	return root.Signal(syscall.SIGCONT)
}

// killTree returns when the descendants are gone. It stops the tree first, so that it misses none.
// If that fails (a process stuck on its disk) it kills the processes seen.
func killTree(root *os.Process) error {
	stopErr := stopTree(root)
	if errors.Is(stopErr, os.ErrProcessDone) {
		return stopErr
	}
	tree, err := procfs.Tree(root.Pid)
	if err != nil {
		return err
	}
	for i := len(tree) - 1; i > 0; i-- {
		if err := syscall.Kill(tree[i].PID, syscall.SIGKILL); err != nil && err != syscall.ESRCH {
			return err
		}
	}
	if err := root.Kill(); err != nil {
		return err
	}
	for deadline := time.Now().Add(treeBound); ; time.Sleep(time.Millisecond) {
		left := 0
		for _, member := range tree[min(1, len(tree)):] {
			now, err := procfs.Read(member.PID)
			if err == nil && now.Started == member.Started && !now.Ended() {
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
	tree, err := procfs.Tree(p.PID())
	if err != nil {
		return false, fmt.Errorf("look at %s: %w", p.options.Name, err)
	}
	for _, member := range tree {
		if !member.Stopped() {
			return false, nil
		}
	}
	return true, nil
}

// Processes returns the process and all its descendants.
func (p *Process) Processes() ([]ProcessID, error) {
	tree, err := procfs.Tree(p.PID())
	if err != nil {
		return nil, fmt.Errorf("look at %s: %w", p.options.Name, err)
	}
	var all []ProcessID
	for _, m := range tree {
		if !m.Ended() {
			all = append(all, m.ID())
		}
	}
	return all, nil
}

// homed matches the HOME at a process's start. Processes that we may not inspect are not ours.
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
				if m, err := procfs.Read(pid); err == nil && !m.Ended() {
					found = append(found, pid)
				}
			}
		}
	}
	return found, nil
}
