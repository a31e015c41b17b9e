package machine

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// group is the cgroups of one machine: assay-ID/NAME in each hierarchy that limits something. It is
// not safe for concurrent use.
//
// In version 1 each controller has its own hierarchy (Documentation/admin-guide/cgroup-v1), in
// version 2 all share one (cgroup-v2.rst). Both versions can be mounted, with each controller in
// one.
//
// The cgroups lie at the top of the hierarchy, where leftovers are found whatever session made
// them. So the limits of assay's session do not bind the processes in them.
type group struct {
	folders []string
	knobs   [3]knob // in the order of the constants below
	dir     string
}

const (
	memory = iota
	processor
	disk
)

var controllers = [3][2]string{memory: {"memory", "memory"}, processor: {"cpu", "cpu"}, disk: {"blkio", "io"}}

var limitFiles = [3][2]string{
	memory:    {"memory.limit_in_bytes", "memory.max"},
	processor: {"cpu.cfs_quota_us", "cpu.max"},
	disk:      {"blkio.throttle.write_bps_device", "io.max"},
}

var limitNames = [3]string{memory: "a limit of memory", processor: "a limit of processors", disk: "a limit of disk writes"}

type knob struct {
	folder string
	v2     bool
	err    error // why it cannot be had
}

// newGroup accepts a missing controller; apply returns the error if its limit is needed.
func newGroup(o Options, machine string) (*group, error) {
	hierarchies, err := findHierarchies()
	if err != nil {
		return nil, err
	}
	return groupIn(hierarchies, o, machine)
}

func groupIn(hierarchies []hierarchy, o Options, machine string) (*group, error) {
	g := &group{dir: o.Dir}
	for kind := range g.knobs {
		g.knobs[kind].err = fmt.Errorf("the system has no cgroup controller %s mounted", controllers[kind][1])
	}
	for _, h := range hierarchies {
		top := filepath.Join(h.folder, prefix+o.ID)
		folder := filepath.Join(top, machine)
		made := h.makeFolder(top, folder)
		if made == nil {
			g.folders = append(g.folders, folder)
		} else if errors.Is(made, os.ErrExist) {
			return nil, errors.Join(fmt.Errorf("cgroup of machine %s: %w", machine, made), g.remove())
		}
		for kind := range g.knobs {
			if !slices.Contains(h.controllers, h.controllerName(kind)) {
				continue
			}
			g.knobs[kind] = knob{folder: folder, v2: h.v2, err: made}
			if made == nil {
				g.knobs[kind].err = h.open(kind, top, folder)
			}
		}
	}
	return g, nil
}

// open makes the limit's file appear in the folder. Version 2 has it if the controller is enabled
// in the folders above. It stays enabled in the topmost, because others may have come to need it.
func (h hierarchy) open(kind int, top, folder string) error {
	file := filepath.Join(folder, limitFiles[kind][h.version()])
	var failed error
	if h.v2 {
		for _, above := range []string{h.folder, top} {
			err := write(filepath.Join(above, "cgroup.subtree_control"), "+"+controllers[kind][1])
			failed = errors.Join(failed, err)
		}
	}
	if _, err := os.Stat(file); err != nil {
		if errors.Is(failed, unix.EBUSY) {
			failed = fmt.Errorf("%w (processes run in the cgroup %s itself, as in a container)", failed, h.folder)
		}
		return errors.Join(failed, err)
	}
	return nil
}

func (h hierarchy) makeFolder(top, folder string) error {
	if err := os.MkdirAll(top, 0o755); err != nil {
		return err
	}
	if err := os.Mkdir(folder, 0o755); err != nil {
		_ = os.Remove(top) // stays if another machine is in it
		return err
	}
	return nil
}

func (h hierarchy) version() int {
	if h.v2 {
		return 1
	}
	return 0
}

func (h hierarchy) controllerName(kind int) string { return controllers[kind][h.version()] }

func (g *group) apply(before, after Limits) error {
	if after.Memory != before.Memory {
		if err := g.set(memory, after.Memory != 0, func(v2 bool) (string, error) {
			return memoryText(after.Memory, v2), nil
		}); err != nil {
			return err
		}
	}
	if after.CPU != before.CPU {
		if err := g.set(processor, after.CPU != 0, func(v2 bool) (string, error) {
			return processorText(after.CPU, v2), nil
		}); err != nil {
			return err
		}
	}
	if after.DiskWrite == before.DiskWrite {
		return nil
	}
	return g.set(disk, after.DiskWrite != 0, func(v2 bool) (string, error) {
		device, err := deviceOf(g.dir)
		return diskText(device, after.DiskWrite, v2), err
	})
}

func (g *group) set(kind int, limited bool, text func(v2 bool) (string, error)) error {
	k := g.knobs[kind]
	written, err := "", k.err
	if err == nil {
		written, err = text(k.v2)
	}
	if err != nil {
		if !limited {
			return nil // where none can be had there is none
		}
		reason := err.Error()
		if errors.Is(err, os.ErrPermission) {
			reason += " (it takes root, and in a container a privileged one)"
		}
		return &UnsupportedError{What: limitNames[kind], Reason: reason}
	}
	version := hierarchy{v2: k.v2}.version()
	if err := write(filepath.Join(k.folder, limitFiles[kind][version]), written); err != nil {
		return fmt.Errorf("set %s: %w", limitNames[kind], err)
	}
	return nil
}

func memoryText(bytes int64, v2 bool) string {
	switch {
	case bytes != 0:
		return strconv.FormatInt(bytes, 10)
	case v2:
		return "max"
	}
	return "-1"
}

// period is the kernel's default for sharing processor time, in microseconds.
const period = 100_000

func processorText(cpu float64, v2 bool) string {
	quota := int64(cpu*period + 0.5)
	switch {
	case v2 && cpu == 0:
		return fmt.Sprintf("max %d", period)
	case v2:
		return fmt.Sprintf("%d %d", quota, period)
	case cpu == 0:
		return "-1"
	}
	return strconv.FormatInt(quota, 10)
}

func diskText(device string, bytes int64, v2 bool) string {
	switch {
	case v2 && bytes == 0:
		return device + " wbps=max"
	case v2:
		return fmt.Sprintf("%s wbps=%d", device, bytes)
	}
	return fmt.Sprintf("%s %d", device, bytes) // 0 takes the limit away
}

// adopt moves the process and its descendants into the cgroups. A process can fork until it is
// moved itself, so the tree is read again until none is outside. An ended process is no error.
func (g *group) adopt(pid int) error {
	for _, folder := range g.folders {
		if err := adoptInto(filepath.Join(folder, "cgroup.procs"), pid); err != nil {
			return err
		}
	}
	return nil
}

func adoptInto(file string, root int) error {
	for deadline := time.Now().Add(10 * time.Second); ; {
		inside, err := pidsIn(file)
		if err != nil {
			return err
		}
		outside := 0
		for _, pid := range tree(root) {
			if inside[pid] {
				continue
			}
			err := write(file, strconv.Itoa(pid))
			if errors.Is(err, unix.ESRCH) {
				continue
			}
			if err != nil {
				return err
			}
			outside++
		}
		if outside == 0 {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%d processes do not move into %s", outside, file)
		}
	}
}

func pidsIn(file string) (map[int]bool, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	pids := map[int]bool{}
	for _, word := range strings.Fields(string(text)) {
		pid, err := strconv.Atoi(word)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		pids[pid] = true
	}
	return pids, nil
}

// remove also removes the cluster's folders if no other machine is in them.
func (g *group) remove() error {
	var failed []error
	deadline := time.Now().Add(patience)
	for _, folder := range g.folders {
		err := removeFolder(folder, deadline)
		failed = append(failed, err)
		if err == nil {
			_ = os.Remove(filepath.Dir(folder)) // stays while another machine is in it
		}
	}
	return errors.Join(failed...)
}

func removeGroups(id string) error {
	hierarchies, err := findHierarchies()
	failed := []error{err}
	deadline := time.Now().Add(patience)
	for _, h := range hierarchies {
		top := filepath.Join(h.folder, prefix+id)
		machines, err := folders(top)
		failed = append(failed, err)
		for _, machine := range machines {
			failed = append(failed, removeFolder(filepath.Join(top, machine), deadline))
		}
		failed = append(failed, removeFolder(top, deadline))
	}
	return errors.Join(failed...)
}

const patience = 3 * time.Second

// removeFolder retries while processes are in the cgroup. A missing cgroup is no error.
func removeFolder(folder string, deadline time.Time) error {
	for ; ; time.Sleep(10 * time.Millisecond) {
		err := os.Remove(folder)
		if err == nil || errors.Is(err, os.ErrNotExist) {
			return nil
		}
		if errors.Is(err, unix.EBUSY) && time.Now().Before(deadline) {
			continue
		}
		text, _ := os.ReadFile(filepath.Join(folder, "cgroup.procs"))
		if pids := strings.Fields(string(text)); len(pids) > 0 {
			return fmt.Errorf("remove the cgroup %s: these processes still run in it: %s", folder, strings.Join(pids, " "))
		}
		return err
	}
}

// write fails if the kernel's file does not exist.
func write(path, text string) error {
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = file.WriteString(text)
	return errors.Join(err, file.Close())
}
