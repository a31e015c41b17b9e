package pressure

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"assay/internal/procfs"
)

// Connected finds the servers on this machine that assay works on, whatever their names. These are
// the processes at the other ends of its connections, and the processes that these connect to (a
// pooler does). Further members of a cluster have the same program and a connection to one of
// these. Children belong too. testers are the tester's other processes; nil for none.
func Connected(testers func() []int) Database {
	found := map[int]bool{}
	hidden := false
	var next time.Time
	return Database{
		Tester: testers,
		Servers: func() []int {
			all := readProcesses()
			if start := time.Now(); !start.Before(next) {
				hidden = findServers(all, found, append(testersOf(testers), os.Getpid()))
				next = time.Now().Add(costliest * time.Since(start))
			}
			owners := []int{}
			for pid := range found {
				owners = append(owners, pid)
			}
			return family(all, owners)
		},
		Perhaps: func(p procfs.Process) bool {
			if !hidden || !isServer(p.Name) && !isRelay(p.Name) {
				return false
			}
			_, err := os.ReadDir(filepath.Join("/proc", strconv.Itoa(p.PID), "fd"))
			return err != nil
		},
	}
}

func testersOf(testers func() []int) []int {
	if testers == nil {
		return nil
	}
	return slices.Clone(testers())
}

// findServers adds servers to found and removes ended ones. hidden means that the process at the
// other end of a connection cannot be inspected.
func findServers(all []procfs.Process, found map[int]bool, testers []int) (hidden bool) {
	names := map[int]string{}
	for _, p := range all {
		names[p.PID] = p.Name
	}
	for pid := range found {
		if _, lives := names[pid]; !lives {
			delete(found, pid)
		}
	}
	c := readConnections()
	queue := slices.Clone(testers)
	for pid := range found {
		queue = append(queue, pid)
	}
	enter := func(pids []int, wanted func(pid int) bool) {
		for _, pid := range pids {
			if !found[pid] && !slices.Contains(testers, pid) && wanted(pid) {
				found[pid] = true
				queue = append(queue, pid)
			}
		}
	}
	for ; len(queue) > 0; queue = queue[1:] {
		pid := queue[0]
		for _, inode := range c.of[pid] {
			end, connected := c.ends[inode]
			if !connected || end.peer == "" {
				continue
			}
			if peer := c.ends[end.peer]; peer.accepted != "" {
				enter(c.owners[end.peer], func(int) bool { return true })
				for _, listener := range c.listeners[peer.accepted] {
					enter(c.owners[listener], func(int) bool { return true })
				}
				owned := func(inode string) bool { return len(c.owners[inode]) > 0 }
				hidden = hidden || !owned(end.peer) && !slices.ContainsFunc(c.listeners[peer.accepted], owned)
			} else if !slices.Contains(testers, pid) {
				enter(c.owners[end.peer], func(other int) bool { return names[other] == names[pid] })
			}
		}
	}
	return hidden
}

type end struct {
	// peer is the inode of the other end's socket; empty if it is elsewhere.
	peer string
	// accepted is the listening address if this end accepted the connection.
	accepted string
}

// connections are this machine's connections, by the inodes of their sockets.
type connections struct {
	ends      map[string]end
	listeners map[string][]string // by where they listen
	owners    map[string][]int
	of        map[int][]string
}

// readConnections reads the visible connections (proc(5), /proc/net/tcp and /proc/PID/fd;
// sock_diag(7)).
func readConnections() *connections {
	c := &connections{ends: map[string]end{}, listeners: map[string][]string{}}
	c.owners, c.of = socketOwners()
	var tables [][]tcpSocket
	seen := map[string]bool{}
	own, _ := os.Readlink("/proc/self/ns/net") // without it, the namespace has an empty name
	for _, namespace := range append([]string{"/proc/self"}, processFolders(c.of)...) {
		name, err := os.Readlink(namespace + "/ns/net")
		if name == "" && namespace == "/proc/self" {
			name, err = own, nil
		}
		if err == nil && !seen[name] {
			seen[name] = true
			tables = append(tables, readTCP(namespace))
		}
	}
	c.enterTCP(tables)
	c.enterUnix()
	return c
}

// socketOwners maps each socket's inode to its processes, and each process to its sockets.
func socketOwners() (owners map[string][]int, of map[int][]string) {
	owners, of = map[string][]int{}, map[int][]string{}
	links, _ := filepath.Glob("/proc/[0-9]*/fd/*") // fails for a malformed pattern only
	for _, link := range links {
		to, err := os.Readlink(link)
		if err != nil || !strings.HasPrefix(to, "socket:[") {
			continue
		}
		pid, err := strconv.Atoi(strings.Split(link, "/")[2])
		if inode := strings.Trim(to, "socket:[]"); err == nil && !slices.Contains(owners[inode], pid) {
			owners[inode] = append(owners[inode], pid)
			of[pid] = append(of[pid], inode)
		}
	}
	return owners, of
}

func processFolders(of map[int][]string) (all []string) {
	for pid := range of {
		all = append(all, "/proc/"+strconv.Itoa(pid))
	}
	return all
}

// tcpSocket is a line of /proc/net/tcp, with its addresses. IPv4 addresses have four bytes.
type tcpSocket struct {
	local, remote, inode string
	listens, connected   bool
}

// noInode is the inode of all connections that the server has not accepted yet.
const noInode = "0"

func readTCP(process string) (all []tcpSocket) {
	for _, table := range []string{"/net/tcp", "/net/tcp6"} {
		text, err := os.ReadFile(process + table)
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(text)) {
			const local, remote, state, inode, listens, established = 1, 2, 3, 9, "0A", "01"
			if fields := strings.Fields(line); len(fields) > inode && (fields[state] == listens || fields[state] == established) {
				// The other end of an IPv4 connection may be an IPv6 socket.
				s := tcpSocket{strings.TrimPrefix(fields[local], mappedIPv4), strings.TrimPrefix(fields[remote], mappedIPv4), fields[inode],
					fields[state] == listens, fields[state] == established}
				if s.inode == noInode {
					s.inode = s.local + " " + s.remote
				}
				all = append(all, s)
			}
		}
	}
	return all
}

// mappedIPv4 begins IPv4 addresses of IPv6 sockets. loopbackIPv4 ends loopback addresses, in the
// kernel's byte order.
const mappedIPv4, loopbackIPv4, loopbackIPv6 = "0000000000000000FFFF0000", "7F", "00000000000000000000000001000000"

func portOf(address string) string { return address[strings.LastIndexByte(address, ':')+1:] }

func isLoopback(address string) bool {
	host, _, _ := strings.Cut(address, ":")
	return host == loopbackIPv6 || len(host) == 8 && strings.HasSuffix(host, loopbackIPv4)
}

// enterTCP enters the sockets of each network namespace. On the way to another namespace, the
// server's address may be translated, but not the client's.
func (c *connections) enterTCP(namespaces [][]tcpSocket) {
	where := func(namespace int, address string) string {
		if isLoopback(address) {
			return strconv.Itoa(namespace) + " " + address
		}
		return address
	}
	byRemote := map[string]string{} // inodes, by the address of the other end
	for n, sockets := range namespaces {
		for _, s := range sockets {
			if s.listens {
				at := strconv.Itoa(n) + " " + portOf(s.local)
				c.listeners[at] = append(c.listeners[at], s.inode)
			} else {
				byRemote[where(n, s.remote)+" "+portOf(s.local)] = s.inode
			}
		}
	}
	for n, sockets := range namespaces {
		for _, s := range sockets {
			if !s.connected {
				continue
			}
			e := end{peer: byRemote[where(n, s.local)+" "+portOf(s.remote)]}
			if at := strconv.Itoa(n) + " " + portOf(s.local); len(c.listeners[at]) > 0 {
				e.accepted = at
			}
			c.ends[s.inode] = e
		}
	}
}
