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

// The process group stands for the tree; the root is its leader.

func stopTree(root *os.Process) error     { return syscall.Kill(-root.Pid, syscall.SIGSTOP) }
func continueTree(root *os.Process) error { return syscall.Kill(-root.Pid, syscall.SIGCONT) }
func killTree(root *os.Process) error     { return syscall.Kill(-root.Pid, syscall.SIGKILL) }

// Halted is unknown on this system, but Pause has returned an error if it failed.
func (p *Process) Halted() (bool, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.paused, nil
}

// Processes finds no descendants on this system.
func (p *Process) Processes() ([]ProcessID, error) { return []ProcessID{Identify(p.PID())}, nil }

// homed finds nothing on this system: the user has to end the servers of a killed assay.
func homed(string) ([]int, error) { return nil, nil }
