package image

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"assay/cluster/machine"
	"assay/internal/expect"
)

// onEach tests each file system. Without xfsprogs, which continuous integration has, the refusal of
// XFS must name them.
func onEach(t *testing.T, test func(*testing.T, *Disk)) {
	for _, name := range []string{Ext4, XFS} {
		t.Run(name, func(t *testing.T) {
			if err := Check(t.Context(), name); name == XFS && err != nil && os.Getenv("CI") == "" {
				if !errors.As(err, new(*machine.UnsupportedError)) || !strings.Contains(err.Error(), "xfsprogs") {
					t.Error(err)
				}
				return
			}
			test(t, open(t, name))
		})
	}
}

func open(t *testing.T, name string) *Disk {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "disk")
	d, err := Open(t.Context(), folder, name)
	expect.NoError(t, err)
	t.Cleanup(func() {
		if err := d.Remove(); err != nil {
			t.Error(err)
		}
		if mounts, err := os.ReadFile("/proc/self/mountinfo"); err != nil || strings.Contains(string(mounts), folder) {
			t.Errorf("%s is still mounted, %v", folder, err)
		}
		if used, err := filepath.Glob("/sys/block/loop*/loop/backing_file"); err != nil || held(t, used, folder) {
			t.Errorf("a loop device still holds %s, %v", folder, err)
		}
	})
	return d
}

// held reports whether a loop device's file names an image in the folder.
func held(t *testing.T, files []string, folder string) bool {
	t.Helper()
	for _, file := range files {
		if image, err := os.ReadFile(file); err == nil && strings.HasPrefix(string(image), folder) {
			return true
		}
	}
	return false
}

// write writes a file, and syncs it if synced is true.
func write(t *testing.T, d *Disk, name, text string, synced bool) {
	t.Helper()
	file, err := os.Create(filepath.Join(d.Folder(), name))
	if err == nil {
		_, err = file.WriteString(text)
	}
	if err == nil && synced {
		err = file.Sync()
	}
	expect.NoError(t, err)
	expect.NoError(t, file.Close())
}

func TestACutLosesWhatWasNotSynced(t *testing.T) {
	onEach(t, func(t *testing.T, d *Disk) {
		if entries, err := os.ReadDir(d.Folder()); err != nil || len(entries) > 0 {
			t.Fatalf("a new disk holds %v, %v", entries, err)
		}
		write(t, d, "synced", "kept", true)
		write(t, d, "unsynced", "lost", false)
		expect.NoError(t, d.Cut())
		if d.Refuses() == nil {
			t.Error("a disk without power takes a write")
		}
		evidence, err := d.Restore(t.Context())
		if err != nil || !strings.Contains(evidence, "journal replayed") {
			t.Fatalf("restored: %q, %v", evidence, err)
		}
		if text, err := os.ReadFile(filepath.Join(d.Folder(), "synced")); err != nil || string(text) != "kept" {
			t.Errorf("what was synced is now %q, %v", text, err)
		}
		if text, err := os.ReadFile(filepath.Join(d.Folder(), "unsynced")); err == nil && bytes.Equal(text, []byte("lost")) {
			t.Error("what was not synced is still there")
		}
		if d.Refuses() != nil {
			t.Error("the restored disk refuses a write")
		}
	})
}

// TestSyncHasAllSurvive: also writes of assay's own tools, without fsync.
func TestSyncHasAllSurvive(t *testing.T) {
	onEach(t, func(t *testing.T, d *Disk) {
		write(t, d, "configuration", "kept", false)
		expect.NoError(t, d.Sync())
		expect.NoError(t, d.Cut())
		if _, err := d.Restore(t.Context()); err != nil {
			t.Fatal(err)
		}
		if text, err := os.ReadFile(filepath.Join(d.Folder(), "configuration")); err != nil || string(text) != "kept" {
			t.Errorf("what was synced is now %q, %v", text, err)
		}
	})
}

// TestAnOrderlyUnmountIsNoCut: Restore must tell a clean file system from a cut one.
func TestAnOrderlyUnmountIsNoCut(t *testing.T) {
	onEach(t, func(t *testing.T, d *Disk) {
		expect.NoError(t, d.unmount(t.Context()))
		d.cut = true
		if evidence, err := d.Restore(t.Context()); err == nil {
			t.Errorf("restored: %q", evidence)
		}
	})
}

// TestATrialIsLeftNowhere: the trial uses the disk's own folder, where leftovers are found.
func TestATrialIsLeftNowhere(t *testing.T) {
	folder := t.TempDir()
	t.Setenv("TMPDIR", folder)
	open(t, Ext4)
	if entries, err := os.ReadDir(folder); err != nil || len(entries) > 0 {
		t.Errorf("%v, %v", entries, err)
	}
}

// TestACutAfterACut: even a cut before any write leaves something to replay.
func TestACutAfterACut(t *testing.T) {
	onEach(t, func(t *testing.T, d *Disk) {
		for range 2 {
			expect.NoError(t, d.Cut())
			if evidence, err := d.Restore(t.Context()); err != nil || !strings.Contains(evidence, "journal replayed") {
				t.Errorf("restored: %q, %v", evidence, err)
			}
		}
	})
}

func TestNoSuchFileSystem(t *testing.T) {
	if err := Check(t.Context(), "zfs"); !errors.As(err, new(*machine.UnsupportedError)) {
		t.Error(err)
	}
}

func TestThisMachineCanCutDisks(t *testing.T) {
	expect.NoError(t, Check(t.Context(), Ext4))
}
