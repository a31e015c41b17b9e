package runner

import "golang.org/x/sys/unix"

// freeBytes is how much may be written at a folder by this user; known is false if the
// system does not tell.
func freeBytes(folder string) (free int64, known bool) {
	var s unix.Statfs_t
	if err := unix.Statfs(folder, &s); err != nil || s.Bsize <= 0 {
		return 0, false
	}
	return int64(s.Bavail) * s.Bsize, true
}
