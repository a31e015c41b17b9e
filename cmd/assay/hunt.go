package main

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"time"

	"github.com/spf13/cobra"

	"assay/runner"
	"assay/runner/hunt"
	"assay/workload/availability"
	"assay/workload/bank"
	"assay/workload/entity"
	"assay/workload/isolation"
)

type huntFlags struct {
	goals, plan, resume, servers, out string
	clusters, workloads, options      []string
	length, shrinkFor, healWithin     time.Duration
	findings                          int
	seed                              uint64
	random, json, quiet               bool
}

func newHunt(version string) *cobra.Command {
	f := &huntFlags{}
	cmd := &cobra.Command{
		Use: "hunt", Args: cobra.NoArgs,
		Short: "Search for faults and load that break a cluster's promises",
		Long: `Search for faults and load that break a cluster's promises.

assay draws plans: load, isolation level, faults with times or events. It makes
short runs of them on one cluster, which heals in between. A plan that reaches
something new (a state of the cluster, a fault in a state, a class of errors, a
pattern of log lines) is kept and varied. A finding is repeated and shrunk until
nothing can be left out, and told as one command with its probability.

A broken promise is a finding whatever --goal says. What the manual allows is a
finding only of a goal that asks for it. A cluster that does not heal is told, too.
Faults of disks take part if --cluster has disk=faulty. The folder has hunt.html and
hunt.json. Ctrl-C loses nothing. The exit code is 1 if a promise was broken, and 4
if no run had a verdict.`,
		Example: `  assay hunt --cluster patroni:3 --for 30m
  assay hunt --cluster redis:3,failover=2s --goal loss --for 10m
  assay hunt --resume runs/20261129T120000Z-hunt-patroni --for 10m`,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd, version) },
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringArrayVar(&f.clusters, "cluster", nil, "the servers to start, such as patroni:3; assay cluster --help has all; repeatable with other options for the same servers, of which plans draw one")
	addTime(flags, &f.length, "for", 30*time.Minute, "how long to search")
	flags.StringSliceVar(&f.workloads, "workload", []string{bank.Name, isolation.Name, availability.Name}, "the workloads, with commas between; those that the database serves if not given, or else entity")
	flags.StringVar(&f.goals, "goal", hunt.GoalViolation, "what to look for, with commas between: violation, loss (of acknowledged writes, also where the manual allows it), outage=60s (of writes), two-primaries")
	flags.StringArrayVar(&f.options, "option", nil, "a parameter of the address in each plan, such as w=1; repeatable; each plan draws one of 'w=1 | w=majority', and of several nodes what else the driver offers")
	flags.StringVar(&f.plan, "plan", "", "a plan's file (YAML) to begin with")
	flags.BoolVar(&f.random, "random", false, "draw each plan anew, whatever others have reached, to compare")
	flags.IntVar(&f.findings, "findings", 0, "end after so many different findings of the goals; 0 for all that come")
	addTime(flags, &f.shrinkFor, "shrink-for", 5*time.Minute, "longest time to shrink one finding; 0s leaves it as it was found")
	addTime(flags, &f.healWithin, "heal-within", time.Minute, "longest time for the cluster to be whole again after a run")
	flags.Uint64Var(&f.seed, "seed", 0, "source of all plans; chosen and printed if not given")
	flags.StringVar(&f.resume, "resume", "", "the folder of a hunt to go on with, for --for longer")
	flags.StringVar(&f.servers, "servers", "", serversUsage)
	flags.StringVar(&f.out, "out", "", "the hunt's folder; it must be new or empty (default runs/<time>-hunt-...)")
	flags.BoolVar(&f.json, "json", false, "print hunt.json on standard output instead of the summary")
	flags.BoolVar(&f.quiet, "quiet", false, "no line for each plan")
	return cmd
}

func (f *huntFlags) run(cmd *cobra.Command, version string) error {
	if f.length <= 0 || f.shrinkFor < 0 || f.healWithin <= 0 || f.findings < 0 {
		return usageError{errors.New("--for and --heal-within take a time above 0, --shrink-for one from 0s on, --findings a number from 0 on")}
	}
	state, err := f.state(cmd, version)
	if err != nil {
		return err
	}
	specs, err := hunt.ParseClusters(append([]string{state.Cluster}, state.Others...))
	if err != nil {
		return err
	}
	folder := f.resume
	if folder == "" {
		if folder, err = runner.CreateFolder(f.out, time.Now(), "hunt", specs[0].Product); err != nil {
			return err
		}
	}
	stderr := cmd.ErrOrStderr()
	tell := func(text string) { fmt.Fprintln(stderr, text) }
	if f.quiet {
		tell = func(string) {}
	}
	tell(fmt.Sprintf("starting %s, seed %d, folder %s", state.Cluster, state.Seed, folder))
	ground := &hunt.Servers{HealWithin: f.healWithin, Run: runner.Options{Version: version, Servers: f.servers, Progress: silence{io.Discard}},
		Wanted: hunt.Space{Specs: specs, Workloads: state.Workloads, Options: state.Options, Longest: state.Longest}}
	err = hunt.Go(cmd.Context(), state, ground, hunt.Options{Folder: folder, For: f.length, ShrinkFor: f.shrinkFor, Findings: f.findings, Tell: tell})
	closed := ground.Close()
	if err == nil || len(state.Findings) > 0 { // a finding is told, whatever ended the hunt
		err = errors.Join(err, f.print(cmd.OutOrStdout(), state, folder))
	}
	err = errors.Join(err, closed)
	switch {
	case state.Violated():
		return errors.Join(err, resultError{exitViolated})
	case err == nil && (!state.Judged() || state.Interrupted):
		return resultError{exitNoVerdict}
	}
	return err
}

func (f *huntFlags) print(out io.Writer, state *hunt.State, folder string) error {
	if f.json {
		return printJSON(out, state)
	}
	_, err := io.WriteString(out, state.Text(folder))
	return err
}

// state is a new hunt, or the one to continue.
func (f *huntFlags) state(cmd *cobra.Command, version string) (*hunt.State, error) {
	if f.resume != "" {
		for _, other := range []string{"cluster", "workload", "goal", "option", "plan", "random", "seed", "out"} {
			if cmd.Flags().Changed(other) {
				return nil, usageError{fmt.Errorf("--%s goes without --resume: the hunt's folder has it", other)}
			}
		}
		return hunt.Read(f.resume)
	}
	specs, err := hunt.ParseClusters(f.clusters)
	if err != nil {
		return nil, err
	}
	spec := specs[0]
	goals, err := hunt.ParseGoals(f.goals)
	if err != nil {
		return nil, usageError{err}
	}
	s := &hunt.State{Format: 1, Version: version, Started: time.Now().UTC(), Cluster: spec.String(), Goals: goals, Seed: f.seed, Random: f.random, Longest: max(f.length/4, 3*time.Second)}
	for _, other := range specs[1:] {
		s.Others = append(s.Others, other.String())
	}
	if !cmd.Flags().Changed("seed") {
		s.Seed = rand.Uint64N(1_000_000_000)
	}
	for _, name := range f.workloads {
		switch err := hunt.Serves(spec, name); {
		case err == nil:
			s.Workloads = append(s.Workloads, name)
		case cmd.Flags().Changed("workload"):
			return nil, usageError{err}
		}
	}
	if len(s.Workloads) == 0 {
		s.Workloads = []string{entity.Name}
		if err := hunt.Serves(spec, entity.Name); err != nil {
			return nil, usageError{err}
		}
	}
	if s.Options, err = hunt.Choices(spec, f.options); err != nil {
		return nil, err
	}
	if f.plan != "" {
		text, err := os.ReadFile(f.plan)
		if err != nil {
			return nil, usageError{err}
		}
		p, err := hunt.Parse(f.plan, text, specs...)
		if err != nil {
			return nil, err
		}
		s.First = &p
	}
	return s, nil
}
