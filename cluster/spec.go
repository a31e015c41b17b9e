package cluster

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/shirou/gopsutil/v4/mem"

	"assay/cluster/machine"
	"assay/internal/quantity"
	"assay/internal/spelling"
)

// Spec asks for a cluster, such as "mongodb:3" or
// "postgres:2,memory=400MiB,cpu=1,set.work_mem=16MB".
type Spec struct {
	Product string
	// Nodes hold data; Arbiters only vote.
	Nodes, Arbiters int
	// Limits hold for each node; a zero field is no limit.
	Limits machine.Limits
	// Disk is one of Disks if each node has a disk of its own, whose power can be cut.
	Disk string
	// FS is one of Filesystems for DiskImage; empty for ext4.
	FS string
	// Network is NetworkOwn, NetworkLoopback, or empty for NetworkOwn if the machine allows it.
	Network string
	// Bandwidth of each node's link is in bits a second; 0 is no limit. It needs NetworkOwn.
	Bandwidth int64
	// Options are the product's own, by name.
	Options    map[string]string
	Parameters []Parameter
}

// Networks of a cluster's nodes (Spec.Network).
const (
	// NetworkOwn gives each node a network namespace with its own address.
	NetworkOwn = "own"
	// NetworkLoopback has all nodes on the loopback interface.
	NetworkLoopback = "loopback"
)

// SpecError means that a cluster cannot be built.
type SpecError struct {
	// Spec is the text, Part is wrong, and Want says what is right.
	Spec, Part, Want string
}

func (e *SpecError) Error() string {
	return fmt.Sprintf("cluster %q: %s; want %s", e.Spec, e.Part, e.Want)
}

type topology struct {
	name string
	// scheme begins the addresses, without the colon; empty for the name.
	scheme     string
	nodes      []int // allowed counts of data nodes
	arbiters   []int // allowed counts of arbiters
	options    []option
	parameters parameters
	// roles are the servers beside the nodes.
	roles []role
	// noFailover says what to use instead of failover=DURATION, which specs once had for
	// promotions by assay; empty if the product has that option or never had it.
	noFailover string
}

type option struct {
	name string
	want string
	// check returns false for a value that cannot be used.
	check func(value string) bool
	// parameters are the server's parameters that the option sets, as plainName writes them.
	parameters []string
	// needs is another option that this one requires; empty if there is none.
	needs string
}

// fits demands an odd number of voters if there is an arbiter.
func (t topology) fits(nodes, arbiters int) bool { return arbiters == 0 || nodes%2 == 0 }

func (t topology) specs() []string {
	var all []string
	for _, n := range t.nodes {
		for _, a := range t.arbiters {
			if t.fits(n, a) {
				all = append(all, Spec{Product: t.name, Nodes: n, Arbiters: a}.String())
			}
		}
	}
	return all
}

func oneOf(values ...string) func(string) bool {
	return func(v string) bool { return slices.Contains(values, v) }
}

func aDuration(v string) bool {
	d, err := time.ParseDuration(v)
	return err == nil && d > 0 && d <= time.Hour
}

// secondsFrom accepts whole seconds, from least up to an hour.
func secondsFrom(least int) func(string) bool {
	return func(v string) bool {
		d, err := time.ParseDuration(v)
		return err == nil && d >= time.Duration(least)*time.Second && d <= time.Hour && d%time.Second == 0
	}
}

func aCount(v string) bool {
	n, err := strconv.Atoi(v)
	return err == nil && n > 0 && n <= 10000
}

func aSize(v string) bool {
	n, err := quantity.Parse(v)
	return err == nil && n > 0
}

// ParseSpec reads PRODUCT:NODES[+arbiter][,OPTION=VALUE...]. A value with a comma needs single
// quotes, in which two quotes stand for one. If a spec cannot be built the error is a *SpecError,
// which names what can.
func ParseSpec(text string) (Spec, error) {
	head, rest, more := strings.Cut(text, ",")
	name, count, counted := strings.Cut(head, ":")
	t, known := topologyOf(name)
	if !known {
		want := "one of " + strings.Join(Products(), ", ") + ", such as mongodb:3" + spelling.Hint(name, "", Products())
		return Spec{}, &SpecError{Spec: text, Part: fmt.Sprintf("no product %q", name), Want: want}
	}
	bad := func(part, want string) (Spec, error) {
		return Spec{}, &SpecError{Spec: text, Part: part, Want: want}
	}
	s := Spec{Product: t.name, Options: map[string]string{}}
	count, arbiter, hasArbiter := strings.Cut(count, "+")
	nodes, err := strconv.Atoi(count)
	s.Nodes = nodes
	if hasArbiter {
		if arbiter != "arbiter" {
			return bad(fmt.Sprintf("%q after the +", arbiter), "+arbiter, or nothing")
		}
		s.Arbiters = 1
	}
	if !counted || err != nil || !slices.Contains(t.nodes, nodes) || !slices.Contains(t.arbiters, s.Arbiters) {
		return bad(fmt.Sprintf("%s cannot be built as %q", t.name, head), strings.Join(t.specs(), ", "))
	}
	if !t.fits(nodes, s.Arbiters) {
		return bad("an arbiter beside an odd number of data nodes makes the number of voters even", strings.Join(t.specs(), ", "))
	}
	if !more {
		return s, nil
	}
	items, open := splitOptions(rest)
	if open != "" {
		return bad(fmt.Sprintf("option %q", open), "a value in single quotes that ends with one, before a comma or the end")
	}
	for _, item := range items {
		name, value, found := strings.Cut(item, "=")
		if !found {
			return bad(fmt.Sprintf("option %q has no value", item), "NAME=VALUE, such as memory=400MiB")
		}
		if want := s.set(t, name, unquoted(value)); want != "" {
			return bad(fmt.Sprintf("option %q", item), want)
		}
	}
	if s.FS != "" && s.Limits.DiskWrite == 0 {
		s.Disk = cmp.Or(s.Disk, DiskImage)
	}
	if part, want := s.clash(t); part != "" {
		return bad(part, want)
	}
	return s, nil
}

// set returns what to use instead if the option is refused.
func (s *Spec) set(t topology, name, value string) (want string) {
	if parameter, is := strings.CutPrefix(name, parameterPrefix); is {
		return s.setParameter(t, parameter, value)
	}
	switch name {
	case "memory", "disk":
		if name == "disk" && slices.Contains(Disks(), value) {
			s.Disk = value
			return s.diskOnce()
		}
		bytes, err := quantity.Parse(value)
		if err != nil || bytes < 1<<20 {
			want := name + "=SIZE of at least 1MiB, such as 400MiB or 2GiB"
			if name == "disk" {
				want += ", to be written a second, or disk=" + strings.Join(Disks(), " or disk=") + ", of its own for each node"
			}
			return want
		}
		if name == "memory" {
			s.Limits.Memory = bytes
		} else {
			s.Limits.DiskWrite = bytes
			return s.diskOnce()
		}
	case "fs":
		if !slices.Contains(Filesystems(), value) {
			return "fs=" + strings.Join(Filesystems(), " or fs=")
		}
		s.FS = value
	case "cpu":
		cpus, err := strconv.ParseFloat(value, 64)
		if err != nil || !(cpus >= 0.01 && cpus <= 1024) {
			return "cpu=PROCESSORS, such as 0.5 or 2"
		}
		s.Limits.CPU = cpus
	case "network":
		if value != NetworkOwn && value != NetworkLoopback {
			return "network=own or network=loopback"
		}
		s.Network = value
	case "bandwidth":
		bits, err := quantity.ParseBits(value)
		if err != nil || bits < machine.LeastBandwidth || bits > machine.MostBandwidth {
			return "bandwidth=BITS, of 100kbit to 100Gbit a second each way, such as 1Gbit"
		}
		s.Bandwidth = bits
	default:
		for _, o := range t.options {
			if o.name == name {
				if !o.check(value) {
					return o.want
				}
				s.Options[name] = value
				return ""
			}
		}
		if name == "failover" && t.noFailover != "" {
			return t.noFailover
		}
		names := OptionNames(t.name)
		if t.parameters.example != "" {
			names = append(names, parameterPrefix+"NAME")
		}
		return t.name + "'s options: " + strings.Join(names, ", ") + spelling.Hint(name, "", names)
	}
	return ""
}

// OptionNames lists the options for a product's specs: first the options of all products, then its
// own.
func OptionNames(product string) []string {
	names := []string{"memory", "disk", "fs", "cpu", "network", "bandwidth"}
	t, _ := topologyOf(product)
	for _, o := range t.options {
		names = append(names, o.name)
	}
	return names
}

// diskOnce refuses a disk limit together with a disk of its own: the kernel writes that disk's data
// to the machine's, outside the limit.
func (s *Spec) diskOnce() (want string) {
	if s.Disk != "" && s.Limits.DiskWrite > 0 {
		return "either disk=SIZE, a limit on the machine's disk, or disk=" + s.Disk + ", to which it does not apply"
	}
	return ""
}

// String is the spec as ParseSpec reads it.
func (s Spec) String() string {
	text := fmt.Sprintf("%s:%d", s.Product, s.Nodes)
	if s.Arbiters > 0 {
		text += "+arbiter"
	}
	if s.Limits.Memory > 0 {
		text += ",memory=" + quantity.FormatBinary(s.Limits.Memory)
	}
	if s.Limits.CPU > 0 {
		text += ",cpu=" + strconv.FormatFloat(s.Limits.CPU, 'g', -1, 64)
	}
	if s.Limits.DiskWrite > 0 {
		text += ",disk=" + quantity.FormatBinary(s.Limits.DiskWrite)
	}
	if s.Disk != "" {
		text += ",disk=" + s.Disk
	}
	if s.FS != "" {
		text += ",fs=" + s.FS
	}
	if s.Network != "" {
		text += ",network=" + s.Network
	}
	if s.Bandwidth > 0 {
		text += ",bandwidth=" + quantity.FormatBits(s.Bandwidth)
	}
	names := make([]string, 0, len(s.Options))
	for name := range s.Options {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		text += "," + name + "=" + s.Options[name]
	}
	for _, p := range s.Parameters {
		text += "," + parameterPrefix + p.Name + "=" + quoted(p.Value)
	}
	return text
}

// Alike reports whether two specs have the same servers, limits, networks and disks, and at most
// other options and parameters.
func (s Spec) Alike(other Spec) bool {
	return s.Product == other.Product && s.Limits == other.Limits && s.Disk == other.Disk && s.FS == other.FS && s.Network == other.Network && s.Bandwidth == other.Bandwidth && slices.Equal(s.Members(), other.Members())
}

func (s Spec) names() []string {
	var names []string
	for i := range s.Nodes + s.Arbiters {
		names = append(names, "n"+strconv.Itoa(i+1))
	}
	return names
}

// duration returns the value of an option that ParseSpec has checked; 0 if not given. So do count
// and size.
func (s Spec) duration(name string) time.Duration {
	d, _ := time.ParseDuration(s.Options[name]) // checked by ParseSpec
	return d
}

func (s Spec) count(name string) int {
	n, _ := strconv.Atoi(s.Options[name]) // checked by ParseSpec
	return n
}

func (s Spec) size(name string) int64 {
	n, _ := quantity.Parse(s.Options[name]) // checked by ParseSpec
	return n
}

// memory is each node's limit in bytes, or its share of this machine's memory; 0 if unknown.
func (s Spec) memory() int64 {
	if s.Limits.Memory > 0 {
		return s.Limits.Memory
	}
	machine, err := mem.VirtualMemory()
	if err != nil {
		return 0
	}
	return int64(machine.Total) / int64(s.Nodes)
}
