//go:build unix

package server

import "syscall"

// ReapChildren removes ended children of this process from the system's list. No other code may be
// waiting for one.
func ReapChildren() {
	for {
		pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil)
		if err == syscall.EINTR {
			continue
		}
		if err != nil || pid <= 0 { // none, or none that has ended
			return
		}
	}
}
