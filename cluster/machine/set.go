package machine

import (
	"fmt"
	"net/netip"
)

// Set is the machines of one cluster. Its methods are safe for concurrent use.
type Set struct {
	options  Options
	machines []*Machine
}

// Machine is one of them. Its methods are safe for concurrent use.
type Machine struct {
	name    string
	address netip.Addr
}

// Loopback makes machines that all are 127.0.0.1.
func Loopback(o Options) (*Set, error) {
	s := &Set{options: o}
	for _, name := range o.Names {
		s.machines = append(s.machines, &Machine{name: name, address: netip.AddrFrom4([4]byte{127, 0, 0, 1})})
	}
	return s, nil
}

// All returns the machines in the order of Options.Names.
func (s *Set) All() []*Machine { return s.machines }

// Own returns nil if each machine has a network of its own, and else an
// *UnsupportedError that says why not.
func (s *Set) Own() error {
	return &UnsupportedError{What: "a network of its own for each node", Reason: "all nodes are on loopback"}
}

// Close takes all away. The processes must be gone.
func (s *Set) Close() error { return nil }

// Name is the machine's name.
func (m *Machine) Name() string { return m.name }

// Address is what others reach it by.
func (m *Machine) Address() netip.Addr { return m.address }

// Run calls start so that a process started in it lives on this machine.
func (m *Machine) Run(start func() error) error { return start() }

// Adopt puts a started process under the machine's limits.
func (m *Machine) Adopt(pid int) error {
	if pid <= 0 {
		return fmt.Errorf("machine %s: no process %d", m.name, pid)
	}
	return nil
}

// Open makes machines with a network of their own.
func Open(Options) (*Set, error) {
	return nil, &UnsupportedError{What: "a network of its own for each node", Reason: "this system has no network namespaces; use network=loopback"}
}
