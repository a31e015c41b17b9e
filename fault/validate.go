package fault

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"time"

	"assay/cluster"
	"assay/cluster/machine"
)

// TargetError is a fault on something that the cluster does not have.
type TargetError struct {
	Fault Fault
	// Problem is what is wrong, Want what can be named instead.
	Problem, Want string
}

func (e *TargetError) Error() string {
	return fmt.Sprintf("fault %q: %s; want %s", e.Fault, e.Problem, e.Want)
}

// UnavailableError is an action that cannot be done here.
type UnavailableError struct {
	Action Action
	// Reason says why, Instead what to do about it; Instead may be empty.
	Reason, Instead string
	// Err is the cause if there is one.
	Err error
}

func (e *UnavailableError) Error() string {
	text := fmt.Sprintf("fault %s: %s", e.Action, e.Reason)
	if e.Instead != "" {
		text += "; " + e.Instead
	}
	return text
}

func (e *UnavailableError) Unwrap() error { return e.Err }

// ScheduleError is a fault that cannot happen as the schedule has it.
type ScheduleError struct {
	Fault Fault
	// Problem is what is wrong, Want what to write instead.
	Problem, Want string
}

func (e *ScheduleError) Error() string {
	return fmt.Sprintf("fault %q %s; %s", e.Fault, e.Problem, e.Want)
}

// CheckSchedule tells by a *ScheduleError of faults that never happen in a run of this
// length, or after which it would never end; 0 means that the length is not known. The
// faults are those of one phase.
func CheckSchedule(faults []Fault, duration time.Duration) error {
	var failed []error
	for i, f := range faults {
		about, _ := describe(f.Action)
		o, happens := f.occurrence(i, 0, duration)
		holder := slices.IndexFunc(faults, func(h Fault) bool { return h.For == Ever && h.holds(f) && h.before(f, duration) })
		switch {
		case !happens:
			failed = append(failed, &ScheduleError{f, "never happens in a run of " + shortDuration(duration), "let it happen earlier, or the run be longer"})
		case holder >= 0 && holder != i:
			failed = append(failed, &ScheduleError{f, fmt.Sprintf("never happens, since %q has what it falls on for ever", faults[holder]), "let it happen earlier, or write for T there"})
		case o.For == Ever && duration == 0 && f.Target == TargetAll && about.silences:
			failed = append(failed, &ScheduleError{f, "leaves no node, and what it disturbs waits for them without end", "write for T, or --duration for a run that ends by itself"})
		}
	}
	return errors.Join(failed...)
}

// holds reports whether g, while f acts, is certain to find what it falls on taken.
func (f Fault) holds(g Fault) bool {
	a, _ := describe(f.Action)
	b, _ := describe(g.Action)
	if a.part != b.part || g.Target == TargetCluster || g.Action == Partition {
		return false
	}
	named := nodeName().MatchString(f.Target) || podName().MatchString(f.Target)
	return f.Target == TargetAll || named && f.Target == g.Target
}

// before reports whether f happens before g ever does.
func (f Fault) before(g Fault, duration time.Duration) bool {
	first, _ := f.occurrence(0, 0, duration)
	second, _ := g.occurrence(0, 0, duration)
	return first.At < second.At
}

// Validate tells, before a run begins, which faults cannot be done to the
// running cluster: by a *TargetError, a *server.NoPrimaryError or an
// *UnavailableError each, joined. Limits of processor and disk are tried on the
// first node, for a moment.
func Validate(ctx context.Context, faults []Fault, c *cluster.Cluster) error {
	var failed []error
	for _, f := range faults {
		err := checkTarget(f, servers{c}.members())
		if err == nil && (f.Target == TargetPrimary || f.Target == TargetSecondary) {
			err = checkPrimary(ctx, f, c)
		}
		if err == nil {
			err = checkMeans(f, c)
		}
		failed = append(failed, err)
	}
	return errors.Join(failed...)
}

func checkTarget(f Fault, members []member) error {
	about, known := describe(f.Action)
	if !known {
		return &UnavailableError{Action: f.Action, Reason: "there is no such action"}
	}
	all := names(members)
	withData := 0
	for _, m := range members {
		if !m.arbiter {
			withData++
		}
	}
	switch {
	case f.Action == Partition:
		if !slices.Contains(shapes(), f.Target) {
			return &TargetError{Fault: f, Problem: "there is no such shape", Want: "one of " + joined(shapes())}
		}
		if least := leastNodes(f.Target); len(all) < least {
			return &TargetError{Fault: f, Problem: fmt.Sprintf("with %d nodes it parts nobody", len(all)),
				Want: fmt.Sprintf("at least %d nodes, or another shape", least)}
		}
	case slices.Contains(about.Targets, f.Target):
		if f.Target == TargetSecondary && withData < 2 {
			return &TargetError{Fault: f, Problem: "there is only one node with data", Want: TargetPrimary + " or more nodes"}
		}
		if f.Action == Remove && withData < 2 {
			return &TargetError{Fault: f, Problem: "there is only one node with data, and it cannot leave", Want: "more nodes"}
		}
	case !slices.Contains(all, f.node()):
		return &TargetError{Fault: f, Problem: "there is no node " + f.node(), Want: "one of " + joined(all)}
	}
	return nil
}

func checkPrimary(ctx context.Context, f Fault, c *cluster.Cluster) error {
	ctx, cancel := context.WithTimeout(ctx, primaryWait)
	defer cancel()
	if _, err := c.Primary(ctx); err != nil {
		return fmt.Errorf("fault %q: %w", f, err)
	}
	return nil
}

// checkMeans tells whether this machine can do the action.
func checkMeans(f Fault, c *cluster.Cluster) error {
	switch f.Action {
	case Evict, ContainerKill, PodFailure, Delay, Bandwidth, SlowIO, StressCPU, StressMemory:
		return &UnavailableError{Action: f.Action, Reason: "it is done to pods only, with --kubernetes"}
	case Isolate, Partition, Flaky:
		if err := c.NoNetwork(); err != nil {
			return &UnavailableError{Action: f.Action, Reason: err.Error(), Instead: "use kill, stop or pause instead", Err: err}
		}
	case Grow, Remove:
		if err := c.Resizable(); err != nil {
			return &UnavailableError{Action: f.Action, Reason: err.Error(), Instead: "take a replica set of MongoDB or a Galera cluster of MariaDB, or stop and kill instead", Err: err}
		}
	case Clock:
		if runtime.GOOS != "linux" {
			return &UnavailableError{Action: f.Action, Reason: "clocks are shifted on Linux only"}
		}
		_, err := findFaketime()
		return err
	case PowerCut:
		return checkDisks(f, c)
	case SyncError, DiskFull, ReadError, BitFlip:
		return checkFaultyDisks(f, c)
	case SlowDisk:
		if n := c.Nodes()[0]; n.HasDisk() {
			return &UnavailableError{Action: f.Action, Reason: "each node has a disk of its own (disk=" + c.Spec().Disk + "), to which the machine's limits do not apply"}
		}
		return tryLimit(f, c, slowDisk(nil, f.Rate, nil).limits)
	case SlowCPU:
		return tryLimit(f, c, slowCPU(nil, f.Share, nil).limits)
	}
	return nil
}

func tryLimit(f Fault, c *cluster.Cluster, l machine.Limits) error {
	restore, err := c.Nodes()[0].Machine().SetLimits(l)
	if err == nil {
		err = restore()
	}
	var unsupported *machine.UnsupportedError
	if errors.As(err, &unsupported) {
		return &UnavailableError{Action: f.Action, Reason: unsupported.Error(), Err: err}
	}
	if err != nil {
		return fmt.Errorf("fault %q: %w", f, err)
	}
	return nil
}
