// Command relay passes bytes on between clients and one server and looks at none of them: the least
// that a proxy in Go costs which leaves the waiting to the runtime.
//
//	relay LISTEN SERVER
package main

import (
	"fmt"
	"io"
	"net"
	"os"
)

func main() {
	listener, err := net.Listen("tcp", os.Args[1])
	for err == nil {
		var client net.Conn
		if client, err = listener.Accept(); err == nil {
			go pass(client, os.Args[2])
		}
	}
	fmt.Fprintln(os.Stderr, "relay:", err)
	os.Exit(1)
}

func pass(client net.Conn, to string) {
	defer client.Close()
	server, err := net.Dial("tcp", to)
	if err != nil {
		fmt.Fprintln(os.Stderr, "relay:", err)
		return
	}
	go func() {
		_, _ = io.Copy(client, plain{server}) // until one of the two has left
		client.Close()
	}()
	_, _ = io.Copy(server, plain{client})
	server.Close()
}

// plain hides that a connection can be spliced.
type plain struct{ io.Reader }
