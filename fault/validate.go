package fault

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"assay/cluster"
	"assay/internal/quantity"
)

// TargetError is a fault on something that the cluster does not have.
type TargetError struct {
	Fault         Fault
	Problem, Want string
}

func (e *TargetError) Error() string {
	return fmt.Sprintf("fault %q: %s; want %s", e.Fault, e.Problem, e.Want)
}

// UnavailableError is an action that cannot be done here.
type UnavailableError struct {
	Action string
	// Reason says why. Instead says what to do, and may be empty.
	Reason, Instead string
	Err             error
}

func (e *UnavailableError) Error() string {
	text := fmt.Sprintf("fault %s: %s", e.Action, e.Reason)
	if e.Instead != "" {
		text += "; " + e.Instead
	}
	return text
}

func (e *UnavailableError) Unwrap() error { return e.Err }

// ScheduleError is a fault that cannot happen as scheduled.
type ScheduleError struct {
	Fault         Fault
	Problem, Want string
}

func (e *ScheduleError) Error() string {
	return fmt.Sprintf("fault %q %s; %s", e.Fault, e.Problem, e.Want)
}

// CheckSchedule returns a joined *ScheduleError for each fault that never happens in a run of this
// length, or after which the run would never end. A duration of 0 means an unknown length. The
// faults are those of one phase.
func CheckSchedule(faults []Fault, duration time.Duration) error {
	var failed []error
	for i, f := range faults {
		about, _ := Lookup(f.Action)
		o, happens := f.occurrence(i, 0, duration)
		holder := slices.IndexFunc(faults, func(h Fault) bool { return h.For == Ever && h.holds(f) && h.before(f, duration) })
		switch {
		case !happens && f.When == "":
			failed = append(failed, &ScheduleError{f, "never happens in a run of " + quantity.Duration(duration), "let it happen earlier, or the run be longer"})
		case about.after != "" && !slices.ContainsFunc(faults, func(b Fault) bool { return b.Action == about.after && b.before(f, duration) }):
			failed = append(failed, &ScheduleError{f, "has no " + about.after + " before it", "add one that happens earlier"})
		case holder >= 0 && holder != i:
			failed = append(failed, &ScheduleError{f, fmt.Sprintf("never happens, since %q has what it falls on for ever", faults[holder]), "let it happen earlier, or write for T there"})
		case o.For == Ever && duration == 0 && f.Target == TargetAll && about.silences:
			failed = append(failed, &ScheduleError{f, "leaves no node, and what it disturbs waits for them without end", "write for T, or --duration for a run that ends by itself"})
		}
	}
	return errors.Join(failed...)
}

// holds reports whether g, while f acts, certainly finds its part taken.
func (f Fault) holds(g Fault) bool {
	a, _ := Lookup(f.Action)
	b, _ := Lookup(g.Action)
	held, _ := sides(f.Target)
	aimed, _ := sides(g.Target)
	switch {
	case a.part != b.part || b.choose != nil || len(held) != 1 || len(aimed) != 1 || held[0].role != aimed[0].role:
		return false
	case f.meansAll():
		return true
	}
	only := held[0].role == cluster.RolePooler || held[0].role == cluster.RoleProxy // there is at most one
	return f.Target == g.Target && (held[0].named && !strings.Contains(held[0].word, or) || only)
}

// before reports whether f happens before g's first time.
func (f Fault) before(g Fault, duration time.Duration) bool {
	first, _ := f.occurrence(0, 0, duration)
	second, _ := g.occurrence(0, 0, duration)
	return f.When == "" && g.When == "" && first.At < second.At
}

// CheckTargets returns, before the cluster is started, a joined *TargetError for each fault on
// servers that it will not have.
func CheckTargets(faults []Fault, s cluster.Spec) error {
	var members []member
	for _, m := range s.Members() {
		members = append(members, member{name: m.Name, role: m.Role, arbiter: m.Arbiter})
	}
	var failed []error
	for _, f := range faults {
		failed = append(failed, checkTarget(f, members))
	}
	return errors.Join(failed...)
}

// Validate checks, before a run begins, which faults cannot be done to the running nodes. It
// returns a joined *TargetError, *server.NoPrimaryError or *UnavailableError for each. It tries
// limits of processor and disk on the first node, for a moment.
func Validate(ctx context.Context, faults []Fault, s System) error {
	members, err := s.members(ctx)
	if err != nil {
		return err
	}
	var failed []error
	for _, f := range faults {
		err := checkTarget(f, members)
		if err == nil {
			err = s.check(ctx, f)
		}
		if _, has := s.(logging); err == nil && !has && f.awaitedLine() != nil {
			err = &UnavailableError{Action: f.Action, Reason: "assay does not see the logs of these nodes", Instead: "wait for another event"}
		}
		if err == nil && (f.needsPrimary() || f.awaitsPrimary()) {
			asking, cancel := context.WithTimeout(ctx, primaryWait)
			_, err = s.primaries(asking)
			cancel()
			if err != nil {
				err = fmt.Errorf("fault %q: %w", f, err)
			}
		}
		failed = append(failed, err)
	}
	return errors.Join(failed...)
}

func checkTarget(f Fault, members []member) error {
	a, known := Lookup(f.Action)
	all, _ := sides(f.Target)
	for _, s := range all {
		if err := s.check(f, members); err != nil {
			return err
		}
	}
	switch {
	case f.awaitsMissing(members):
		return &TargetError{Fault: f, Problem: "there is no node " + f.awaited() + " to wait for", Want: "one of " + joined(names(members)) + " or " + TargetAny}
	case !known:
		return &UnavailableError{Action: f.Action, Reason: "there is no such action"}
	case a.fits != nil:
		return a.fits(f, members)
	}
	return nil
}

// WithMeans adds to the spec what faults need and it does not choose: disks of their own, and an
// archive of the log for restoring a moment.
func WithMeans(s cluster.Spec, faults []Fault) cluster.Spec {
	given := s.Disk != ""
	for _, f := range faults {
		a, _ := Lookup(f.Action)
		if a.after != "" && f.Value != nil {
			s = s.WithArchive()
		}
		if !given && a.disk != nil && s.Disk != cluster.DiskFaulty { // which can do everything
			s.Disk = a.disk(f)
		}
	}
	return s
}
