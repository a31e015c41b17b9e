package main

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"math"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"assay/check"
	"assay/cluster/machine"
	"assay/internal/expect"
	"assay/report"
	"assay/runner/agents"
)

// The machines of TestAgentsOnMachines, by what happens to their agents.
const (
	well = iota
	dead
	isolated
	shifted
)

// shift is how wrong the clock of one of them is.
const shift = 3 * time.Hour

// TestAgentsOnMachines: four agents on machines with networks of their own. One is killed,
// one loses its link and has it back after the run, one's clock is wrong by hours. The run
// goes on, convicts nobody, measures the offset, and is judged again with what came late.
func TestAgentsOnMachines(t *testing.T) {
	t.Parallel()
	set := machines(t, "a1", "a2", "a3", "a4")
	if set == nil {
		return
	}
	engine, err := agents.Start(net.JoinHostPort(set.Client().String(), "0"), "")
	expect.NoError(t, err)
	t.Cleanup(engine.Close)
	dir := t.TempDir()
	env := []string{"ASSAY_ENGINE=" + engine.Join()}
	coordinator := start(t, command{dir: dir, env: env, args: []string{"run", "bank", "--db", "sqlite:" + filepath.Join(dir, "bank.sqlite"), "--agents", "4",
		"--agent-timeout", "12s", "--agent-loss", "continue", "--clients", "8", "--duration", "5m", "--timeout", "1s", "--accounts", "100", "--out", "run", "--plain"}})
	processes, shares := onMachines(t, set, dir, env)
	coordinator.until(working)
	coordinator.untilTrue("delivery of each agent", func() bool {
		return !slices.ContainsFunc(shares, func(share int) bool { return delivered(dir, share) < 4000 })
	})
	cable, err := set.All()[isolated].Drop(machine.Rule{Direction: machine.Both, Share: 1})
	expect.NoError(t, err)
	processes[dead].signal(syscall.SIGKILL)
	processes[dead].wait()
	coordinator.untilTrue("loss of two", func() bool { return strings.Count(coordinator.err.String(), "was lost: it was not heard of") >= 2 })
	coordinator.signal(syscall.SIGINT)
	coordinator.wait().want(t, exitNoVerdict)
	early := resultOf(t, filepath.Join(dir, "run"))
	wantLosses(t, early, shares)

	expect.NoError(t, cable.Remove())
	var late *report.Result
	processes[isolated].untilTrue("delivery of what was isolated", func() bool {
		ends(t, command{dir: dir, env: env, args: []string{"check", "run", "--engine", engine.Join(), "--quiet"}}).want(t, exitNoVerdict)
		late = resultOf(t, filepath.Join(dir, "run"))
		return late.Agents[shares[isolated]].Delivered
	})
	wantLosses(t, late, shares)
	if e, l := early.Agents[shares[isolated]], late.Agents[shares[isolated]]; e.Delivered || l.Operations <= e.Operations || late.Outcomes.Total() <= early.Outcomes.Total() {
		t.Errorf("judged %+v with %+v, and late %+v with %+v", early.Outcomes, e, late.Outcomes, l)
	}
	for _, i := range []int{well, isolated, shifted} {
		processes[i].signal(syscall.SIGTERM)
		processes[i].wait().want(t, exitValid)
	}
}

// machines makes machines with networks of their own. Where the system refuses it
// properly it returns nil, but not in continuous integration.
func machines(t *testing.T, names ...string) *machine.Set {
	t.Helper()
	id := make([]byte, 4)
	_, _ = rand.Read(id) // never fails
	set, err := machine.Open(machine.Options{ID: hex.EncodeToString(id), Names: names})
	if errors.As(err, new(*machine.UnsupportedError)) && os.Getenv("CI") == "" {
		t.Logf("not tried here: %v", err)
		return nil
	}
	expect.NoError(t, err)
	expect.AtEnd(t, set.Close)
	return set
}

// onMachines starts an agent on each machine and returns the number of each one's share.
func onMachines(t *testing.T, set *machine.Set, dir string, env []string) (all []*process, shares []int) {
	t.Helper()
	for i, m := range set.All() {
		args := []string{"agent"}
		if i == shifted {
			args = append(args, "--clock-offset", shift.String())
		}
		all = append(all, start(t, command{dir: dir, env: env, args: args, on: m, messy: i == dead}))
	}
	line := regexp.MustCompile(`share (\d+) of 4`)
	for _, p := range all {
		p.untilTrue("share of the run", func() bool { return line.MatchString(p.err.String()) })
		n, _ := strconv.Atoi(line.FindStringSubmatch(p.err.String())[1]) // they are digits
		shares = append(shares, n-1)
	}
	return all, shares
}

// wantLosses wants a valid history with an invalid measurement, two agents lost, and the
// clock of one found to be wrong by what it is, within what is said to be the error.
func wantLosses(t *testing.T, r *report.Result, shares []int) {
	t.Helper()
	if r.Verdict != check.Valid || r.Measurement.Verdict != "invalid" || !strings.Contains(strings.Join(r.Measurement.Reasons, " "), "was lost") {
		t.Errorf("verdict %v, measurement %+v, checks %+v", r.Verdict, r.Measurement, r.Checks)
	}
	for i, share := range shares {
		a, ahead := r.Agents[share], 0.0
		if i == shifted {
			ahead = float64(shift.Milliseconds())
		}
		if lost := i == dead || i == isolated; a.Operations == 0 || (a.Lost != "") != lost || i == dead && a.Delivered {
			t.Errorf("agent %d: %+v", i, a)
		}
		// The processes read the system's clock once each, which may be steered meanwhile.
		if off := math.Abs(a.OffsetMillis - ahead); a.OffsetErrorMillis <= 0 || off > a.OffsetErrorMillis+100 {
			t.Errorf("agent %d is %v ms off beside %v: %+v", i, off, ahead, a)
		}
	}
	if !slices.ContainsFunc(r.Notes, func(n string) bool { return strings.Contains(n, "may be off by") }) {
		t.Errorf("nothing says how far the clocks may be off: %q", r.Notes)
	}
}
