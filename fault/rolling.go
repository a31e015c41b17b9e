package fault

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"assay/cluster"
	"assay/cluster/server"
)

func rollingRestart() Action {
	return Action{Name: "rolling-restart", Targets: []string{"cluster"}, Ends: true, part: partProcess, state: "in a rolling restart", restarts: true,
		Value:  parameterValue(),
		Effect: "stops each node in order and starts it again, one after the other: the primary last, which steps down before if its manual advises it; the next node waits until the one before is back and in step; with parameters, each node starts with these",
		choose: func(_ string, members []member, _ string, _ *rand.Rand) (choice, error) {
			return choice{nodes: names(ofRole("", members))}, nil
		},
		check: func(f Fault, c *cluster.Cluster) error {
			_, _, err := parametersOf(f, c)
			return err
		},
		on: func(t task) (injector, error) {
			r := &rolling{cluster: t.cluster, nodes: t.nodes, acquire: t.acquire}
			var err error
			if r.spec, r.parameters, err = parametersOf(t.Fault, t.cluster); err != nil {
				return nil, err
			}
			return r, nil
		}}
}

// rollingUpgrade restarts a cluster node by node with another version of its servers.
func rollingUpgrade() Action {
	a := rollingRestart()
	a.Name, a.state = "rolling-upgrade", "in a rolling upgrade"
	a.Effect = "is a rolling-restart in which each node starts with the programs of this version (version= has the one to begin with)"
	a.Value = newValue("VERSION", "a version such as 15.18", "", func(text string) (string, error) { return text, nil },
		func(text string) bool { return text != "" }, func(text string) string { return text })
	a.asks, a.Value.Default = true, "none"
	a.check = func(f Fault, c *cluster.Cluster) error {
		_, err := c.ProgramsOf(context.Background(), valueOf[string](f))
		return err
	}
	a.on = func(t task) (injector, error) {
		folder, err := t.cluster.ProgramsOf(context.Background(), valueOf[string](t.Fault))
		return &rolling{cluster: t.cluster, nodes: t.nodes, acquire: t.acquire, programs: folder}, err
	}
	return a
}

// parameterValue is server parameters, as in a cluster's spec. Only a cluster knows which the
// product has.
func parameterValue() Value {
	v := newValue("set.NAME=VALUE", "set.NAME=VALUE, such as set.work_mem=8MB, and more of them behind commas", "",
		func(text string) (string, error) {
			_, err := cluster.ParseParameters(text)
			return text, err
		},
		func(text string) bool { return text != "" }, func(text string) string { return text })
	v.Default, v.begins = "the parameters that there are", "set."
	return v
}

// parametersOf are the parameters that the fault sets, and the spec with them in place of the
// cluster's own. The error is a *cluster.SpecError.
func parametersOf(f Fault, c *cluster.Cluster) (s cluster.Spec, set []cluster.Parameter, err error) {
	s = c.Spec()
	text, said := f.Value.(string)
	if !said {
		return s, nil, nil
	}
	if set, err = cluster.ParseParameters(text); err == nil {
		s, err = s.WithParameters(set)
	}
	if err != nil {
		return s, nil, fmt.Errorf("fault %q: %w", f, err)
	}
	return s, set, nil
}

type rolling struct {
	cluster    *cluster.Cluster
	nodes      []*cluster.Node // in the order of their names
	spec       cluster.Spec
	parameters []cluster.Parameter // parameters that spec adds to the cluster's; empty for none
	programs   string              // folder of another version's programs; empty for none
	acquire    acquirer
	steps      []*rollingStep // in the order in which they were begun
}

type rollingStep struct {
	*cluster.Node
	before, after server.ProcessID // zero if there was, or is, no process
	took          time.Duration    // until it was back and in step; 0 if it never was
	was, is       []string         // the values of the parameters, as the server tells them
	takeBack      func()           // restores the old parameters; nil if the new ones stay
}

const rollingBound = 3 * time.Minute

func (r *rolling) inject(ctx context.Context) error {
	for left := slices.Clone(r.nodes); len(left) > 0; {
		n, err := r.next(ctx, left)
		if err != nil {
			return err
		}
		left = slices.DeleteFunc(left, func(other *cluster.Node) bool { return other == n })
		if err := r.restart(ctx, n); err != nil {
			return fmt.Errorf("%s: %w", n.Name(), err)
		}
	}
	return nil
}

// next is the first remaining node that is not the primary, which comes last.
func (r *rolling) next(ctx context.Context, left []*cluster.Node) (*cluster.Node, error) {
	if len(left) == 1 {
		return left[0], nil
	}
	ctx, cancel := context.WithTimeout(ctx, primaryWait)
	defer cancel()
	primary, err := r.cluster.Primary(ctx)
	var none *server.NoPrimaryError
	if err != nil && !errors.As(err, &none) {
		return nil, fmt.Errorf("no primary, which is to be the last: %w", err)
	}
	return left[slices.IndexFunc(left, func(n *cluster.Node) bool { return n != primary })], nil
}

// restart is one node's turn. It returns when the node is back and all running nodes are in step.
func (r *rolling) restart(ctx context.Context, n *cluster.Node) error {
	ctx, cancel := context.WithTimeout(ctx, rollingBound)
	defer cancel()
	s := &rollingStep{Node: n, before: identity(n), was: r.values(ctx, n)}
	r.steps = append(r.steps, s)
	began := time.Now()
	if err := n.HandOver(ctx); err != nil {
		return err
	}
	switch {
	case len(r.parameters) > 0:
		s.takeBack = n.Adjust(r.spec)
	case r.programs != "":
		s.takeBack = n.TakePrograms(r.programs)
	}
	if err := n.Start(ctx); err != nil {
		return err
	}
	s.takeBack = nil
	if err := r.cluster.Settled(ctx); err != nil {
		return err
	}
	s.after, s.took = identity(n), time.Since(began)
	s.is = r.values(ctx, n)
	return nil
}

// identity is a node's first process, by its id and start.
func identity(n *cluster.Node) server.ProcessID {
	if !n.Running() {
		return server.ProcessID{}
	}
	return server.Identify(n.PID())
}

// values asks the node for the parameters; empty for those that cannot be asked for.
func (r *rolling) values(ctx context.Context, n *cluster.Node) (all []string) {
	for _, p := range r.parameters {
		value, _ := n.Parameter(ctx, p.Name)
		all = append(all, value)
	}
	return all
}

// verify checks that each node's server restarted, after the node before, and says that it uses the
// parameters.
func (r *rolling) verify(context.Context, bool) (observation, error) {
	o := observation{proven: len(r.steps) == len(r.nodes)}
	var texts []string
	var last server.ProcessID
	for _, s := range r.steps {
		text, proven := s.restarted(last)
		for i, p := range r.parameters[:min(len(s.is), len(r.parameters))] { // none for a node that is not back
			text += ", " + p.Name + " is " + s.is[i]
			if s.was[i] != "" {
				text += " and was " + s.was[i]
			}
			proven = proven && s.takes(p, i)
		}
		if r.programs != "" && s.took > 0 { // what the kernel runs, whatever the server says of itself
			program, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", s.after.PID))
			text += ", which runs " + program
			folder, _ := filepath.EvalSymlinks(r.programs)
			proven = proven && err == nil && strings.HasPrefix(program, folder+string(os.PathSeparator))
		}
		texts, o.proven, last = append(texts, text), o.proven && proven, s.after
	}
	if len(r.steps) < len(r.nodes) {
		texts = append(texts, fmt.Sprintf("%d of %d nodes had their turn", len(r.steps), len(r.nodes)))
	}
	o.text = strings.Join(texts, "; ")
	return o, nil
}

// restarted reports whether the node has another process, started after the previous node's.
func (s *rollingStep) restarted(last server.ProcessID) (text string, proven bool) {
	switch {
	case s.took == 0:
		return s.Name() + " was not back and in step", false
	case s.after == s.before || s.after.PID == 0:
		return fmt.Sprintf("%s is still process %d", s.Name(), s.before.PID), false
	case s.after.Started < max(s.before.Started, last.Started):
		return fmt.Sprintf("%s: process %d has started before its turn", s.Name(), s.after.PID), false
	}
	return fmt.Sprintf("%s: process %d in place of %d, in step after %.1f s", s.Name(), s.after.PID, s.before.PID, s.took.Seconds()), true
}

// takes reports whether the server names the value, or another value than before: it may write the
// value differently.
func (s *rollingStep) takes(p cluster.Parameter, i int) bool {
	return s.is[i] != "" && (strings.EqualFold(s.is[i], p.Value) || s.is[i] != s.was[i])
}

// undo gives a node that did not start with the parameters its old ones.
func (r *rolling) undo(context.Context) error {
	for _, s := range r.steps {
		if s.takeBack != nil {
			s.takeBack()
		}
	}
	return nil
}

// restore starts the node whose turn was cut short.
func (r *rolling) restore(ctx context.Context) (string, error) {
	return describeEach(r.nodes, func(n *cluster.Node) (string, error) { return awaitReachable(ctx, n, r.acquire) })
}
