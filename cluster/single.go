package cluster

import (
	"context"
	"errors"
	"path/filepath"

	"assay/cluster/server"
)

// oneServer is a product's only server. Its methods are safe for concurrent use.
type oneServer interface {
	Address() string
	Ready(ctx context.Context) error
	Running() bool
	Restart(ctx context.Context, env ...string) error
	Close() error
}

type single struct {
	oneServer
	node *server.Node
}

func place(e environment, name string) server.Place {
	return server.Place{Machine: server.MachineAt(e.machines, 0), Dir: e.dir, Log: filepath.Join(e.logs, name+"-n1.log")}
}

func (s single) Node(int) *server.Node { return s.node }

func (s single) Primary(ctx context.Context) (int, error) { return 0, s.Ready(ctx) }

func (s single) Restart(ctx context.Context, _ int, env ...string) error {
	return s.oneServer.Restart(ctx, env...)
}

func (s single) Parameter(ctx context.Context, _ int, name string) (string, error) {
	server, tells := s.oneServer.(interface {
		Parameter(ctx context.Context, name string) (string, error)
	})
	if !tells {
		return "", errors.New("assay knows no way to do it")
	}
	return server.Parameter(ctx, name)
}

// Settled does not wait for a server that has ended.
func (s single) Settled(ctx context.Context) error {
	if !s.Running() {
		return errors.New("the only server is down")
	}
	return s.Ready(ctx)
}
