package server

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strconv"
	"sync"

	"assay/cluster/machine"
)

// Ports of servers lie below the system's range for clients' own ports (32768 on Linux). A client
// that keeps dialling a closed port of that range can get the same port for its own end, connect
// to itself, and take that for the server.
const (
	lowestPort  = 20000
	highestPort = 32000
)

// Ports gives out free ports on the loopback interface. The zero value is ready to use. It is safe
// for concurrent use. While a value is referred to, its ports go to no one else, not even to other
// assay processes: if a server's port were taken while the server is down, the new owner would
// answer its clients and peers and prevent its return.
type Ports struct {
	mu sync.Mutex
	// given maps each port to its reservation.
	given map[int]io.Closer
}

// Next returns a port between 20000 and 32000 on which nobody listens and which was not given out.
func (p *Ports) Next() (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.given == nil {
		p.given = make(map[int]io.Closer)
	}
	var last error
	for range 1000 {
		port := lowestPort + rand.IntN(highestPort-lowestPort+1)
		if _, given := p.given[port]; given {
			continue
		}
		reserved, err := reserve(port)
		if err == nil {
			if err = bindable(port); err == nil {
				p.given[port] = reserved
				return port, nil
			}
			err = errors.Join(err, reserved.Close())
		}
		last = err
	}
	return 0, fmt.Errorf("no free port between %d and %d: %w", lowestPort, highestPort,
		errors.Join(last, fmt.Errorf("%d were given out", len(p.given))))
}

// For returns the address for a server: the usual port if the machine has an address of its own,
// else a free port on 127.0.0.1. A nil m means here.
func (p *Ports) For(m *machine.Machine, usual int) (host string, port int, err error) {
	host = "127.0.0.1"
	if m != nil {
		host = m.Address().String()
		if !m.Address().IsLoopback() {
			return host, usual, nil
		}
	}
	port, err = p.Next()
	return host, port, err
}

func bindable(port int) error {
	listener, err := net.Listen("tcp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return err
	}
	return listener.Close()
}
