package machine

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// groupForm matches the names of cgroups' folders and of the host's interfaces.
var (
	spaceForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^` + prefix + `([0-9a-f]{8})-[a-z0-9]{1,16}$`) })
	groupForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^` + prefix + `([0-9a-f]{8})$`) })
)

// leftovers adds as many ids as it can find, even after an error.
func leftovers(found map[string]bool) error {
	spaces, err := spacesOf("")
	failed := []error{err}
	for _, name := range spaces {
		found[spaceForm().FindStringSubmatch(name)[1]] = true
	}
	links, err := netlink.LinkList()
	failed = append(failed, err)
	for _, link := range links {
		if match := groupForm().FindStringSubmatch(link.Attrs().Name); match != nil && link.Type() == "veth" {
			found[match[1]] = true
		}
	}
	hierarchies, err := findHierarchies()
	failed = append(failed, err)
	for _, h := range hierarchies {
		groups, err := folders(h.folder)
		failed = append(failed, err)
		for _, name := range groups {
			if match := groupForm().FindStringSubmatch(name); match != nil {
				found[match[1]] = true
			}
		}
	}
	return errors.Join(failed...)
}

// spacesOf returns the names of the namespaces of an id; of all ids if it is empty.
func spacesOf(id string) ([]string, error) {
	entries, err := os.ReadDir(namespaces)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		match := spaceForm().FindStringSubmatch(e.Name())
		if match != nil && (id == "" || match[1] == id) && e.Type().IsRegular() {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

func removeNetwork(id string) error {
	failed := []error{removeInterface(id)}
	names, err := spacesOf(id)
	failed = append(failed, err)
	for _, name := range names {
		failed = append(failed, removeNamespace(name))
	}
	return errors.Join(failed...)
}

func removeInterface(id string) error {
	link, err := netlink.LinkByName(prefix + id)
	var none netlink.LinkNotFoundError
	if errors.As(err, &none) {
		return nil
	}
	if err != nil {
		return err
	}
	if link.Type() != "veth" {
		return nil // somebody else's
	}
	if err := netlink.LinkDel(link); err != nil && !errors.Is(err, unix.ENODEV) {
		return err
	}
	return nil
}

func folders(path string) ([]string, error) {
	entries, err := os.ReadDir(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if e.IsDir() {
			names = append(names, filepath.Base(e.Name()))
		}
	}
	return names, nil
}

// Own marks the set of this id as owned. It binds a socket in the abstract namespace (unix(7)),
// which ends with the process, however that ends. If there is an owner the error is
// syscall.EADDRINUSE.
func Own(id string) (io.Closer, error) {
	return net.ListenUnixgram("unixgram", &net.UnixAddr{Name: "@" + prefix + id, Net: "unixgram"})
}

// InUse reports whether the set's owner lives, or any process in its namespaces. The servers alone
// prove nothing, because a fault can end them all for a while.
func InUse(id string) (bool, error) {
	owner, err := Own(id)
	if errors.Is(err, unix.EADDRINUSE) {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("look for the owner of %s: %w", id, err)
	}
	lived, err := inhabited(id)
	return lived, errors.Join(err, owner.Close())
}

func inhabited(id string) (bool, error) {
	names, err := spacesOf(id)
	if err != nil || len(names) == 0 {
		return false, err
	}
	var spaces []os.FileInfo
	for _, name := range names {
		info, err := os.Stat(filepath.Join(namespaces, name))
		if err != nil {
			continue // gone meanwhile
		}
		spaces = append(spaces, info)
	}
	links, err := filepath.Glob("/proc/[0-9]*/ns/net")
	if err != nil {
		return false, err
	}
	for _, link := range links {
		info, err := os.Stat(link)
		if err != nil {
			continue // ended meanwhile, or not ours to look at
		}
		for _, space := range spaces {
			if os.SameFile(info, space) {
				return true, nil
			}
		}
	}
	return false, nil
}

// UnmountBelow unmounts all below the folder, the innermost first. Users must be gone.
func UnmountBelow(folder string) error {
	mounts, err := readMounts()
	if err != nil {
		return fmt.Errorf("look for mounts below %s: %w", folder, err)
	}
	var failed []error
	for _, m := range slices.Backward(mounts) { // in the order in which they were mounted
		if !strings.HasPrefix(m.folder, strings.TrimSuffix(folder, "/")+"/") {
			continue
		}
		if err := unix.Unmount(m.folder, unix.UMOUNT_NOFOLLOW); err != nil {
			failed = append(failed, fmt.Errorf("unmount %s: %w", m.folder, err))
		}
	}
	return errors.Join(failed...)
}
