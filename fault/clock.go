package fault

import (
	"bytes"
	"context"
	"debug/buildinfo"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"assay/cluster"
	"assay/cluster/kubernetes"
	"assay/cluster/server"
	"assay/internal/quantity"
)

// clock restarts servers under libfaketime, which gives them another time of day. Their monotonic
// clock stays right, so that waiting takes as long as it should.
func clock() Action {
	value := newValue("OFFSET", "an offset with a sign and a unit, such as +60s or -5m", time.Minute, parseOffset,
		func(d time.Duration) bool { return d != 0 && d <= mostTime && d >= -mostTime },
		func(d time.Duration) string {
			if d > 0 {
				return "+" + quantity.Duration(d)
			}
			return quantity.Duration(d)
		})
	value.Default = "+60s"
	return Action{Name: "clock", Value: value, Targets: nodeTargets(), Lasts: true, Ends: true, MovesClock: true, part: partProcess, state: "under a shifted clock", silences: true, restarts: true,
		Effect: "stops the server in order and starts it with its clock shifted; healing starts it with the right one",
		check:  checkClock,
		on: func(t task) (injector, error) {
			library, err := findFaketime()
			if err != nil {
				return nil, err
			}
			env := faketimeEnv(library, valueOf[time.Duration](t.Fault))
			return onEach(t.nodes, func(n *cluster.Node) oneNode { return &shiftedNode{Node: n, env: env} }), nil
		},
		Pods: "shifts the clock that the containers of the pod read (Chaos Mesh)",
		pods: podMeans{chaos: kubernetes.TimeChaos, spec: func(f Fault, pod kubernetes.Pod) map[string]any {
			return map[string]any{"timeOffset": valueOf[time.Duration](f).String(), "containerNames": anyOf(pod.Containers)}
		}}}
}

// checkClock reports whether clocks can be shifted here. A Go program asks the kernel for the time,
// not the C library, so that libfaketime has no effect even if it is loaded.
func checkClock(f Fault, c *cluster.Cluster) error {
	if runtime.GOOS != "linux" {
		return &UnavailableError{Action: f.Action, Reason: "clocks are shifted on Linux only"}
	}
	if why := c.OneClock(); why != "" {
		return &UnavailableError{Action: f.Action, Reason: why}
	}
	for _, n := range c.Nodes() {
		if _, err := buildinfo.ReadFile(fmt.Sprintf("/proc/%d/exe", n.PID())); err == nil {
			return &UnavailableError{Action: f.Action, Reason: n.Name() + " is a program of Go's, whose clock libfaketime does not shift"}
		}
	}
	_, err := findFaketime()
	return err
}

func parseOffset(text string) (time.Duration, error) {
	if !strings.HasPrefix(text, "+") && !strings.HasPrefix(text, "-") {
		return 0, strconv.ErrSyntax
	}
	return time.ParseDuration(text)
}

// shiftedNode is a node with all processes that run or ran under the library.
type shiftedNode struct {
	*cluster.Node
	env     []string
	shifted []server.ProcessID
}

func faketimeEnv(library string, offset time.Duration) []string {
	seconds := strconv.FormatFloat(offset.Seconds(), 'f', -1, 64)
	if offset > 0 {
		seconds = "+" + seconds
	}
	return []string{"LD_PRELOAD=" + library, "FAKETIME=" + seconds, "FAKETIME_DONT_FAKE_MONOTONIC=1"}
}

// findFaketime looks in the usual folders, first for the variant for programs with threads: servers
// have many.
func findFaketime() (string, error) {
	for _, folder := range []string{"/usr/lib/*/faketime", "/usr/lib64/faketime", "/usr/lib/faketime", "/usr/local/lib/faketime"} {
		for _, name := range []string{"libfaketimeMT.so.1", "libfaketime.so.1"} {
			if found, err := filepath.Glob(filepath.Join(folder, name)); err == nil && len(found) > 0 {
				return found[0], nil
			}
		}
	}
	return "", &UnavailableError{Action: "clock", Reason: "there is no libfaketime.so.1 on this machine",
		Instead: "install the package faketime, or run scripts/install-servers.sh faketime"}
}

func (n *shiftedNode) inject(ctx context.Context) error {
	stopped := stopServer(ctx, n.Node)
	if stopped != nil && n.Running() {
		return stopped
	}
	err := n.Start(ctx, n.env...)
	return errors.Join(stopped, err, n.recordShifted())
}

// recordShifted notes the node's processes under the library, to remove what it leaves of them.
func (n *shiftedNode) recordShifted() error {
	processes, err := []server.ProcessID{{PID: n.PID()}}, error(nil)
	if n.Running() {
		processes, err = n.Processes()
	}
	n.shifted = append(n.shifted, processes...)
	return err
}

// verify checks that the server's process has the offset in its environment and the library in
// memory. Only the server itself knows what its clock shows.
func (n *shiftedNode) verify(context.Context, bool) (observation, error) {
	if !n.Running() {
		return observation{text: "the server is down"}, nil
	}
	offset, err := underFaketime(n.PID())
	if err != nil {
		return observation{}, err
	}
	if offset == "" {
		return observation{text: fmt.Sprintf("process %d does not run under libfaketime", n.PID())}, nil
	}
	return observation{proven: true, text: fmt.Sprintf("process %d runs under libfaketime with %s", n.PID(), offset)}, nil
}

// underFaketime returns the process's FAKETIME variable if it has the library loaded.
func underFaketime(pid int) (string, error) {
	folder := fmt.Sprintf("/proc/%d/", pid)
	environment, err := os.ReadFile(folder + "environ")
	if err != nil {
		return "", err
	}
	maps, err := os.ReadFile(folder + "maps")
	if err != nil {
		return "", err
	}
	if !bytes.Contains(maps, []byte("/libfaketime")) {
		return "", nil
	}
	for variable := range strings.SplitSeq(string(environment), "\x00") {
		if strings.HasPrefix(variable, "FAKETIME=") {
			return variable, nil
		}
	}
	return "", nil
}

func (n *shiftedNode) undo(context.Context) error { return nil }

// restore starts the server with the right clock, and removes what the library left of killed
// processes.
func (n *shiftedNode) restore(ctx context.Context) (string, error) {
	text, err := startAgain(ctx, n.Node)
	if err != nil {
		return "", errors.Join(err, removeSharedFiles(n.shifted))
	}
	offset, err := underFaketime(n.PID())
	if err == nil && offset != "" {
		err = fmt.Errorf("process %d still runs under libfaketime", n.PID())
	}
	return text + " with its clock right", errors.Join(err, removeSharedFiles(n.shifted))
}

// sharedFolder has shared memory and semaphores (shm_overview(7), sem_overview(7)).
const sharedFolder = "/dev/shm/"

// sharedFiles are the files that libfaketime makes for the first process with it, and that its
// children share. The library removes them when that process ends in order, not when it is killed.
func sharedFiles(pid int) []string {
	return []string{fmt.Sprintf("%sfaketime_shm_%d", sharedFolder, pid), fmt.Sprintf("%ssem.faketime_sem_%d", sharedFolder, pid)}
}

func removeSharedFiles(processes []server.ProcessID) error {
	var failed []error
	for _, p := range processes {
		// A new process with this id may use the files.
		if _, err := os.Stat(fmt.Sprintf("/proc/%d", p.PID)); err == nil {
			continue
		}
		for _, file := range sharedFiles(p.PID) {
			if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
				failed = append(failed, err)
			}
		}
	}
	return errors.Join(failed...)
}
