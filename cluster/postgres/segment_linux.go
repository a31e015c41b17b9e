package postgres

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// removeSegment removes a segment of shared memory (shmctl(2)) if it still has this key (an int
// with its sign extended) and no user. 0, 0 is none.
func removeSegment(key uint64, id int) error {
	if key == 0 && id == 0 {
		return nil
	}
	var segment unix.SysvShmDesc
	_, err := unix.SysvShmCtl(id, unix.IPC_STAT, &segment)
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.EIDRM) {
		return nil // it is gone
	}
	if err == nil && segment.Perm.Key == int32(key) && segment.Nattch == 0 {
		_, err = unix.SysvShmCtl(id, unix.IPC_RMID, nil)
	}
	if err != nil {
		return fmt.Errorf("remove segment %d of shared memory: %w", id, err)
	}
	return nil
}
