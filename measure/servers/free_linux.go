package servers

import "syscall"

// free is how many bytes of the file system of a folder are left to its users; 0 if that is not known.
func free(folder string) int64 {
	var s syscall.Statfs_t
	if syscall.Statfs(folder, &s) != nil {
		return 0
	}
	return int64(s.Bavail) * s.Bsize
}
