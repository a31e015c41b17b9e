package fault

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"assay/cluster/server"
)

// sharedFolder is where shared memory and semaphores are (shm_overview(7),
// sem_overview(7)).
const sharedFolder = "/dev/shm/"

// sharedFiles are what libfaketime makes for the process in which it is loaded
// first, and which its children share. It takes them away when that ends in
// order; of one that is killed they stay.
func sharedFiles(pid int) []string {
	return []string{fmt.Sprintf("%sfaketime_shm_%d", sharedFolder, pid), fmt.Sprintf("%ssem.faketime_sem_%d", sharedFolder, pid)}
}

// removeSharedFiles takes away what libfaketime has left of processes that are gone.
func removeSharedFiles(processes []server.ProcessID) error {
	var failed []error
	for _, p := range processes {
		// Whoever has the id now may use the files.
		if _, err := os.Stat(fmt.Sprintf("/proc/%d", p.PID)); err == nil {
			continue
		}
		for _, file := range sharedFiles(p.PID) {
			if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
				failed = append(failed, err)
			}
		}
	}
	return errors.Join(failed...)
}
