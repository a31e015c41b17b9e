// Package machine makes the computers that the nodes of a cluster believe they
// live on: on Linux, as root, each has a network namespace with an address of
// its own, and limits on memory, processor and disk (cgroup v1 or v2); packets
// between them can be dropped. Elsewhere all of them are the loopback interface
// of this machine, and what needs a network is refused with the reason.
//
// All that it makes carries the cluster's id in its name, so that remains are
// found and taken away after assay was killed.
//
// It must not know any database product, process, workload or other package of
// assay.
package machine

import (
	"fmt"
	"net/netip"
)

// Limits bounds what the processes of one machine may use. Zero means no limit.
type Limits struct {
	// Memory is in bytes, page cache included.
	Memory int64
	// CPU is in processors, such as 0.5.
	CPU float64
	// DiskWrite is in bytes a second.
	DiskWrite int64
}

// Options says which machines to make.
type Options struct {
	// ID is the cluster's, a few lower-case letters and digits; it is part of
	// the name of all that is made.
	ID string
	// Names are the machines' names, such as "n1", "n2".
	Names []string
	// Limits are those of each machine.
	Limits Limits
}

// UnsupportedError means that this system cannot do what was asked for.
type UnsupportedError struct {
	// What was asked for: "a network of its own", "a limit of memory".
	What string
	// Reason says why it cannot be had, and how to get it.
	Reason string
}

func (e *UnsupportedError) Error() string { return fmt.Sprintf("%s cannot be had: %s", e.What, e.Reason) }

// Direction is which packets of a machine are meant, seen from the machine.
type Direction string

// The directions.
const (
	In   Direction = "in"
	Out  Direction = "out"
	Both Direction = "both"
)

// Rule says which packets of a machine are dropped. Nothing answers for a
// dropped packet, as when a cable is cut.
type Rule struct {
	Direction Direction
	// Peers are the addresses whose packets are meant; empty means everybody's
	// but the machine's own.
	Peers []netip.Addr
	// Share is which part of the packets is dropped, by chance: above 0, 1 for
	// all.
	Share float64
}
