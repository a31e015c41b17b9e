//go:build unix

package main

import "syscall"

// detached starts a process in its own session, out of reach of our terminal's signals.
func detached() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }
