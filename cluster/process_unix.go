//go:build unix && !linux

package cluster

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
