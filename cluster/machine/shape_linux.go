package machine

import (
	"fmt"

	"github.com/vishvananda/netlink"
)

const (
	// shapeQueue is the longest wait of a packet, in seconds, as in a switch; others are dropped.
	shapeQueue = 0.05
	// shapeBurst is how long an idle link may then send without a pause, in seconds. leastBurst is
	// its least size in bytes: the kernel passes up to 64 KiB of a connection as one packet.
	shapeBurst = 0.004
	leastBurst = 68 << 10
)

// shape limits what a link sends, in bits a second, by a token bucket filter (tc-tbf(8)).
func shape(links *netlink.Handle, name string, bandwidth int64) error {
	link, err := links.LinkByName(name)
	if err != nil {
		return err
	}
	rate := uint64(bandwidth / 8)
	burst := uint32(max(float64(rate)*shapeBurst, leastBurst))
	err = links.QdiscAdd(&netlink.Tbf{
		QdiscAttrs: netlink.QdiscAttrs{LinkIndex: link.Attrs().Index, Parent: netlink.HANDLE_ROOT, Handle: netlink.MakeHandle(1, 0)},
		Rate:       rate, Buffer: netlink.Xmittime(rate, burst), Limit: uint32(float64(rate)*shapeQueue) + burst,
	})
	if err != nil {
		return &UnsupportedError{What: ownBandwidth, Reason: fmt.Sprintf("interface %s: %v (the kernel needs the module sch_tbf: modprobe sch_tbf)", name, err)}
	}
	return nil
}
