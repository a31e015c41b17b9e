package servers

import "syscall"

// free is the space left to users in a folder's file system, in bytes; 0 if unknown.
func free(folder string) int64 {
	var s syscall.Statfs_t
	if syscall.Statfs(folder, &s) != nil {
		return 0
	}
	return int64(s.Bavail) * s.Bsize
}
