package server

import (
	"fmt"
	"io"
	"net"
)

// reserve keeps the port from other assay processes on the same network, until released or this
// process ends. It listens on an abstract name, which belongs to the network namespace like a port
// and leaves no file behind (unix(7), "Abstract sockets").
func reserve(port int) (io.Closer, error) {
	return net.ListenUnix("unix", &net.UnixAddr{Net: "unix", Name: fmt.Sprintf("@assay-port-%d", port)})
}
