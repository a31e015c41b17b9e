package machine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// relay delays packets without the kernel's netem, which many kernels lack. It stands between a
// machine's port and the bridge, copies the frames of each side to the other, and holds back those
// that match its rule. If assay is killed a port without a bridge is left, in a namespace that is
// removed with the cluster.
type relay struct {
	bridge *namespace
	port   string
	rule   Rule
	by     time.Duration

	link, tap *os.File // the machine's side, and the bridge's
	packets   atomic.Int64
	stop      context.CancelFunc
	stopped   context.Context
	passing   sync.WaitGroup
}

// CanDelay returns an *UnsupportedError if packets of machines cannot be delayed here.
func CanDelay() error {
	fd, err := openTun()
	if err != nil {
		return err
	}
	return unix.Close(fd)
}

func openTun() (fd int, err error) {
	const device = "/dev/net/tun"
	if fd, err = unix.Open(device, unix.O_RDWR|unix.O_CLOEXEC|unix.O_NONBLOCK, 0); err != nil {
		return 0, &UnsupportedError{What: ownDelay, Reason: device + ": " + err.Error() + " (the kernel needs the module tun: modprobe tun; a container must have the device)"}
	}
	return fd, nil
}

func (n *namespace) delay(port string, r Rule, by time.Duration) (*relay, error) {
	d := &relay{bridge: n, port: port, rule: r, by: by}
	d.stopped, d.stop = context.WithCancel(context.Background())
	err := n.inside(func() (err error) {
		tap := "d" + port
		if d.tap, err = openTap(tap); err != nil {
			return err
		}
		return onLinks(func(links *netlink.Handle) (err error) {
			if d.link, err = openLink(links, port); err != nil {
				return err
			}
			if err = errors.Join(attach(links, tap, bridgeName), awaitUp(links, tap, false)); err == nil {
				err = attach(links, port, "")
			}
			return err
		})
	})
	if err != nil {
		return nil, errors.Join(err, d.end())
	}
	for _, side := range sides(Both) {
		from, to := d.tap, d.link
		if side.chain == "output" {
			from, to = to, from
		}
		d.passing.Go(func() { d.pass(from, to, side) })
	}
	return d, nil
}

func (d *relay) end() error {
	d.stop()
	var failed []error
	files := slices.DeleteFunc([]*os.File{d.tap, d.link}, func(f *os.File) bool { return f == nil })
	for _, f := range files {
		failed = append(failed, f.SetReadDeadline(time.Now()))
	}
	d.passing.Wait()
	for _, f := range files {
		failed = append(failed, f.Close())
	}
	err := d.bridge.inside(func() error {
		return onLinks(func(links *netlink.Handle) error { return attach(links, d.port, bridgeName) })
	})
	return errors.Join(append(failed, err)...)
}

// attach moves an interface to a bridge, or takes it off its bridge if the bridge's name is empty.
func attach(links *netlink.Handle, name, bridge string) error {
	link, err := links.LinkByName(name)
	if err != nil {
		return err
	}
	if bridge == "" {
		return links.LinkSetNoMaster(link)
	}
	to, err := links.LinkByName(bridge)
	if err != nil {
		return err
	}
	return links.LinkSetMaster(link, to)
}

// openTap makes an interface in the thread's namespace. Each read and write of the file is a frame
// behind a header with its offload state (Documentation/networking/tuntap.rst). Closing the file
// removes the interface.
func openTap(name string) (*os.File, error) {
	fd, err := openTun()
	if err != nil {
		return nil, err
	}
	request, err := unix.NewIfreq(name)
	if err == nil {
		request.SetUint16(unix.IFF_TAP | unix.IFF_NO_PI | unix.IFF_VNET_HDR)
		err = unix.IoctlIfreq(fd, unix.TUNSETIFF, request)
	}
	if err == nil {
		err = unix.IoctlSetInt(fd, unix.TUNSETOFFLOAD, unix.TUN_F_CSUM|unix.TUN_F_TSO4)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("make the interface %s: %w", name, err), unix.Close(fd))
	}
	return os.NewFile(uintptr(fd), name), nil
}

// openLink reads the frames that an interface receives and sends the frames that are written, with
// the header of openTap (packet(7)).
func openLink(links *netlink.Handle, name string) (*os.File, error) {
	link, err := links.LinkByName(name)
	if err != nil {
		return nil, err
	}
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("read the frames of %s: %w", name, err)
	}
	for _, option := range []int{unix.PACKET_VNET_HDR, unix.PACKET_IGNORE_OUTGOING} {
		if err == nil {
			err = unix.SetsockoptInt(fd, unix.SOL_PACKET, option, 1)
		}
	}
	for _, buffer := range []int{unix.SO_RCVBUFFORCE, unix.SO_SNDBUFFORCE} { // the usual ones hold three frames of 64 KiB
		if err == nil {
			err = unix.SetsockoptInt(fd, unix.SOL_SOCKET, buffer, mostWaitingBytes/4)
		}
	}
	if err == nil {
		const all = unix.ETH_P_ALL<<8&0xff00 | unix.ETH_P_ALL>>8 // in the network's order
		err = unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: all, Ifindex: link.Attrs().Index})
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("read the frames of %s: %w", name, err), unix.Close(fd))
	}
	return os.NewFile(uintptr(fd), name), nil
}

// Bounds of the frames that wait in one direction. Frames beyond are lost, as in a switch.
const (
	mostWaiting      = 16 << 10 // frames
	mostWaitingBytes = 32 << 20
)

type waiting struct {
	at    time.Time
	frame []byte
}

func (d *relay) pass(from, to *os.File, s side) {
	queue := make(chan waiting, mostWaiting)
	var bytesWaiting atomic.Int64
	d.passing.Go(func() { d.deliver(queue, to, &bytesWaiting) })
	defer close(queue)
	delays := d.rule.Direction == Both || (d.rule.Direction == In) == (s.chain == "input")
	frame := make([]byte, 128<<10)
	for {
		n, err := from.Read(frame)
		if d.stopped.Err() != nil || errors.Is(err, os.ErrClosed) {
			return
		}
		if err != nil { // such as ENETDOWN once, while the port changes its place
			time.Sleep(time.Millisecond)
			continue
		}
		if !delays || !d.rule.matches(frame[:n], s) {
			_, _ = to.Write(frame[:n]) // what cannot be sent is lost, as by any network
			continue
		}
		d.packets.Add(1)
		if bytesWaiting.Load() > mostWaitingBytes {
			continue
		}
		select {
		case queue <- waiting{time.Now().Add(d.by), bytes.Clone(frame[:n])}:
			bytesWaiting.Add(int64(n))
		default:
		}
	}
}

func (d *relay) deliver(queue <-chan waiting, to *os.File, bytesWaiting *atomic.Int64) {
	due := time.NewTimer(0)
	defer due.Stop()
	for w := range queue {
		due.Reset(time.Until(w.at))
		select {
		case <-due.C:
		case <-d.stopped.Done():
		}
		_, _ = to.Write(w.frame)
		bytesWaiting.Add(-int64(len(w.frame)))
	}
}

// Lengths of a frame's headers: openTap's (struct virtio_net_hdr), Ethernet's, whose last two bytes
// are the type, and IPv4's.
const (
	frameHeader    = 10
	ethernetHeader = 14
	leastIPv4      = 20
)

func (r Rule) matches(frame []byte, s side) bool {
	const ip = frameHeader + ethernetHeader
	if len(frame) < ip+leastIPv4 || frame[ip-2] != 0x08 || frame[ip-1] != 0x00 {
		return false
	}
	peer, _ := netip.AddrFromSlice(frame[ip+s.peer : ip+s.peer+4])
	return len(r.Peers) == 0 || slices.Contains(r.Peers, peer)
}
