//go:build unix

package load

import "syscall"

// processorSeconds is the process's processor time, user and system; negative if unknown
// (getrusage(2)).
func processorSeconds() float64 {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return -1
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}
