package pressure

import (
	"fmt"
	"net"
	"slices"
	"strconv"

	"assay/internal/procfs"
)

// ServerAt returns the processes of this machine's server that listens at host:port: the port's
// holders and their descendants. If there are none, each call looks again, since a server may
// restart. why says why the processes are unknown; empty if they are known.
func ServerAt(address string) (processes func() []int, why string) {
	host, port, err := net.SplitHostPort(address)
	if err != nil || !isHere(host, ownAddresses()) {
		return nil, address + " is not an address of this machine, and its machine is not asked"
	}
	owners := portHolders(port)
	if len(owners) == 0 {
		return nil, "who listens on " + address + " cannot be seen: only Linux tells, and only to the same user or to root"
	}
	for _, p := range readProcesses() {
		if slices.Contains(owners, p.PID) && !isServer(p.Name) {
			return nil, p.Name + " listens on " + address + ", and the server behind it is not known"
		}
	}
	return func() []int {
		found := family(readProcesses(), owners)
		if len(found) == 0 {
			owners = portHolders(port)
			found = family(readProcesses(), owners)
		}
		return found
	}, ""
}

func family(all []procfs.Process, owners []int) (found []int) {
	table, seen := procfs.TableOf(all), map[int]bool{}
	for _, owner := range owners {
		for _, p := range table.Tree(owner) {
			if !seen[p.PID] {
				seen[p.PID] = true
				found = append(found, p.PID)
			}
		}
	}
	return found
}

func ownAddresses() []net.IP {
	var own []net.IP
	interfaces, err := net.InterfaceAddrs()
	if err != nil {
		return nil
	}
	for _, a := range interfaces {
		if n, is := a.(*net.IPNet); is {
			own = append(own, n.IP)
		}
	}
	return own
}

func isHere(host string, own []net.IP) bool {
	if host == "localhost" || host == "" {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && (ip.IsLoopback() || slices.ContainsFunc(own, ip.Equal))
}

// portHolders are the visible processes that listen on a TCP port of this machine.
func portHolders(port string) (holders []int) {
	number, err := strconv.Atoi(port)
	if err != nil {
		return nil
	}
	sockets := slices.DeleteFunc(readTCP("/proc/self"), func(s tcpSocket) bool {
		return !s.listens || portOf(s.local) != fmt.Sprintf("%04X", number)
	})
	if len(sockets) == 0 { // while the server is down; finding the owners is slower
		return nil
	}
	owners, _ := socketOwners()
	for _, s := range sockets {
		holders = append(holders, owners[s.inode]...)
	}
	slices.Sort(holders)
	return slices.Compact(holders)
}
