package machine

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"assay/internal/expect"
	"assay/internal/procfs"
)

const mebibyte = 1 << 20

// limitedLoopback makes one machine on loopback with limits. Without cgroups it does as open does.
func limitedLoopback(t *testing.T, l Limits) *Machine {
	t.Helper()
	o := Options{ID: newID(), Names: []string{"n1"}, Limits: l, Dir: "."}
	s, err := Loopback(o)
	if err == nil {
		closed(t, s)
		if _, err = s.All()[0].SetLimits(Limits{CPU: 1e6, Memory: 1 << 50}); err == nil {
			return s.All()[0]
		}
	}
	if !isUnsupported(err) {
		t.Fatal(err)
	}
	if os.Getenv("CI") != "" {
		t.Fatalf("these tests need Linux and root, with cgroups: %v", err)
	}
	return nil
}

func knobText(t *testing.T, m *Machine, kind int) string {
	t.Helper()
	k := m.limits.group.knobs[kind]
	if k.err != nil {
		t.Fatal(k.err)
	}
	text, err := os.ReadFile(filepath.Join(k.folder, limitFiles[kind][hierarchy{v2: k.v2}.version()]))
	expect.NoError(t, err)
	return strings.TrimSpace(string(text))
}

// shell runs a script that is killed at the test's end.
func shell(t *testing.T, script string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("sh", "-c", script)
	expect.NoError(t, cmd.Start())
	t.Cleanup(func() {
		for _, pid := range slices.Backward(tree(cmd.Process.Pid)) {
			if p, err := os.FindProcess(pid); err == nil {
				_ = p.Kill()
			}
		}
		_ = cmd.Wait()
	})
	return cmd
}

func members(t *testing.T, m *Machine) map[int]bool {
	t.Helper()
	var all map[int]bool
	for _, folder := range m.limits.group.folders {
		inside, err := pidsIn(filepath.Join(folder, "cgroup.procs"))
		expect.NoError(t, err)
		for pid := range all {
			inside[pid] = inside[pid] && all[pid]
		}
		all = inside
	}
	return all
}

func TestLimitsAreSetAndRestored(t *testing.T) {
	m := limitedLoopback(t, Limits{Memory: 200 * mebibyte, CPU: 1.5})
	if m == nil {
		return
	}
	is := func(when string, bytes int64, cpu float64) {
		t.Helper()
		v2 := m.limits.group.knobs[memory].v2
		if got := knobText(t, m, memory); got != fmt.Sprint(bytes) {
			t.Errorf("%s: memory %s", when, got)
		}
		want := processorText(cpu, v2)
		if got := knobText(t, m, processor); got != want {
			t.Errorf("%s: processors %s, not %s", when, got, want)
		}
	}
	// limitedLoopback has changed both; the rest undoes nothing.
	is("at first", 1<<50, 1e6)
	slow, err := m.SetLimits(Limits{CPU: 0.25})
	expect.NoError(t, err)
	is("slow", 1<<50, 0.25)
	slower, err := m.SetLimits(Limits{CPU: 0.1})
	expect.NoError(t, err)
	small, err := m.SetLimits(Limits{Memory: 100 * mebibyte})
	expect.NoError(t, err)
	is("slower and small", 100*mebibyte, 0.1)
	for _, step := range []struct {
		when    string
		restore func() error
		bytes   int64
		cpu     float64
	}{
		{"the older restored", slow, 100 * mebibyte, 0.1}, {"again", slow, 100 * mebibyte, 0.1},
		{"the newer restored", slower, 100 * mebibyte, 1e6}, {"all restored", small, 1 << 50, 1e6},
	} {
		expect.NoError(t, step.restore())
		is(step.when, step.bytes, step.cpu)
	}
	if l := m.Limits(); l.CPU != 1e6 || l.Memory != 1<<50 {
		t.Errorf("Limits: %+v", l)
	}
	if _, err := m.SetLimits(Limits{CPU: -1}); err == nil {
		t.Error("a negative limit")
	}
}

func TestProcessesAreUnderTheLimits(t *testing.T) {
	m := limitedLoopback(t, Limits{})
	if m == nil {
		return
	}
	cmd := shell(t, `sleep 1000 & sh -c 'sleep 1000 & wait' & wait`)
	pid := cmd.Process.Pid
	expect.Eventually(t, "the shell has three below it", func() bool { return len(tree(pid)) == 4 })
	expect.NoError(t, m.Adopt(pid))
	inside := members(t, m)
	for _, p := range tree(pid) {
		if !inside[p] {
			t.Errorf("process %d of %v is not among %v", p, tree(pid), inside)
		}
	}
	// A process that has ended and was not waited for.
	dead := shell(t, "exit 0")
	expect.Eventually(t, "it has ended", func() bool { p, err := procfs.Read(dead.Process.Pid); return err == nil && p.Ended() })
	if err := m.Adopt(dead.Process.Pid); err != nil {
		t.Errorf("one that has ended: %v", err)
	}
	if err := m.limits.close(); err == nil || !strings.Contains(err.Error(), fmt.Sprint(pid)) {
		t.Errorf("closed with processes in it: %v", err)
	}
}

func TestLimitsForProcessesThatRun(t *testing.T) {
	if limitedLoopback(t, Limits{}) == nil {
		return
	}
	s, err := Loopback(Options{ID: newID(), Names: []string{"n1"}})
	expect.NoError(t, err)
	m := s.All()[0]
	t.Cleanup(func() { // runs after the shell's end
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if left := remainsOf(t, s.options.ID); len(left) > 0 {
			t.Errorf("left: %v", left)
		}
	})
	// The script uses one processor; a tenth of one is granted.
	cmd := shell(t, `while :; do :; done & wait`)
	expect.NoError(t, m.Adopt(cmd.Process.Pid))
	if left := remainsOf(t, s.options.ID); len(left) > 0 {
		t.Errorf("cgroups without limits: %v", left)
	}
	restore, err := m.SetLimits(Limits{CPU: 0.1})
	expect.NoError(t, err)
	inside := members(t, m)
	for _, p := range tree(cmd.Process.Pid) {
		if !inside[p] {
			t.Errorf("process %d is not among %v", p, inside)
		}
	}
	expect.Eventually(t, "the kernel holds it back", func() bool {
		text, err := os.ReadFile(filepath.Join(m.limits.group.knobs[processor].folder, "cpu.stat"))
		expect.NoError(t, err)
		var held int
		for line := range strings.Lines(string(text)) {
			_, _ = fmt.Sscanf(line, "nr_throttled %d", &held)
		}
		return held > 0
	})
	expect.NoError(t, restore())
	if got := knobText(t, m, processor); got != processorText(0, m.limits.group.knobs[processor].v2) {
		t.Errorf("restored to %s", got)
	}
}

func TestTheMemoryLimitHolds(t *testing.T) {
	m := limitedLoopback(t, Limits{})
	if m == nil {
		return
	}
	if _, err := m.SetLimits(Limits{Memory: 30 * mebibyte}); err != nil {
		t.Fatal(err)
	}
	// The script waits to be adopted, then doubles a word until it is killed.
	folder := t.TempDir()
	cmd := shell(t, `cd '`+folder+`'; while ! [ -e go ]; do sleep 0.01; done
		x=xxxxxxxxxxxxxxxx; for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24; do x=$x$x; done; echo >done`)
	expect.NoError(t, m.Adopt(cmd.Process.Pid))
	expect.NoError(t, os.WriteFile(filepath.Join(folder, "go"), nil, 0o600))
	expect.Eventually(t, "the shell ends", func() bool { p, err := procfs.Read(cmd.Process.Pid); return err != nil || p.Ended() })
	if _, err := os.Stat(filepath.Join(folder, "done")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("it had its 256 MiB: %v", err)
	}
}

func TestTheDiskLimitIsSet(t *testing.T) {
	m := limitedLoopback(t, Limits{})
	if m == nil {
		return
	}
	restore, err := m.SetLimits(Limits{DiskWrite: 3 * mebibyte})
	if isUnsupported(err) { // such as on an overlay file system
		device, deviceErr := deviceOf(".")
		if deviceErr == nil {
			t.Errorf("disk %s: %v", device, err)
		}
		return
	}
	expect.NoError(t, err)
	device, err := deviceOf(".")
	expect.NoError(t, err)
	expect.Text(t, device, knobText(t, m, disk), device+" ", fmt.Sprint(3*mebibyte))
	expect.NoError(t, restore())
	if got := knobText(t, m, disk); strings.Contains(got, fmt.Sprint(3*mebibyte)) {
		t.Errorf("restored to %q", got)
	}
}
