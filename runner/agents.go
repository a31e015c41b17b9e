package runner

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"assay/check"
	"assay/history"
	"assay/load"
	"assay/measure"
	"assay/measure/pressure"
	"assay/report"
	"assay/runner/agents"
	"assay/runner/catalog"
	"assay/runner/open"
	"assay/runner/work"
	"assay/store"
	"assay/workload/definition"
)

// Agents has other processes do a run's work.
type Agents struct {
	Engine *agents.Engine
	// Pool restricts which agents may take part; see agents.Options.
	Pool  string
	Count int
	// Continue goes on after an agent is lost. Otherwise the run ends.
	Continue bool
	// Timeout is how long an agent may be silent before it is lost.
	Timeout time.Duration
	// Processes are the ids of agents that this process has started; nil for none.
	Processes func() []int
	// Address gives those agents the whole address; nil if there are none.
	Address func(address string) error
	// open replaces openWork if not nil, for tests whose agents share a store.
	open opener
}

func (a *Agents) processes() []int {
	if a == nil || a.Processes == nil {
		return nil
	}
	return a.Processes()
}

// validate refuses scenarios whose work agents cannot share.
func (a *Agents) validate(s Scenario) error {
	if a == nil {
		return nil
	}
	refuse := func(value any, want string) error {
		return &store.OptionError{Option: "--agents", Value: fmt.Sprint(value), Want: want}
	}
	if driver, err := catalog.DriverFor(s.Database); err == nil && driver.Name == "mem" && a.open == nil {
		return refuse("with "+driver.Name+":", "a database that several processes can reach; the reference database is inside one")
	}
	switch {
	case a.Count > s.Load.Clients:
		return refuse(a.Count, fmt.Sprintf("at least as many --clients; there are %d", s.Load.Clients))
	case s.Load.Ops > 0 && s.Load.Ops < uint64(s.Load.Clients):
		return refuse(a.Count, fmt.Sprintf("with --ops at least one operation for each of %d clients", s.Load.Clients))
	case s.Overhead:
		return refuse("with --overhead", "one of them: what one process takes says nothing of several")
	}
	return nil
}

// group are the agents of a run, and what is needed to have them work. Nil stands for a run
// without agents.
type group struct {
	*agents.Coordinator
	conductor
	asked *Agents
	plan  load.Plan
	db    *open.Work
}

// gather waits for the agents of a run, to which it passes the plan. It returns nil if the run
// has none. The group must be closed even if the error is not nil.
func (r *run) gather(ctx context.Context) (*group, error) {
	a := r.options.Agents
	if a == nil {
		return nil, nil
	}
	plan, err := r.agentsPlan()
	if err != nil {
		return nil, err
	}
	observers, _ := r.store.Observers()
	work.Close(observers)
	seats := len(observers)
	if seats > 0 {
		seats++ // for who reads at the end; see observe
	}
	r.live = measure.NewLive(1)
	g := &group{conductor: r.conductor(), asked: a, plan: r.scenario.Load, db: r.store}
	g.Coordinator, err = agents.Coordinate(ctx, a.Engine, agents.Config{
		Plan: plan, Pool: a.Pool, Agents: a.Count, Clients: r.scenario.Load.Clients, Rounds: g.clientsOfRounds(), Observers: seats, Continue: a.Continue,
		Folder: r.folder, Live: r.live, Note: r.options.Progress.Note,
	})
	if err != nil {
		return nil, err
	}
	return g, g.Gather(ctx, func(there, wanted int) {
		r.options.Progress.Stage(fmt.Sprintf("waiting for agents: %d of %d are there", there, wanted))
	})
}

// agentsPlan describes the run without any password. Agents that this process has started
// get the address on their standard input. Other agents know it themselves.
func (r *run) agentsPlan() (agents.Plan, error) {
	text, err := r.scenario.Text()
	if err != nil {
		return agents.Plan{}, err
	}
	holder, err := json.Marshal(r.lease.Holder)
	if err != nil {
		return agents.Plan{}, err
	}
	a, address := r.options.Agents, fromAnywhere(r.address)
	if a.Address != nil {
		if err := a.Address(address); err != nil {
			return agents.Plan{}, err
		}
	}
	return agents.Plan{Run: r.id, Workload: r.scenario.Workload, Version: r.options.Version, Scenario: text,
		Database: store.Redact(address), Holder: holder, Timeout: a.Timeout}, nil
}

func (g *group) dismiss(ctx context.Context) {
	if g != nil {
		g.Close(context.WithoutCancel(ctx))
	}
}

func (r *run) workByAgents(ctx context.Context, g *group) (worked, error) {
	r.options.Progress.Stage("agents are opening " + check.Counted(r.scenario.Load.Clients, "session", "sessions"))
	slowest, err := g.Prepare(ctx)
	if err != nil {
		return worked{}, r.interrupted(ctx, err, "opening sessions, with all rows in")
	}
	r.result.Client.ConnectMillis = float64(slowest.Microseconds()) / 1000
	r.options.Progress.Stage(workingText(r.scenario))
	zero := g.Now() + int64(agents.Lead)
	start := time.Now().Add(agents.Lead)
	file, err := r.beginWork(start, agents.CoordinatorFile(r.folder), zero)
	if err != nil {
		return worked{}, err
	}
	r.options.Monitor.Clients(r.scenario.Load.Clients)
	if err := g.Start(zero, file); err != nil {
		return worked{}, errors.Join(err, file.Close())
	}
	_, several := r.store.Rounds()
	end := r.accompany(ctx, file, start, several)
	found, err := g.follow(ctx, file, zero)
	end()
	if found.machine != nil {
		r.result.Machine = busier(r.result.Machine, found.machine)
	}
	now := func() int64 { return g.Now() - zero }
	done, err := r.endWork(ctx, file, found.stats, err, now)
	done.started = start
	if err = errors.Join(err, done.unrecorded); err != nil { // a history without its events cannot be merged
		return done, err
	}
	merged, err := agents.Merge(r.folder, filepath.Join(r.folder, FileHistory))
	if err != nil {
		return done, fmt.Errorf("merge the agents' histories: %w", err)
	}
	enterMerged(r.result, merged)
	done.counted = found.counted // live figures may miss operations or have them twice
	return done, nil
}

// found is what the agents of a run have found.
type found struct {
	stats load.Stats
	// counted is nil if an agent's counts are missing.
	counted *report.Counted
	// machine is that of the busiest agent; nil if unknown.
	machine *pressure.Usage
}

// follow has the agents work from zero to the end, and takes their histories.
func (g *group) follow(ctx context.Context, file *history.Writer, zero int64) (found, error) {
	now := func() int64 { return g.Now() - zero }
	measured := g.measure(ctx, file, zero)
	over, collected := make(chan struct{}), make(chan error, 1)
	var lost, undelivered []string
	noteLost := func(all *[]string) func(text string) {
		return func(text string) {
			*all = append(*all, text)
			g.progress.Note(fmt.Sprintf("%.1f s: %s", float64(now())/1e9, text))
		}
	}
	go func() { collected <- g.Collect(context.WithoutCancel(ctx), over, noteLost(&undelivered)) }()
	g.Follow(ctx, noteLost(&lost))
	ended := now()
	began, end, err := measured()
	if len(lost) > 0 {
		// Operations of a lost agent may still be under way. It starts no more.
		time.Sleep(leftToLost(g.plan) + time.Second)
	}
	g.progress.Stage("taking the agents' histories")
	close(over)
	all, failed := g.ends(<-collected)
	if err = errors.Join(err, failed); err != nil {
		return all, err
	}
	if rounds, _ := g.db.Rounds(); len(rounds) > 0 {
		all.stats.MeasureStart, all.stats.MeasureEnd = began, end
	}
	return all, g.markEnd(ctx, file, &all.stats, append(lost, undelivered...), ended)
}

// leftToLost is how long the operations of a stopping agent may take. A plan without a time limit
// leaves them as long as any plan does.
func leftToLost(p load.Plan) time.Duration {
	return min(cmp.Or(p.Timeout, load.CutGrace), load.CutGrace)
}

// ends returns what the agents found. err is how collecting ended.
func (g *group) ends(err error) (all found, _ error) {
	ends, failed := g.Ends()
	if err = errors.Join(err, failed); err != nil {
		return all, err
	}
	var counted report.Counted
	for _, e := range ends {
		counted.Outcomes, counted.Attempts = counted.Outcomes.Plus(e.Counted.Outcomes), counted.Attempts+e.Counted.Attempts
		var by foundByAgent
		if e.Found == nil || json.Unmarshal(e.Found, &by) != nil {
			continue
		}
		if by.Machine != nil {
			all.machine = busier(all.machine, by.Machine)
		}
		if f, is := g.db.Work.(definition.Finding); is && by.Work != nil {
			if err := f.TakeFound(by.Work); err != nil {
				return all, err
			}
		}
	}
	if len(ends) == g.asked.Count {
		all.counted = &counted
	}
	var problems string
	if all.stats, problems = agents.StatsOf(ends); problems != "" {
		return all, errors.New("an agent could not go on: " + problems)
	}
	return all, nil
}

// busier returns the usage with more of others' work. a may be nil.
func busier(a, b *pressure.Usage) *pressure.Usage {
	if a == nil || b.Others+b.Steal > a.Others+a.Steal {
		return b
	}
	return a
}

// measure conducts the rounds or, without rounds, marks the start of the measured part. Call
// the returned function when the work is over. began and ended are 0 without rounds.
func (g *group) measure(ctx context.Context, file *history.Writer, zero int64) (over func() (began, ended int64, err error)) {
	rounds, _ := g.db.Rounds()
	if len(rounds) == 0 {
		marked := g.markMeasured(file, func() int64 { return g.Now() - zero })
		return func() (int64, int64, error) { return 0, 0, marked() }
	}
	ctx, stop := context.WithCancel(ctx)
	done := make(chan struct{})
	var began, ended int64
	var err error
	go func() {
		defer close(done)
		began, ended, err = g.conductRounds(ctx, rounds, file, zero)
	}()
	return func() (int64, int64, error) {
		stop()
		<-done
		return began, ended, err
	}
}

// markMeasured marks the start of the measured part when it comes, or at the latest when
// the returned function is called.
func (g *group) markMeasured(file *history.Writer, now func() int64) (over func() error) {
	marked, stop := make(chan error, 1), make(chan struct{})
	go func() {
		at := int64(g.plan.Warmup)
		select {
		case <-time.After(time.Duration(at - now())):
		case <-stop:
			at = min(at, max(now(), 0))
		}
		g.monitor.Phase(PhaseMeasuring)
		marked <- file.Mark(history.Event{At: at, Name: history.EventMeasureStart})
	}()
	return func() error { close(stop); return <-marked }
}

// markEnd marks the end of the measured part and, if the run was cut, why. ended is when the
// last client ended.
func (g *group) markEnd(ctx context.Context, file *history.Writer, stats *load.Stats, lost []string, ended int64) error {
	at := min(ended, int64(g.plan.Warmup+g.plan.Duration))
	start := int64(g.plan.Warmup)
	if _, several := g.db.Rounds(); several {
		start = stats.MeasureStart
	}
	if g.plan.Ops > 0 || start != int64(g.plan.Warmup) {
		at = stats.MeasureEnd + int64(agents.StartSlack) // by any agent's clock
	}
	stats.MeasureStart, stats.MeasureEnd = min(start, at), at
	stats.Cut = stats.Cut || ctx.Err() != nil || len(lost) > 0
	err := file.Mark(history.Event{At: at, Name: history.EventMeasureEnd})
	if !stats.Cut || err != nil {
		return err
	}
	why := cmp.Or(strings.Join(lost, "; "), stats.WhyCut, load.EndedEarly)
	return file.Mark(history.Event{At: max(ended, at), Name: history.EventCut, Detail: why})
}

const noteOrder = "the order in time of operations of several agents"

func enterMerged(r *report.Result, m agents.Merged) {
	r.Agents = nil
	var worst int64
	for _, a := range m.Agents {
		r.Agents = append(r.Agents, report.Agent{ID: a.ID, Host: a.Host, Clients: a.Clients, Operations: a.Operations,
			OffsetMillis: float64(a.Offset) / 1e6, OffsetErrorMillis: float64(a.Error) / 1e6, Delivered: a.Whole, Lost: a.Lost})
		worst = max(worst, a.Error)
	}
	dropNotes(r, noteOrder)
	r.RunNotes = append(r.RunNotes, fmt.Sprintf("%s is claimed only where it is certain: their clocks were compared all the time and may be off by %.3f ms each way; "+
		"%s of %s began so soon after one of another agent had ended that the order of the two was left out",
		noteOrder, float64(worst)/1e6, check.CountOrNone(m.Apart), check.Counted(m.Operations, "operation", "operations")))
}

// mergeAgain merges the agents' histories again if some were missing. engine, if not nil, may
// have received more of them since.
func mergeAgain(ctx context.Context, folder string, r *report.Result, engine *agents.Engine) error {
	if !exists(folder, agents.Folder) {
		return nil
	}
	whole := exists(folder, FileHistory) && len(r.Agents) > 0
	for _, a := range r.Agents {
		whole = whole && a.Delivered
	}
	if whole {
		return nil
	}
	if engine != nil {
		if err := agents.Fetch(ctx, engine, folder, r.Run); err != nil {
			return err
		}
	}
	if !exists(folder, filepath.Join(agents.Folder, filepath.Base(agents.CoordinatorFile(folder)))) {
		return nil // it was cut before its work began
	}
	merged, err := agents.Merge(folder, filepath.Join(folder, FileHistory))
	if err == nil {
		enterMerged(r, merged)
	}
	return err
}
