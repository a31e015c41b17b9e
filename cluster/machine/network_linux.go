package machine

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"syscall"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

const (
	ownNetwork = "a network of its own for each node"
	// prefix begins all names.
	prefix = "assay-"
	// hostPort is the bridge's end of the link to this host.
	hostPort = "host"
	// The last numbers of this process's address, and of the first and last machine's.
	clientHost, firstHost, lastHost = 1, 11, 254
)

// benchmarkNetwork should have no other computers (RFC 2544, appendix C.2.2).
func benchmarkNetwork() netip.Prefix { return netip.MustParsePrefix("198.18.0.0/15") }

// network joins a cluster's machines and this host by a bridge. The bridge is in a namespace of its
// own, out of reach of the host's rules for bridged packets. A pair of interfaces leads to the
// host, where its end is called assay-ID.
type network struct {
	id      string
	host    *os.File // the namespace of this process
	bridge  *namespace
	subnet  netip.Prefix
	used    int // so many addresses were given to machines
	members []*namespace
}

func openNetwork(id string) (*network, error) {
	if os.Geteuid() != 0 {
		return nil, &UnsupportedError{What: ownNetwork, Reason: "it takes root (run assay as root, or with network=loopback)"}
	}
	host, err := os.Open(currentNamespace)
	if err != nil {
		return nil, unsupported(err)
	}
	n := &network{id: id, host: host}
	// Making this name claims all names with this id.
	if n.bridge, err = makeNamespace(prefix + id + "-" + bridgeName); err != nil {
		return nil, errors.Join(unsupported(err), host.Close())
	}
	err = n.bridge.inside(func() error { return onLinks(n.makeBridge) })
	if err == nil {
		withoutIPv6(prefix + id)
		err = onLinks(func(links *netlink.Handle) error { return n.join(links, prefix+id, hostPort) })
	}
	if err == nil {
		err = onLinks(n.claim)
	}
	if err != nil {
		return nil, errors.Join(unsupported(err), n.close())
	}
	return n, nil
}

func unsupported(err error) error {
	var known *UnsupportedError
	switch {
	case err == nil || errors.As(err, &known):
		return err
	case errors.Is(err, os.ErrPermission), errors.Is(err, unix.EROFS):
		return &UnsupportedError{What: ownNetwork, Reason: fmt.Sprintf("%v (in a container: it must be a privileged one)", err)}
	case errors.Is(err, unix.EOPNOTSUPP), errors.Is(err, unix.EPROTONOSUPPORT), errors.Is(err, unix.EAFNOSUPPORT),
		errors.Is(err, unix.ENOSYS), errors.Is(err, unix.EINVAL):
		return &UnsupportedError{What: ownNetwork,
			Reason: fmt.Sprintf("%v (the kernel needs network namespaces, veth, bridge and nf_tables; some are modules: modprobe veth bridge nf_tables)", err)}
	}
	return err
}

// makeBridge must run inside the bridge's namespace.
func (n *network) makeBridge(links *netlink.Handle) error {
	attributes := netlink.NewLinkAttrs()
	attributes.Name = bridgeName
	if err := links.LinkAdd(&netlink.Bridge{LinkAttrs: attributes}); err != nil {
		return fmt.Errorf("make a bridge: %w", err)
	}
	if err := awaitUp(links, bridgeName, false); err != nil {
		return err
	}
	return n.plug(links, hostPort, prefix+n.id, n.host)
}

// plug makes a pair of interfaces, down: port on the bridge, peer in the namespace of file. It must
// run inside the bridge's namespace.
func (n *network) plug(links *netlink.Handle, port, peer string, file *os.File) error {
	bridge, err := links.LinkByName(bridgeName)
	if err != nil {
		return err
	}
	attributes := netlink.NewLinkAttrs()
	attributes.Name = port
	attributes.MasterIndex = bridge.Attrs().Index
	pair := &netlink.Veth{LinkAttrs: attributes, PeerName: peer, PeerNamespace: netlink.NsFd(int(file.Fd()))}
	if err := links.LinkAdd(pair); err != nil {
		return fmt.Errorf("make the interfaces %s and %s: %w", port, peer, err)
	}
	return nil
}

// awaitUp sets an interface up. With wait, whose peer must be up, it returns when packets pass: the
// kernel readies the interface in the background, drops its packets until then, and TCP would lose
// a second by that.
func awaitUp(links *netlink.Handle, name string, wait bool) error {
	link, err := links.LinkByName(name)
	if err == nil {
		err = links.LinkSetUp(link)
	}
	for deadline := time.Now().Add(5 * time.Second); err == nil && wait; time.Sleep(time.Millisecond) {
		link, err = links.LinkByName(name)
		if err == nil && link.Attrs().OperState == netlink.OperUp {
			return nil
		}
		if time.Now().After(deadline) {
			err = errors.New("it is not up after 5 s")
		}
	}
	if err != nil {
		return fmt.Errorf("interface %s: %w", name, err)
	}
	return nil
}

func onLinks(do func(*netlink.Handle) error) error {
	links, err := netlink.NewHandle(unix.NETLINK_ROUTE)
	if err != nil {
		return err
	}
	defer links.Close()
	return do(links)
}

// claim gives the host's end an address in an unused subnet. If several claim it at once the kernel
// decides: it refuses a second route to a subnet.
func (n *network) claim(links *netlink.Handle) error {
	end, err := links.LinkByName(prefix + n.id)
	if err != nil {
		return err
	}
	taken, err := hostNetworks(links)
	if err != nil {
		return err
	}
	return n.take(links, end, freeSubnets(taken))
}

func (n *network) take(links *netlink.Handle, end netlink.Link, free []netip.Prefix) error {
	for _, subnet := range free {
		err := links.RouteAdd(&netlink.Route{
			LinkIndex: end.Attrs().Index, Scope: netlink.SCOPE_LINK, Dst: toIPNet(subnet),
		})
		if errors.Is(err, unix.EEXIST) {
			continue // since we looked
		}
		if err != nil {
			return fmt.Errorf("route to %v: %w", subnet, err)
		}
		n.subnet = subnet
		// The prefix of an address would be a second route, so it has all 32 bits.
		return links.AddrAdd(end, &netlink.Addr{IPNet: toIPNet(netip.PrefixFrom(n.client(), 32))})
	}
	return &UnsupportedError{What: ownNetwork,
		Reason: fmt.Sprintf("this host has addresses or routes in each part of %v (see ip route show table all)", benchmarkNetwork())}
}

func hostNetworks(links *netlink.Handle) ([]netip.Prefix, error) {
	var taken []netip.Prefix
	addresses, err := links.AddrList(nil, netlink.FAMILY_V4)
	if err != nil {
		return nil, fmt.Errorf("list addresses: %w", err)
	}
	for _, a := range addresses {
		taken = append(taken, toPrefix(a.IPNet))
	}
	routes, err := links.RouteListFiltered(netlink.FAMILY_V4, &netlink.Route{Table: unix.RT_TABLE_UNSPEC}, netlink.RT_FILTER_TABLE)
	if err != nil {
		return nil, fmt.Errorf("list routes: %w", err)
	}
	for _, r := range routes {
		if r.Dst != nil {
			taken = append(taken, toPrefix(r.Dst))
		}
	}
	return taken, nil
}

// freeSubnets returns in random order the subnets of the reserved network that overlap none taken.
func freeSubnets(taken []netip.Prefix) []netip.Prefix {
	base := benchmarkNetwork().Addr().As4()
	var free []netip.Prefix
	for _, i := range rand.Perm(512) {
		subnet := netip.PrefixFrom(netip.AddrFrom4([4]byte{base[0], base[1] + byte(i>>8), byte(i), 0}), 24)
		used := false
		for _, t := range taken {
			used = used || t.Bits() > 0 && t.Overlaps(subnet)
		}
		if !used {
			free = append(free, subnet)
		}
	}
	return free
}

func toPrefix(n *net.IPNet) netip.Prefix {
	address, _ := netip.AddrFromSlice(n.IP)
	bits, _ := n.Mask.Size()
	return netip.PrefixFrom(address.Unmap(), bits)
}

func toIPNet(p netip.Prefix) *net.IPNet {
	return &net.IPNet{IP: p.Addr().AsSlice(), Mask: net.CIDRMask(p.Bits(), 32)}
}

func (n *network) address(host int) netip.Addr {
	bytes := n.subnet.Addr().As4()
	bytes[3] = byte(host)
	return netip.AddrFrom4(bytes)
}

func (n *network) client() netip.Addr { return n.address(clientHost) }

// add makes a namespace with an interface eth0 to the bridge; a bandwidth of 0 is no limit. It is
// not safe for concurrent use.
func (n *network) add(name string, bandwidth int64) (*namespace, netip.Addr, error) {
	host := firstHost + n.used
	if host > lastHost {
		return nil, netip.Addr{}, fmt.Errorf("there are addresses for %d machines only", lastHost-firstHost+1)
	}
	n.used++ // never given twice, even if this fails
	space, err := makeNamespace(prefix + n.id + "-" + name)
	if err != nil {
		return nil, netip.Addr{}, unsupported(err)
	}
	address := n.address(host)
	port := portName(address)
	err = n.connect(space, port, address)
	if err == nil && bandwidth > 0 {
		err = n.limit(space, port, bandwidth)
	}
	if err != nil {
		return nil, netip.Addr{}, errors.Join(unsupported(err), space.close(), removeNamespace(space.name))
	}
	n.members = append(n.members, space)
	return space, address, nil
}

func (n *network) connect(space *namespace, port string, address netip.Addr) error {
	file, err := space.handle()
	if err != nil {
		return err
	}
	defer file.Close()
	err = n.bridge.inside(func() error {
		return onLinks(func(links *netlink.Handle) error { return n.plug(links, port, "eth0", file) })
	})
	if err != nil {
		return err
	}
	return space.inside(func() error {
		return onLinks(func(links *netlink.Handle) error {
			end, err := links.LinkByName("eth0")
			if err != nil {
				return err
			}
			mask := netip.PrefixFrom(address, n.subnet.Bits())
			if err := links.AddrAdd(end, &netlink.Addr{IPNet: toIPNet(mask)}); err != nil {
				return fmt.Errorf("address %v: %w", address, err)
			}
			return n.join(links, "eth0", port)
		})
	})
}

func (n *network) limit(space *namespace, port string, bandwidth int64) error {
	for at, name := range map[*namespace]string{space: "eth0", n.bridge: port} {
		err := at.inside(func() error {
			return onLinks(func(links *netlink.Handle) error { return shape(links, name, bandwidth) })
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// join sets both ends of a pair up, and returns when packets pass. end is in the thread's
// namespace.
func (n *network) join(links *netlink.Handle, end, port string) error {
	if err := awaitUp(links, end, false); err != nil {
		return err
	}
	err := n.bridge.inside(func() error {
		return onLinks(func(links *netlink.Handle) error { return awaitUp(links, port, true) })
	})
	if err != nil {
		return err
	}
	return awaitUp(links, end, true)
}

// prove checks that packets can be dropped and that no firewall of this host blocks the machines.
func (n *network) prove(machines []*Machine) error {
	const table = "assay_proof"
	err := n.bridge.drop(table, Rule{Direction: Both, Share: 1})
	if err == nil {
		err = n.bridge.undrop(table)
	}
	if err != nil {
		return unsupported(fmt.Errorf("drop packets: %w", err))
	}
	if len(machines) == 0 {
		return nil
	}
	// Nothing listens on port 1, so the machine refuses at once.
	at := netip.AddrPortFrom(machines[0].address, 1)
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
	defer cancel()
	conn, err := new(net.Dialer).DialContext(ctx, "tcp4", at.String())
	switch {
	case err == nil:
		return errors.Join(fmt.Errorf("somebody else answers at %v", at), conn.Close())
	case !errors.Is(err, syscall.ECONNREFUSED):
		return &UnsupportedError{What: ownNetwork,
			Reason: fmt.Sprintf("this host does not reach it (%v): does a firewall drop packets to %v?", err, benchmarkNetwork())}
	}
	return nil
}

func (n *network) close() error {
	var failed []error
	for _, member := range n.members {
		failed = append(failed, member.close())
	}
	n.members = nil
	if n.bridge != nil {
		failed = append(failed, n.bridge.close())
	}
	failed = append(failed, removeNetwork(n.id))
	if err := errors.Join(failed...); err != nil {
		return err
	}
	return n.host.Close()
}
