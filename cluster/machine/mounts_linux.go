package machine

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"assay/internal/procfs"
)

type hierarchy struct {
	folder      string
	v2          bool
	controllers []string
}

// mount is a line of /proc/PID/mountinfo (proc_pid_mountinfo(5)).
type mount struct {
	device, folder, kind, source, options string
}

func readMounts() ([]mount, error) {
	text, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	return parseMounts(string(text)), nil
}

func parseMounts(text string) []mount {
	var all []mount
	for line := range strings.Lines(text) {
		before, after, found := strings.Cut(line, " - ")
		first, last := strings.Fields(before), strings.Fields(after)
		if !found || len(first) < 5 || len(last) < 3 {
			continue
		}
		all = append(all, mount{device: first[2], folder: unescape(first[4]), kind: last[0], source: unescape(last[1]), options: last[2]})
	}
	return all
}

func unescape(text string) string {
	var plain strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '\\' && i+3 < len(text) {
			if letter, err := strconv.ParseUint(text[i+1:i+4], 8, 8); err == nil {
				plain.WriteByte(byte(letter))
				i += 3
				continue
			}
		}
		plain.WriteByte(text[i])
	}
	return plain.String()
}

func findHierarchies() ([]hierarchy, error) {
	mounts, err := readMounts()
	if err != nil {
		return nil, fmt.Errorf("look for cgroups: %w", err)
	}
	return hierarchiesOf(mounts), nil
}

func hierarchiesOf(mounts []mount) []hierarchy {
	var all []hierarchy
	seen := map[string]bool{}
	for _, m := range mounts {
		h := hierarchy{folder: m.folder, v2: m.kind == "cgroup2"}
		switch m.kind {
		case "cgroup":
			h.controllers = strings.Split(m.options, ",")
		case "cgroup2":
			text, err := os.ReadFile(filepath.Join(m.folder, "cgroup.controllers"))
			if err != nil {
				continue // mounted over, or gone
			}
			h.controllers = strings.Fields(string(text))
		default:
			continue
		}
		useful := slices.ContainsFunc(controllers[:], func(names [2]string) bool {
			return slices.Contains(h.controllers, names[h.version()])
		})
		if useful && !seen[m.device] {
			seen[m.device] = true
			all = append(all, h)
		}
	}
	return all
}

// deviceOf returns MAJOR:MINOR of the folder's whole disk: partitions have no limits of writes.
func deviceOf(folder string) (string, error) {
	var info unix.Stat_t
	if err := unix.Stat(folder, &info); err != nil {
		return "", fmt.Errorf("disk of %s: %w", folder, err)
	}
	device := fmt.Sprintf("%d:%d", unix.Major(info.Dev), unix.Minor(info.Dev))
	if unix.Major(info.Dev) == 0 { // such as btrfs: its mount names the disk
		mounts, err := readMounts()
		if err != nil {
			return "", fmt.Errorf("disk of %s: %w", folder, err)
		}
		i := slices.IndexFunc(mounts, func(m mount) bool { return m.device == device })
		if i < 0 || !strings.HasPrefix(mounts[i].source, "/dev/") {
			kind := "a file system"
			if i >= 0 {
				kind = mounts[i].kind
			}
			return "", fmt.Errorf("%s lies on %s, which has no disk of its own; set TMPDIR to a folder that lies on a disk", folder, kind)
		}
		if err := unix.Stat(mounts[i].source, &info); err != nil {
			return "", fmt.Errorf("disk of %s: %w", folder, err)
		}
		device = fmt.Sprintf("%d:%d", unix.Major(info.Rdev), unix.Minor(info.Rdev))
	}
	return wholeDisk("/sys/dev/block", device)
}

// wholeDisk returns a partition's disk, in whose sysfs folder the partition's is, or the device
// itself.
func wholeDisk(blocks, device string) (string, error) {
	folder, err := filepath.EvalSymlinks(filepath.Join(blocks, device))
	if err != nil {
		return "", fmt.Errorf("disk %s: %w", device, err)
	}
	if _, err := os.Stat(filepath.Join(folder, "partition")); err != nil {
		return device, nil
	}
	text, err := os.ReadFile(filepath.Join(filepath.Dir(folder), "dev"))
	if err != nil {
		return "", fmt.Errorf("disk of the partition %s: %w", device, err)
	}
	return strings.TrimSpace(string(text)), nil
}

// tree returns a process and its descendants, parents first, that have not ended.
func tree(root int) []int {
	all, _ := procfs.Tree(root) // none if it has ended
	var pids []int
	for _, p := range all {
		if !p.Ended() {
			pids = append(pids, p.PID)
		}
	}
	return pids
}
