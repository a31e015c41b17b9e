package candles

import (
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

const dropCachesFile = "/proc/sys/vm/drop_caches"

func canDropCaches() bool { return unix.Access(dropCachesFile, unix.W_OK) == nil }

// dropCaches empties the machine's page cache (Linux, Documentation/admin-guide/sysctl/vm.rst,
// "drop_caches"). It syncs first, because dirty pages would stay.
func dropCaches() error {
	syscall.Sync()
	if err := os.WriteFile(dropCachesFile, []byte("1\n"), 0); err != nil {
		return fmt.Errorf("empty the page cache: %w", err)
	}
	return nil
}
