//go:build !linux

package kubernetestest

import "syscall"

func dieWithParent() *syscall.SysProcAttr { return nil }
