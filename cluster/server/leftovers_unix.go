//go:build unix

package server

import "syscall"

// ReapChildren takes the children of this process that have ended out of the
// system's list. It must not be called while one is waited for elsewhere.
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
