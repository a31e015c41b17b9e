package runner

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"assay/internal/expect"
	"assay/measure/pressure"
)

// Busy processes beside a run make its figures invalid and are named.
func TestABusyMachineIsNoPlaceToMeasure(t *testing.T) {
	for range 2 * runtime.NumCPU() {
		c := exec.Command("yes")
		expect.NoError(t, c.Start())
		t.Cleanup(func() { _ = c.Process.Kill(); _ = c.Wait() })
	}
	s := small("", 5, 0)
	s.Load.Duration = 3 * time.Second
	out := carryOut(t, s)
	r := out.Result
	if r.Machine == nil || !slices.ContainsFunc(r.Machine.Processes, func(p pressure.Process) bool { return p.Name == "yes" && p.Share > 0 }) {
		t.Fatalf("machine %+v", r.Machine)
	}
	if r.Measurement.Verdict != invalid || !strings.Contains("\n"+reasons(r), "\nmachine busy: other processes used") {
		t.Errorf("%s, %q", r.Measurement.Verdict, r.Measurement.Reasons)
	}
	keepsSchema(t, out.Folder)
	if again := recheck(t, out.Folder).Result; !slices.Equal(again.Measurement.Reasons, r.Measurement.Reasons) {
		t.Errorf("judged again: %q", again.Measurement.Reasons)
	}
	path := filepath.Join(out.Folder, FileScenario)
	text, err := os.ReadFile(path)
	expect.NoError(t, err)
	tolerant := strings.Replace(string(text), "other_work_percent: 10.0", "other_work_percent: 100", 1)
	expect.NoError(t, os.WriteFile(path, []byte(tolerant), 0o600))
	if again := recheck(t, out.Folder).Result; strings.Contains(reasons(again), "machine busy: other processes") {
		t.Errorf("where 100 %% are allowed: %q", again.Measurement.Reasons)
	}
}

func TestHostPorts(t *testing.T) {
	for address, want := range map[string][]string{
		"postgres://u:p@h@127.0.0.1/db":        {"127.0.0.1:5432"},
		"mysql://u@a:1,b/?x=y":                 {"a:1", "b:3306"},
		"mongodb://[::1]:27018,localhost/?x=y": {"[::1]:27018", "localhost:27017"},
		"cassandra://[::1]/space":              {"[::1]:9042"},
		"etcd://a,b:1/prefix":                  {"a:2379", "b:1"},
		"postgres:///db?host=/run/postgresql":  nil,
		"sqlite:bank.db":                       nil,
	} {
		if got := hostPorts(address); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", address, got, want)
		}
	}
}
