package pressure

import (
	"strconv"

	"github.com/vishvananda/netlink"
)

// enterUnix enters connections over sockets in the file system. The accepting end has the name of
// the listening socket.
func (c *connections) enterUnix() {
	all, err := netlink.UnixSocketDiagInfo()
	if err != nil {
		return // they are of no use then
	}
	for _, s := range all {
		inode, name := strconv.FormatUint(uint64(s.DiagMsg.INode), 10), ""
		if inode == noInode {
			continue
		}
		if s.Name != nil && *s.Name != "" {
			name = "unix " + *s.Name
		}
		if s.Peer == nil {
			if name != "" {
				c.listeners[name] = append(c.listeners[name], inode)
			}
			continue
		}
		c.ends[inode] = end{strconv.FormatUint(uint64(*s.Peer), 10), name}
	}
}
