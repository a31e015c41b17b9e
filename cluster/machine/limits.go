package machine

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"

	"assay/internal/procfs"
)

// limited holds one machine's limits. It makes the cgroups when the first limit is set.
type limited struct {
	options Options
	machine string

	mu     sync.Mutex
	base   Limits
	over   []*Limits   // changes in force, oldest first
	group  *group      // nil until a limit is asked for
	roots  []procfs.ID // first processes that were adopted and may still live
	closed bool
}

func newLimited(o Options, machine string) (*limited, error) {
	if o.Dir == "" {
		o.Dir = os.TempDir()
	}
	l := &limited{options: o, machine: machine, base: o.Limits}
	return l, l.enforce(Limits{}, l.base)
}

// Limits returns the limits in force.
func (m *Machine) Limits() Limits {
	m.limits.mu.Lock()
	defer m.limits.mu.Unlock()
	return m.limits.now()
}

// SetLimits changes limits while processes run; a zero limit in l stays as it is. Several changes
// can be in force: the latest of each limit counts, and each restore takes back its own change, in
// any order. Calling restore again, or after Close, does nothing. If the system cannot hold the
// limits the error is an *UnsupportedError, and nothing has changed.
func (m *Machine) SetLimits(l Limits) (restore func() error, err error) {
	if err := l.check(); err != nil {
		return nil, err
	}
	change := &l
	if err := m.limits.change(func(over []*Limits) []*Limits { return append(over, change) }); err != nil {
		return nil, fmt.Errorf("limit machine %s: %w", m.name, err)
	}
	return func() error {
		err := m.limits.change(func(over []*Limits) []*Limits { return without(over, change) })
		if err != nil && !errors.Is(err, os.ErrClosed) {
			return fmt.Errorf("restore the limits of machine %s: %w", m.name, err)
		}
		return nil
	}, nil
}

func without(over []*Limits, change *Limits) []*Limits {
	var kept []*Limits
	for _, o := range over {
		if o != change {
			kept = append(kept, o)
		}
	}
	return kept
}

// Adopt puts a process of this machine and its descendants under the machine's limits.
func (m *Machine) Adopt(pid int) error {
	if pid <= 0 {
		return fmt.Errorf("machine %s: no process %d", m.name, pid)
	}
	if err := m.limits.adopt(pid); err != nil {
		return fmt.Errorf("limit process %d on machine %s: %w", pid, m.name, err)
	}
	return nil
}

// now is the base, with each limit replaced by its latest change.
func (l *limited) now() Limits {
	now := l.base
	for _, o := range l.over {
		if o.Memory != 0 {
			now.Memory = o.Memory
		}
		if o.CPU != 0 {
			now.CPU = o.CPU
		}
		if o.DiskWrite != 0 {
			now.DiskWrite = o.DiskWrite
		}
	}
	return now
}

func (l *limited) change(edit func([]*Limits) []*Limits) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return os.ErrClosed
	}
	// unlike differs from all limits, so that all of them are written.
	unlike := Limits{Memory: -1, CPU: -1, DiskWrite: -1}
	old, before := l.over, l.now()
	l.over = edit(append([]*Limits(nil), old...))
	if err := l.enforce(before, l.now()); err != nil {
		l.over = old
		if l.group != nil {
			err = errors.Join(err, l.group.apply(unlike, before))
		}
		return err
	}
	return nil
}

func (l *limited) enforce(before, after Limits) error {
	if after == before {
		return nil
	}
	if l.group == nil {
		g, err := newGroup(l.options, l.machine)
		if err != nil {
			return err
		}
		l.group = g
		if err := g.apply(before, after); err != nil {
			l.group = nil
			return errors.Join(err, g.remove())
		}
		return l.adoptAll()
	}
	return l.group.apply(before, after)
}

func (l *limited) adopt(pid int) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return os.ErrClosed
	}
	root := procfs.Identify(pid)
	l.roots = append(slices.DeleteFunc(l.roots, func(r procfs.ID) bool { return r == root || !r.Alive() }), root)
	if l.group == nil {
		return nil
	}
	return l.group.adopt(pid)
}

func (l *limited) adoptAll() error {
	for _, r := range l.roots {
		if !r.Alive() {
			continue
		}
		if err := l.group.adopt(r.PID); err != nil {
			return err
		}
	}
	return nil
}

func (l *limited) close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	if l.group == nil {
		return nil
	}
	if err := l.group.remove(); err != nil {
		return err
	}
	l.group = nil
	return nil
}
