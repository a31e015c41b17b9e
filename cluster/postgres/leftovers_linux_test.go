package postgres

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"assay/internal/expect"
)

// TestHalfMadeDataIsCleared: a kill during initdb leaves data that cannot be started. Its shared
// memory is removed, but no other's. With servers apart, only restored servers are cleared.
func TestHalfMadeDataIsCleared(t *testing.T) {
	const node, restored = "nodes/n1/data", "backups/restore-1/data"
	for name, test := range map[string]struct {
		data                 string
		clear                func(context.Context, string) error
		used, another, stays bool
	}{
		"left":                   {data: node, clear: Clear},
		"in use":                 {data: node, clear: Clear, used: true, stays: true},
		"another's by now":       {data: node, clear: Clear, another: true, stays: true},
		"restored":               {data: restored, clear: Clear},
		"of a led set, restored": {data: restored, clear: ClearRestored},
		"of a led set":           {data: node, clear: ClearRestored, stays: true},
	} {
		key := os.Getpid()<<5 | len(name)&31
		id, err := unix.SysvShmGet(key, 56, unix.IPC_CREAT|unix.IPC_EXCL|0o600)
		expect.NoError(t, err)
		t.Cleanup(func() { _, _ = unix.SysvShmCtl(id, unix.IPC_RMID, nil) }) // the one that went
		written := key
		if test.another {
			written++
		}
		if test.used {
			memory, err := unix.SysvShmAttach(id, 0, 0)
			expect.NoError(t, err)
			defer unix.SysvShmDetach(memory)
		}
		folder := t.TempDir()
		data := filepath.Join(folder, test.data)
		expect.NoError(t, os.MkdirAll(data, 0o700))
		lock := fmt.Sprintf("-4711\n%s\n1795329687\n5432\n\n\n%9d %9d\n", data, written, id)
		expect.NoError(t, os.WriteFile(filepath.Join(data, "postmaster.pid"), []byte(lock), 0o600))
		if err := test.clear(t.Context(), folder); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		var segment unix.SysvShmDesc
		_, err = unix.SysvShmCtl(id, unix.IPC_STAT, &segment)
		if gone := errors.Is(err, unix.EINVAL); gone == test.stays {
			t.Errorf("%s: gone is %v: %v", name, gone, err)
		}
	}
}
