//go:build !unix

package server

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

func processAttributes(*User) *syscall.SysProcAttr { return nil }

func lockThread() (unlock func()) { return func() {} }

func stopTree(*os.Process) error      { return errors.ErrUnsupported }
func continueTree(*os.Process) error  { return errors.ErrUnsupported }
func killTree(root *os.Process) error { return root.Kill() }

func ownerOf(fs.FileInfo) (uid, gid uint32, known bool) { return 0, 0, false }

func (p *Process) Halted() (bool, error) { return false, errors.ErrUnsupported }

func (p *Process) Processes() ([]ProcessID, error) { return []ProcessID{Identify(p.PID())}, nil }

func homed(string) ([]int, error) { return nil, nil }

// ReapChildren does nothing outside Unix.
func ReapChildren() {}
