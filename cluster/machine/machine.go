// Package machine makes the computers on which the nodes of a cluster seem to live. On Linux, as
// root, each has a network namespace with an address of its own, and limits on memory, processor
// and disk (cgroup v1 or v2); packets between them can be dropped or delayed. Elsewhere all of them
// are the loopback interface, and operations that need a network are refused with the reason.
//
// All that it makes has the cluster's id in its name, so that leftovers can be found and removed
// after assay was killed.
//
// It must not know any database product, process or workload. Of assay's other packages it imports
// procfs, which lists the machine's processes.
package machine

import (
	"fmt"
	"net/netip"
	"regexp"
	"sync"
)

// Limits bounds what the processes of one machine may use. Zero means no limit.
type Limits struct {
	// Memory is in bytes, page cache included; CPU in processors; DiskWrite in bytes a second.
	Memory    int64
	CPU       float64
	DiskWrite int64
}

// Options says which machines to make.
type Options struct {
	// ID is eight random hexadecimal digits in lower case, part of all names.
	ID string
	// Names are the machines' names, such as "n1": at most 16 lower-case letters and digits, and
	// not "bridge".
	Names []string
	// Limits and Bandwidth hold for each machine that is not in Unlimited.
	Limits    Limits
	Unlimited []string
	// Bandwidth is in bits a second each way; 0 is no limit. It needs networks of their own.
	Bandwidth int64
	// Dir is on the disk that Limits.DiskWrite means; empty means the folder for temporary files.
	Dir string
}

// UnsupportedError means that this system cannot do what was asked for.
type UnsupportedError struct {
	// What is missing: "a network of its own", "a limit of memory".
	What   string
	Reason string
}

func (e *UnsupportedError) Error() string {
	return fmt.Sprintf("%s cannot be had: %s", e.What, e.Reason)
}

// Direction selects packets as seen from the machine.
type Direction string

const (
	In   Direction = "in"
	Out  Direction = "out"
	Both Direction = "both"
)

// Rule selects packets to drop or delay. A dropped packet gets no answer, as from a cut cable.
type Rule struct {
	Direction Direction
	// Peers are the other addresses; empty means all except the machine itself.
	Peers []netip.Addr
	// Share of the packets is dropped at random: above 0, 1 for all.
	Share float64
}

var (
	idForm   = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[0-9a-f]{8}$`) })
	nameForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z0-9]{1,16}$`) })
)

const bridgeName = "bridge"

func (o Options) check() error {
	if !idForm().MatchString(o.ID) {
		return fmt.Errorf("machines: the id %q is not eight hexadecimal digits in lower case", o.ID)
	}
	seen := map[string]bool{}
	for _, name := range o.Names {
		if err := checkName(name); err != nil {
			return err
		}
		if seen[name] {
			return fmt.Errorf("machines: two have the name %s", name)
		}
		seen[name] = true
	}
	if o.Bandwidth != 0 && (o.Bandwidth < LeastBandwidth || o.Bandwidth > MostBandwidth) {
		return fmt.Errorf("machines: a bandwidth of %d bits a second: want %d to %d", o.Bandwidth, LeastBandwidth, int64(MostBandwidth))
	}
	return o.Limits.check()
}

// Bounds of Options.Bandwidth, in bits a second.
const (
	LeastBandwidth = 100_000
	MostBandwidth  = 100_000_000_000
)

const ownBandwidth = "a limit of each node's bandwidth"

func checkName(name string) error {
	if !nameForm().MatchString(name) || name == bridgeName {
		return fmt.Errorf("machines: the name %q is not at most 16 lower-case letters and digits, or is taken", name)
	}
	return nil
}

// leastCPU is the least that the kernel grants: 1 ms in each period of 100 ms.
const leastCPU = 0.01

func (l Limits) check() error {
	if l.Memory < 0 || l.DiskWrite < 0 || l.CPU != 0 && !(l.CPU >= leastCPU && l.CPU <= 1e6) {
		return fmt.Errorf("machines: limits %+v: none is negative, and the processors' is at least %v", l, leastCPU)
	}
	return nil
}

func (r Rule) check() error {
	if r.Direction != In && r.Direction != Out && r.Direction != Both {
		return fmt.Errorf("drop packets: no direction %q", r.Direction)
	}
	if !(r.Share > 0 && r.Share <= 1) {
		return fmt.Errorf("drop packets: a share of %v is not above 0 and at most 1", r.Share)
	}
	for _, peer := range r.Peers {
		if !peer.Unmap().Is4() {
			return fmt.Errorf("drop packets: %v is no IPv4 address", peer)
		}
	}
	return nil
}
