//go:build !linux

package kubernetestest

import "syscall"

// dieWithParent is for Linux only.
func dieWithParent() *syscall.SysProcAttr { return nil }
