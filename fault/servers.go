package fault

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"assay/cluster"
)

// Servers are the nodes of a cluster, and the servers beside them.
func Servers(c *cluster.Cluster) System { return servers{c} }

type servers struct{ cluster *cluster.Cluster }

func (s servers) members(context.Context) (all []member, _ error) {
	for _, n := range s.cluster.Servers() {
		all = append(all, member{name: n.Name(), role: n.Role(), arbiter: n.Arbiter()})
	}
	return all, nil
}

func (s servers) primaries(ctx context.Context) ([]string, error) {
	all, err := s.cluster.Primaries(ctx)
	if err != nil {
		return nil, err
	}
	return names(all), nil
}

func (s servers) running(name string) bool {
	n := s.cluster.Node(name)
	return n != nil && n.Running()
}

func (s servers) hold(name string) (release func()) {
	if n := s.cluster.Node(name); n != nil {
		return n.Hold()
	}
	return func() {}
}

func (s servers) forced(name string) *time.Time {
	if n := s.cluster.Node(name); n != nil {
		return n.Forced()
	}
	return nil
}

func (s servers) log(name string) string {
	if n := s.cluster.Node(name); n != nil {
		return n.Log()
	}
	return ""
}

func (s servers) prepare(f Fault, c choice, acquire acquirer) (injector, error) {
	nodes, err := s.find(c.nodes...)
	if err != nil {
		return nil, err
	}
	a, _ := Lookup(f.Action)
	if a.on == nil {
		return nil, s.check(context.Background(), f)
	}
	return a.on(task{Fault: f, choice: c, servers: s, nodes: nodes, backups: s.cluster.Backups(), acquire: acquire})
}

func (s servers) check(_ context.Context, f Fault) error {
	a, _ := Lookup(f.Action)
	switch {
	case a.on == nil:
		return &UnavailableError{Action: f.Action, Reason: "it is done to pods only, with --kubernetes"}
	case a.check == nil:
		return nil
	}
	return a.check(f, s.cluster)
}

func (s servers) find(names ...string) ([]*cluster.Node, error) {
	var all []*cluster.Node
	for _, name := range names {
		n := s.cluster.Node(name)
		if n == nil {
			return nil, fmt.Errorf("there is no node %s", name)
		}
		all = append(all, n)
	}
	return all, nil
}

type oneNode interface {
	injector
	named
}

// together runs the injectors of several nodes at the same time.
type together []oneNode

func onEach(nodes []*cluster.Node, one func(*cluster.Node) oneNode) (all together) {
	for _, n := range nodes {
		all = append(all, one(n))
	}
	return all
}

func (t together) inject(ctx context.Context) error {
	return forEach(t, func(n oneNode) error { return n.inject(ctx) })
}

func (t together) verify(ctx context.Context, last bool) (observation, error) {
	return observeEach(t, func(n oneNode) (observation, error) { return n.verify(ctx, last) })
}

func (t together) undo(ctx context.Context) error {
	return forEach(t, func(n oneNode) error { return n.undo(ctx) })
}

func (t together) restore(ctx context.Context) (string, error) {
	return describeEach(t, func(n oneNode) (string, error) { return n.restore(ctx) })
}

type named interface{ Name() string }

// forEach calls do for all nodes at the same time. The errors name the node.
func forEach[N named](nodes []N, do func(N) error) error {
	failed := make([]error, len(nodes))
	var wait sync.WaitGroup
	for i, n := range nodes {
		wait.Go(func() {
			// A panic in this goroutine would end assay.
			if err := guard(func() error { return do(n) }); err != nil {
				failed[i] = fmt.Errorf("%s: %w", n.Name(), err)
			}
		})
	}
	wait.Wait()
	return errors.Join(failed...)
}

// observeEach proves a fault if look does so for each node. It joins the texts, each after the
// node's name.
func observeEach[N named](nodes []N, look func(N) (observation, error)) (observation, error) {
	seen := make([]observation, len(nodes))
	err := forEach(nodes, func(n N) (err error) {
		i := slices.IndexFunc(nodes, func(other N) bool { return other.Name() == n.Name() })
		seen[i], err = look(n)
		return err
	})
	all := observation{proven: err == nil}
	var texts []string
	for i, o := range seen {
		all.proven = all.proven && o.proven
		if o.text != "" {
			texts = append(texts, nodes[i].Name()+": "+o.text)
		}
	}
	all.text = strings.Join(texts, "; ")
	return all, err
}

// describeEach is observeEach without proof.
func describeEach[N named](nodes []N, do func(N) (string, error)) (string, error) {
	all, err := observeEach(nodes, func(n N) (observation, error) {
		text, err := do(n)
		return observation{text: text}, err
	})
	return all.text, err
}

// dialBound is how long a connection may take. A node that is there answers at once, or after one
// lost packet (which is first repeated after a second).
const dialBound = 1500 * time.Millisecond

// refuses reports whether the node's port is closed.
func refuses(ctx context.Context, n *cluster.Node) bool {
	return errors.Is(n.Dial(ctx, dialBound), syscall.ECONNREFUSED)
}

// awaitBack waits until dial connects to the node. It starts a server that ended under a fault that
// does not end servers, as an operator would: a cluster may kill a silent node to stop its writes.
// It leaves alone a server that another fault has ended, and one that is no longer a member.
func awaitBack(ctx context.Context, n *cluster.Node, acquire acquirer, dial func() error) (string, error) {
	for {
		if !n.Running() {
			if !n.Member() {
				return "it has left the cluster", nil
			}
			release, free := acquire(n.Name())
			if !free {
				return "its server is down for another fault", nil
			}
			defer release()
			text, err := startAgain(ctx, n)
			return "its server had ended meanwhile, and " + text, err
		}
		err := dial()
		if err == nil {
			return "port " + strconv.Itoa(n.Port()) + " answers", nil
		}
		if !sleepUntil(ctx, time.Now().Add(50*time.Millisecond)) {
			return "", fmt.Errorf("%s does not answer: %w", n.Address(), err)
		}
	}
}

// awaitReachable is awaitBack with connections from here.
func awaitReachable(ctx context.Context, n *cluster.Node, acquire acquirer) (string, error) {
	return awaitBack(ctx, n, acquire, func() error { return n.Dial(ctx, dialBound) })
}
