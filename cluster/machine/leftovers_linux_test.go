package machine

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/vishvananda/netlink"

	"assay/internal/expect"
)

// lookalikes makes objects with names like ours, or of other kinds, and returns checks that they
// exist.
func lookalikes(t *testing.T, id, other string) map[string]func() bool {
	t.Helper()
	there := map[string]func() bool{}
	for _, name := range []string{
		"assay-" + id, "assay-" + id + "x-n1", "assay-" + id + "-", "assay-" + id + "-N1", "assay-" + id + "-n1-x",
		"xassay-" + id + "-n1", "assay-" + other + "-n1", "assay-" + id[:7] + "-n1",
	} {
		space, err := makeNamespace(name)
		expect.NoError(t, err)
		expect.AtEnd(t, func() error { return errors.Join(space.close(), removeNamespace(name)) })
		there["namespace "+name] = func() bool {
			mounts, err := readMounts()
			return err == nil && slices.ContainsFunc(mounts, func(m mount) bool { return m.folder == filepath.Join(namespaces, name) })
		}
	}
	for _, name := range []string{"assay-" + id, "assay-" + id[:7], "assay-" + id + "x"} {
		attributes := netlink.NewLinkAttrs()
		attributes.Name = name
		link := &netlink.Bridge{LinkAttrs: attributes}
		expect.NoError(t, netlink.LinkAdd(link))
		expect.AtEnd(t, func() error { return netlink.LinkDel(link) })
		there["interface "+name] = func() bool { _, err := netlink.LinkByName(name); return err == nil }
	}
	hierarchies, err := findHierarchies()
	expect.NoError(t, err)
	for _, h := range hierarchies {
		for _, name := range []string{"assay-" + id + "x", "assay-" + other, "xassay-" + id, "assay"} {
			folder := filepath.Join(h.folder, name)
			expect.NoError(t, os.Mkdir(folder, 0o755))
			expect.AtEnd(t, func() error { return os.Remove(folder) })
			there["cgroup "+folder] = func() bool { _, err := os.Stat(folder); return err == nil }
		}
	}
	return there
}

func TestRemoveTouchesNobodyElse(t *testing.T) {
	if open(t) == nil {
		return
	}
	id, other := newID(), newID()
	there := lookalikes(t, id, other)
	ids, err := Leftovers()
	expect.NoError(t, err)
	if slices.Contains(ids, id) || !slices.Contains(ids, other) {
		t.Errorf("Leftovers: %v; there is something of %s, and only likenesses of %s", ids, other, id)
	}
	expect.NoError(t, Remove(id))
	for what, is := range there {
		if !is() {
			t.Errorf("Remove took %s away", what)
		}
	}
}

func TestRemainsOfAKilledProcess(t *testing.T) {
	s := open(t, "n1", "n2")
	if s == nil {
		return
	}
	id := s.options.ID
	if _, err := s.All()[0].SetLimits(Limits{CPU: 1}); err != nil && !isUnsupported(err) {
		t.Fatal(err)
	}
	expect.NoError(t, os.WriteFile(filepath.Join(namespaces, prefix+id+"-n3"), nil, 0o444))
	// Remove does not ask the owner.
	expect.NoError(t, Remove(id))
	if left := remainsOf(t, id); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	if ids, err := Leftovers(); err != nil || slices.Contains(ids, id) {
		t.Errorf("Leftovers: %v, %v", ids, err)
	}
}

// TestMachinesAreInUse while their owner lives, even without a process in them: a fault may have
// ended all servers while another assay looks for leftovers.
func TestMachinesAreInUse(t *testing.T) {
	s := open(t, "n1")
	if s == nil {
		return
	}
	used, err := InUse(s.options.ID)
	if err != nil || used {
		t.Errorf("without an owner, in use: %v, %v", used, err)
	}
	owner, err := Own(s.options.ID)
	expect.NoError(t, err)
	if used, err = InUse(s.options.ID); err != nil || !used {
		t.Errorf("with an owner, in use: %v, %v", used, err)
	}
	expect.NoError(t, owner.Close())
	if used, err = InUse(s.options.ID); err != nil || used {
		t.Errorf("its owner is gone, in use: %v, %v", used, err)
	}
}
