//go:build unix

package load

import "syscall"

// processorSeconds is the processor time that the process has used, user and system;
// negative if it is not known (getrusage(2)).
func processorSeconds() float64 {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return -1
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}
