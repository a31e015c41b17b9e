package nodes

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"assay/cluster"
	"assay/internal/expect"
)

// TestAFullDiskIsNoLoss: a server that the machine keeps from starting has not lost its data, other
// than one whose files are damaged.
func TestAFullDiskIsNoLoss(t *testing.T) {
	t.Parallel()
	spec, err := cluster.ParseSpec("redis:1,appendfsync=always")
	expect.NoError(t, err)
	n, err := Start(t.Context(), spec, "")
	expect.NoError(t, err)
	expect.AtEnd(t, n.Close)
	n.Loaded(t.Context())
	node := n.Node("n1")
	data := filepath.Join(node.Folder(), "data")

	expect.NoError(t, node.Kill())
	expect.NoError(t, unix.Mount("tmpfs", data, "tmpfs", 0, "size=4k,nr_inodes=1"))
	t.Cleanup(func() { _ = unix.Unmount(data, 0) })
	if err := n.startAgain(t.Context()); err == nil || n.EndedForGood != "" {
		t.Errorf("on a full disk: %v, ended for good %q", err, n.EndedForGood)
	}
	expect.NoError(t, unix.Unmount(data, 0))
	if err := n.startAgain(t.Context()); err != nil || n.EndedForGood != "" {
		t.Errorf("on its own disk again: %v, ended for good %q", err, n.EndedForGood)
	}

	expect.NoError(t, node.Kill())
	manifest, err := filepath.Glob(filepath.Join(data, "*", "*.manifest"))
	expect.NoError(t, err)
	if len(manifest) != 1 {
		t.Fatalf("the manifests are %q", manifest)
	}
	expect.NoError(t, os.WriteFile(manifest[0], []byte("nonsense\n"), 0o644))
	if err := n.startAgain(t.Context()); err == nil || !strings.Contains(n.EndedForGood, "n1 does not start again; its log: ") {
		t.Errorf("with a damaged file: %v, ended for good %q", err, n.EndedForGood)
	}
}
