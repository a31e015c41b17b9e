package cluster

import (
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"assay/internal/expect"
)

func TestLittleRoomIsTold(t *testing.T) {
	dir := t.TempDir()
	expect.NoError(t, unix.Mount("tmpfs", dir, "tmpfs", 0, "size=64k"))
	t.Cleanup(func() { _ = unix.Unmount(dir, 0) })
	if told := littleRoom(dir); !strings.Contains(told, dir) || !strings.Contains(told, "64KiB") {
		t.Errorf("it is told %q", told)
	}
	expect.NoError(t, unix.Mount("", dir, "", unix.MS_REMOUNT, "size=1g"))
	if told := littleRoom(dir); told != "" {
		t.Errorf("it is told %q", told)
	}
}
