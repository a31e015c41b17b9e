//go:build unix && !linux

package server

import (
	"os"
	"syscall"
)

func processAttributes(user *User) *syscall.SysProcAttr {
	a := &syscall.SysProcAttr{Setpgid: true}
	if user != nil {
		a.Credential = &syscall.Credential{Uid: user.UID, Gid: user.GID}
	}
	return a
}

func lockThread() (unlock func()) { return func() {} }

// The process group stands for the tree here; the root is its leader.

func stopTree(root *os.Process) error     { return syscall.Kill(-root.Pid, syscall.SIGSTOP) }
func continueTree(root *os.Process) error { return syscall.Kill(-root.Pid, syscall.SIGCONT) }
func killTree(root *os.Process) error     { return syscall.Kill(-root.Pid, syscall.SIGKILL) }

// Halted cannot be known here; Pause has succeeded or not.
func (p *Process) Halted() (bool, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.paused, nil
}

// Processes knows no descendants here.
func (p *Process) Processes() ([]ProcessID, error) { return []ProcessID{Identify(p.PID())}, nil }

func Identify(pid int) ProcessID { return ProcessID{PID: pid} }

// Alive reports whether a process of this id runs; whether it is this very one
// cannot be told here.
func (id ProcessID) Alive() bool { return id.PID > 0 && syscall.Kill(id.PID, 0) == nil }

// homed cannot be known here without help; servers of a killed assay that still
// run have to be ended by hand.
func homed(string) ([]int, error) { return nil, nil }
