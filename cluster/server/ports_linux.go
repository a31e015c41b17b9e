package server

import (
	"fmt"
	"io"
	"net"
)

// reserve keeps a port from being reserved by another program on the same network, until it is
// released or this program ends. It listens on a name that belongs to the network as the port does
// and leaves no file behind (unix(7), "Abstract sockets").
func reserve(port int) (io.Closer, error) {
	return net.ListenUnix("unix", &net.UnixAddr{Net: "unix", Name: fmt.Sprintf("@assay-port-%d", port)})
}
