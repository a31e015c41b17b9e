package machine

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"sync"
	"time"
)

// Set is the machines of one cluster. Its methods are safe for concurrent use.
type Set struct {
	options Options
	network *network // nil if all machines are on loopback

	mu       sync.Mutex
	machines []*Machine
	closed   bool
}

// Machine is a computer of a Set. Its methods are safe for concurrent use.
type Machine struct {
	name    string
	address netip.Addr
	space   *namespace // nil on loopback
	bridge  *namespace // where its port is; nil on loopback
	limits  *limited

	mu     sync.Mutex
	tables int    // so many rules were made
	folder string // of its own disk; empty if it has none
}

func loopback() netip.Addr { return netip.AddrFrom4([4]byte{127, 0, 0, 1}) }

// Open makes machines with networks of their own. If the system does not allow it, or cannot hold
// the limits, the error is an *UnsupportedError and nothing is left behind.
func Open(o Options) (*Set, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	network, err := openNetwork(o.ID)
	if err != nil {
		return nil, fmt.Errorf("make machines: %w", err)
	}
	s := &Set{options: o, network: network}
	if err = s.fill(); err == nil {
		err = network.prove(s.machines)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("make machines: %w", err), s.Close())
	}
	return s, nil
}

// Loopback makes machines on 127.0.0.1. Impossible limits are an *UnsupportedError.
func Loopback(o Options) (*Set, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	if o.Bandwidth > 0 {
		return nil, fmt.Errorf("make machines: %w", &UnsupportedError{What: ownBandwidth, Reason: "all nodes are on loopback"})
	}
	s := &Set{options: o}
	if err := s.fill(); err != nil {
		return nil, errors.Join(fmt.Errorf("make machines: %w", err), s.Close())
	}
	return s, nil
}

func (s *Set) fill() error {
	for _, name := range s.options.Names {
		if _, err := s.add(name); err != nil {
			return err
		}
	}
	return nil
}

// All returns the machines in the order of Options.Names, then the added ones.
func (s *Set) All() []*Machine {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.machines)
}

// Own returns an *UnsupportedError if the machines have no networks of their own.
func (s *Set) Own() error {
	if s.network != nil {
		return nil
	}
	return &UnsupportedError{What: "a network of its own for each node", Reason: "all nodes are on loopback"}
}

// Client is this process's address. A rule that drops its packets cuts off the clients.
func (s *Set) Client() netip.Addr {
	if s.network != nil {
		return s.network.client()
	}
	return loopback()
}

// Add makes one more machine with the limits of Options. Its name must be new.
func (s *Set) Add(name string) (*Machine, error) {
	if err := checkName(name); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, fmt.Errorf("add machine %s: %w", name, os.ErrClosed)
	}
	if slices.ContainsFunc(s.machines, func(m *Machine) bool { return m.name == name }) {
		return nil, fmt.Errorf("add machine %s: there is one of this name", name)
	}
	m, err := s.add(name)
	if err != nil {
		return nil, fmt.Errorf("add machine %s: %w", name, err)
	}
	return m, nil
}

func (s *Set) add(name string) (*Machine, error) {
	m := &Machine{name: name, address: loopback()}
	o := s.options
	if slices.Contains(o.Unlimited, name) {
		o.Limits, o.Bandwidth = Limits{}, 0
	}
	var err error
	if m.limits, err = newLimited(o, name); err != nil {
		return nil, err
	}
	if s.network != nil {
		if m.space, m.address, err = s.network.add(name, o.Bandwidth); err != nil {
			return nil, errors.Join(err, m.limits.close())
		}
		m.bridge = s.network.bridge
	}
	s.machines = append(s.machines, m)
	return m, nil
}

// Close requires that the processes are gone. After an error it can be called again.
func (s *Set) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	var failed []error
	for _, m := range s.machines {
		failed = append(failed, m.limits.close())
	}
	if s.network != nil {
		failed = append(failed, s.network.close())
	}
	if err := errors.Join(failed...); err != nil {
		return fmt.Errorf("take machines away: %w", err)
	}
	s.closed = true
	return nil
}

// Name is the machine's name.
func (m *Machine) Name() string { return m.name }

// Address is the machine's address for others.
func (m *Machine) Address() netip.Addr { return m.address }

// Apart reports whether the machine has a network of its own.
func (m *Machine) Apart() bool { return m.space != nil }

// Own sets the mount point of the machine's own disk, before anything is started.
func (m *Machine) Own(folder string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.folder = folder
}

// Folder is the mount point of the machine's own disk; empty if it has none.
func (m *Machine) Folder() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.folder
}

// Run calls start, whose processes and sockets live on this machine. start runs on the caller's
// goroutine, bound to its thread, and must not use other goroutines. If the thread cannot return,
// Run returns an error even if start succeeded. The goroutine then stays bound and must end, so
// that its thread ends too.
func (m *Machine) Run(start func() error) error {
	if m.space == nil {
		return start()
	}
	return m.space.enter(start)
}

// Drop has the kernel drop packets of the machine until the Dropping is removed, but never packets
// of the machine to itself. Without a network of its own the error is an *UnsupportedError.
func (m *Machine) Drop(r Rule) (*Dropping, error) {
	if err := r.check(); err != nil {
		return nil, err
	}
	if m.space == nil {
		return nil, &UnsupportedError{What: "dropped packets",
			Reason: "machine " + m.name + " has no network of its own, and on loopback all others would be hit"}
	}
	m.mu.Lock()
	m.tables++
	d := &Dropping{machine: m, table: fmt.Sprintf("assay_%d", m.tables)}
	m.mu.Unlock()
	if err := m.space.drop(d.table, r); err != nil {
		return nil, fmt.Errorf("drop packets of machine %s: %w", m.name, err)
	}
	return d, nil
}

// Delay delivers the packets that match the rule later by a time above 0, until the Delaying is
// removed. It ignores Rule.Share. A machine can have one delay at a time. Errors are those of Drop
// and CanDelay.
func (m *Machine) Delay(r Rule, by time.Duration) (*Delaying, error) {
	if err := r.check(); err != nil {
		return nil, err
	}
	if m.space == nil {
		return nil, &UnsupportedError{What: ownDelay, Reason: "machine " + m.name + " has no network of its own"}
	}
	relay, err := m.bridge.delay(portName(m.address), r, by)
	if err != nil {
		return nil, fmt.Errorf("delay packets of machine %s: %w", m.name, err)
	}
	return &Delaying{machine: m, relay: relay}, nil
}

// Delaying is a delay in force. Its methods are safe for concurrent use.
type Delaying struct {
	machine *Machine
	relay   *relay

	mu      sync.Mutex
	removed bool
}

// Packets counts the delayed packets.
func (d *Delaying) Packets() (int64, error) { return d.relay.packets.Load(), nil }

// Remove ends the delay and delivers waiting packets. Again, or after Close, it does nothing.
func (d *Delaying) Remove() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.removed {
		return nil
	}
	if err := d.relay.end(); err != nil && !errors.Is(err, os.ErrClosed) {
		return fmt.Errorf("end the delay of machine %s: %w", d.machine.name, err)
	}
	d.removed = true
	return nil
}

const ownDelay = "a delay of packets"

func portName(address netip.Addr) string { return fmt.Sprintf("port%d", address.As4()[3]) }

// Dropping is a rule in force. Its methods are safe for concurrent use.
type Dropping struct {
	machine *Machine
	table   string

	mu      sync.Mutex
	removed bool
	packets int64 // dropped until it was removed
}

// Packets counts the dropped packets.
func (d *Dropping) Packets() (int64, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.count()
}

func (d *Dropping) count() (int64, error) {
	if d.removed {
		return d.packets, nil
	}
	packets, err := d.machine.space.dropped(d.table)
	if err != nil {
		return 0, fmt.Errorf("count the dropped packets of machine %s: %w", d.machine.name, err)
	}
	return packets, nil
}

// Remove ends the rule; Packets keeps its count. Again, or after Close, it does nothing.
func (d *Dropping) Remove() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.removed {
		return nil
	}
	packets, _ := d.count() // a count that fails is 0 and must not keep the rule
	if err := d.machine.space.undrop(d.table); err != nil && !errors.Is(err, os.ErrClosed) {
		return fmt.Errorf("let packets of machine %s pass again: %w", d.machine.name, err)
	}
	d.removed, d.packets = true, packets
	return nil
}
