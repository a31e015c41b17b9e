package redis

import (
	"io"
	"net"
	"strings"
	"testing"
	"time"

	cluster "assay/cluster/redis"
	"assay/cluster/server"
	"assay/internal/expect"
	"assay/store"
	"assay/workload/availability"
)

// TestSlowServers: servers that take two seconds to answer, as on a busy machine, are waited for, if there
// are no others.
func TestSlowServers(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]cluster.Options{
		"Sentinels": {Layout: server.Layout{Nodes: 3}, DownAfter: 2 * time.Second},
		"cluster":   {Layout: server.Layout{Nodes: 6}, Sharded: true, DownAfter: 2 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			c := start(t, o)
			scheme, rest, _ := strings.Cut(c.Address(), "://")
			hosts, path, several := strings.Cut(rest, "/")
			if several {
				path = "/" + path
			}
			var slow []string
			for host := range strings.SplitSeq(hosts, ",") {
				slow = append(slow, late(t, host))
			}
			db, err := Open(expect.Patiently(t), store.Target{Address: scheme + "://" + strings.Join(slow, ",") + path, ConnectTimeout: 30 * time.Second}, availability.Schema())
			expect.NoError(t, err)
			expect.NoError(t, db.Close())
		})
	}
}

// late is the address of a server that is slow: what comes is passed on to server after two seconds.
func late(t *testing.T, server string) (address string) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	expect.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				time.Sleep(2 * time.Second)
				behind, err := net.Dial("tcp", server)
				if err != nil {
					return
				}
				defer behind.Close()
				go func() { _, _ = io.Copy(behind, conn) }()
				_, _ = io.Copy(conn, behind)
			}()
		}
	}()
	return listener.Addr().String()
}
