package candles

import (
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

const dropCachesFile = "/proc/sys/vm/drop_caches"

// canDropCaches reports whether this process may empty the page cache.
func canDropCaches() bool { return unix.Access(dropCachesFile, unix.W_OK) == nil }

// dropCaches writes what is not on the disk yet, without which it would stay,
// and empties the page cache of the whole machine (Linux,
// Documentation/admin-guide/sysctl/vm.rst, "drop_caches").
func dropCaches() error {
	syscall.Sync()
	if err := os.WriteFile(dropCachesFile, []byte("1\n"), 0); err != nil {
		return fmt.Errorf("empty the page cache: %w", err)
	}
	return nil
}
