package hunt

import (
	"context"
	"errors"
	"fmt"
	"time"

	"assay/cluster"
	"assay/cluster/server"
	"assay/fault"
	"assay/report"
	"assay/runner"
	"assay/runner/nodes"
	"assay/store"
)

// Servers is a Ground of real servers.
type Servers struct {
	// Wanted is the space asked for; Space adds what the running servers tell.
	Wanted Space
	// Run are the options of runs. The hunt sets Out, Shared and Monitor.
	Run        runner.Options
	HealWithin time.Duration

	shared  *nodes.Nodes // nil until they are needed
	spec    string       // of shared
	started int
}

// Started implements Ground.
func (s *Servers) Started() int { return s.started }

// start starts servers with these settings, unless they run.
func (s *Servers) start(ctx context.Context, spec cluster.Spec) (err error) {
	if s.shared != nil && s.spec != spec.String() {
		err = s.Close()
	}
	if s.shared == nil && err == nil {
		s.shared, err = nodes.Start(ctx, spec, s.Run.Servers)
		s.spec = spec.String()
		s.started++
	}
	return err
}

// Close ends the servers.
func (s *Servers) Close() error {
	if s.shared == nil {
		return nil
	}
	shared := s.shared
	s.shared = nil
	return shared.Close()
}

// Space implements Ground.
func (s *Servers) Space(ctx context.Context) (*Space, error) {
	space := s.Wanted
	if err := s.start(ctx, space.Specs[0]); err != nil {
		return nil, err
	}
	on := fault.Servers(s.shared.Cluster)
	_, err := s.shared.Primary(ctx)
	if space.Led = err == nil && space.Specs[0].Nodes > 1; err != nil && !isNoPrimary(err) {
		return nil, err
	}
	possible := map[string]bool{} // by action: what the machine lacks is the same for all targets
	for _, f := range fault.Possible(space.Specs[0]) {
		able, asked := possible[f.Action]
		if !asked {
			err := fault.Validate(ctx, []fault.Fault{f}, on)
			able = err == nil || isNoPrimary(err)
			possible[f.Action] = able
		}
		if able && (err == nil || fault.Validate(ctx, []fault.Fault{f}, on) == nil) {
			space.Faults = append(space.Faults, f)
		}
	}
	scenario, failed := Plan{Workload: space.Workloads[0], Clients: 1, Duration: time.Second}.Scenario(space.Specs[0])
	if failed != nil {
		return nil, failed
	}
	scenario.Database = s.shared.Address()
	space.Levels, _, failed = runner.Levels(ctx, scenario)
	return &space, failed
}

func isNoPrimary(err error) bool {
	_, is := errors.AsType[*server.NoPrimaryError](err)
	return is
}

// Try implements Ground.
func (s *Servers) Try(ctx context.Context, p Plan, folder string) (t Trial) {
	if t.Problem = s.start(ctx, s.Wanted.on(p)); t.Problem != nil {
		return t
	}
	w, stop := watch(ctx, s.shared, s.hasPrimary(ctx) && s.Wanted.Specs[0].Nodes > 1)
	o := s.Run
	o.Shared, o.Monitor = s.shared, w
	t.Result, t.Problem = s.run(ctx, p, folder, o)
	t.Seen = stop()
	if t.Result != nil {
		t.Seen.Errors = classes(t.Result)
	}
	t.Seen.Lines = linesOf(folder)
	if ctx.Err() != nil {
		return t
	}
	if r := t.Result; r != nil && r.Cluster != nil && r.Cluster.TwoPrimaries { // the run has waited until they were over
		t.Unhealed = r.Cluster.Settled
	} else {
		t.Unhealed = s.heal(ctx)
	}
	if t.Unhealed != "" || t.Problem != nil && !t.refused() {
		t.Problem = errors.Join(t.Problem, s.Close())
	}
	return t
}

// refused reports whether the database or machine lacks something that the plan needs.
func (t Trial) refused() bool {
	_, option := errors.AsType[*store.OptionError](t.Problem)
	_, fault := errors.AsType[*fault.UnavailableError](t.Problem)
	return option || fault
}

func (s *Servers) hasPrimary(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, primaryBound)
	defer cancel()
	_, err := s.shared.Primary(ctx)
	return !isNoPrimary(err)
}

// Alone implements Ground. It first ends the hunt's servers, which would use the machine.
func (s *Servers) Alone(ctx context.Context, p Plan, folder string) (t Trial) {
	if t.Problem = s.Close(); t.Problem == nil {
		t.Result, t.Problem = s.run(ctx, p, folder, s.Run)
	}
	return t
}

func (s *Servers) run(ctx context.Context, p Plan, folder string, o runner.Options) (*report.Result, error) {
	scenario, err := p.Scenario(s.Wanted.on(p))
	if err != nil {
		return nil, err
	}
	scenario.NoServerStats = true
	o.Out = folder
	out, err := runner.Run(ctx, scenario, o)
	return out.Result, err
}

// heal waits until the cluster has recovered, or says what has not.
func (s *Servers) heal(ctx context.Context) (unhealed string) {
	healing, cancel := context.WithTimeout(ctx, s.HealWithin)
	defer cancel()
	began := time.Now()
	if err := s.shared.Heal(healing); err != nil && ctx.Err() == nil {
		return fmt.Sprintf("%.0f s after the last fault the cluster was not whole: %v", time.Since(began).Seconds(), err)
	}
	return ""
}
