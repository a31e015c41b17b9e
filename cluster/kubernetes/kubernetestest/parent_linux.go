package kubernetestest

import "syscall"

// dieWithParent ends a process when this one ends, in any way.
func dieWithParent() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
