package main

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"assay/fault"
	"assay/report"
	"assay/runner"
	"assay/runner/catalog"
	"assay/runner/nodes"
	"assay/runner/series"
	"assay/store"
	"assay/workload/definition"
)

type perSecond struct{ value *float64 }

func (p perSecond) String() string {
	if p.value == nil || *p.value == 0 {
		return ""
	}
	return strconv.FormatFloat(*p.value, 'g', -1, 64)
}

func (p perSecond) Set(text string) error {
	v, err := strconv.ParseFloat(strings.TrimSuffix(text, "/s"), 64)
	if err != nil || !(v > 0) {
		return fmt.Errorf("%q is not a number a second above 0, such as 100 or 0.5/s", text)
	}
	*p.value = v
	return nil
}

func (p perSecond) Type() string { return "per-second" }

type shareOfAll struct{ value *float64 }

func (p shareOfAll) String() string {
	if p.value == nil {
		return ""
	}
	return strconv.FormatFloat(*p.value, 'g', -1, 64) + "%"
}

func (p shareOfAll) Set(text string) error {
	v, err := strconv.ParseFloat(strings.TrimSuffix(text, "%"), 64)
	if err != nil || !(v > 0 && v <= 100) {
		return fmt.Errorf("%q is not a share above 0%% and up to 100%%, such as 25%%", text)
	}
	*p.value = v
	return nil
}

func (p shareOfAll) Type() string { return "percent" }

type runFlags struct {
	workload             definition.Workload
	scenario             runner.Scenario
	scenarioFile         string
	out, servers         string
	json, quiet, verbose bool
	plain                bool
	// Each may have several values, one for each configuration of a series.
	databases, clusters []string
	clients             numbers
	rates               numbers
	repeat              int
	// untilValid is how often a study repeats a run whose measurement is invalid.
	untilValid int
	sharing    agentFlags
	// metrics is where to serve figures for Prometheus, or empty.
	metrics string
	// otlp is where to send figures by OTLP, or empty.
	otlp string
	// pipeline are files for the programs around assay; percentiles is one for a single run.
	pipeline    pipelineFlags
	percentiles string
}

const serversUsage = "a folder that holds server programs, searched first; then come the system's, then those of the folder ASSAY_SERVERS"

func (f *runFlags) add(cmd *cobra.Command) {
	s, l, flags := &f.scenario, &f.scenario.Load, cmd.Flags()
	flags.SortFlags = false
	flags.StringArrayVar(&f.databases, "db", nil, databaseUsage+"; several make a series")
	flags.StringArrayVar(&f.clusters, "cluster", nil, "start servers on this machine for the run, such as mongodb:3; assay cluster --help has all; several make a series; or k8s:FILE, with --db: apply a manifest of Kubernetes, and delete it")
	flags.StringVar(&s.Kubernetes, "kubernetes", s.Kubernetes, "with --db: the pods of that database, as NAMESPACE/SELECTOR such as db/app=mongodb; they are its nodes")
	flags.StringVar(&s.Nodes, "nodes", s.Nodes, "with --db: a file of the machines of that database and of commands that break and heal them, such as ssh")
	flags.StringArrayVar(&s.Faults, "fault", s.Faults, "with --cluster, --kubernetes or --nodes: a fault, such as 'kill primary every 20s for 5s' or 'isolate primary at 10s for ever', or a YAML file of Chaos Mesh. "+fault.DefaultTimes+". Repeatable; 'none | kill primary at 5s' makes a series")
	flags.StringVar(&f.servers, "servers", "", "with --cluster: "+serversUsage)
	flags.StringArrayVar(&s.Options, "option", s.Options, "a parameter of the address, such as w=1; repeatable, and of use with --cluster; 'w=1 | w=majority' makes a series")
	f.clients.set(float64(l.Clients))
	flags.Var(&f.clients, "clients", "how many clients work at once; 1,2,4 or 1..64 (doubled each time) makes a series")
	if l.Rate > 0 {
		f.rates.set(l.Rate)
	}
	flags.Var(&f.rates, "rate", "open loop: arrivals a second over all clients, timed from due; several, as with --clients, make a series")
	flags.IntVar(&f.repeat, "repeat", 1, "how many runs to make, with seeds that count up: a series, whose folder goes on if it was interrupted")
	flags.StringVar((*string)(&l.Arrivals), "arrivals", string(l.Arrivals), "with --rate: poisson (the default) or uniform")
	addTime(flags, &l.Duration, "duration", l.Duration, "how long is measured")
	flags.Uint64Var(&l.Ops, "ops", l.Ops, "measure this many operations, however long they take")
	addTime(flags, &l.Warmup, "warmup", l.Warmup, "work before the measured part (checked, not measured); 0s with --ops")
	flags.Var(perSecond{&l.Ramp}, "ramp", "clients that start each second, such as 1/s; all at once without it")
	flags.StringVar((*string)(&l.Retry), "retry", string(l.Retry), "after an attempt that did not commit: none, failed (repeat what had no effect) or idempotent (also what is unknown, under the same id)")
	flags.IntVar(&l.MaxAttempts, "max-attempts", l.MaxAttempts, "with --retry: attempts of one operation")
	addTime(flags, &l.Timeout, "timeout", l.Timeout, "longest time of one attempt")
	addTime(flags, &s.ConnectTimeout, "connect-timeout", s.ConnectTimeout, "longest time to reach the database")
	flags.StringVar(&s.Isolation, "isolation", s.Isolation, "one of the database's own isolation levels; several, parted by |, make a series")
	flags.Uint64Var(&l.Seed, "seed", l.Seed, "source of all randomness; chosen and printed if not given")
	flags.StringArrayVar(&s.Thresholds, "threshold", s.Thresholds, "a limit to keep, such as 'p99<50ms', 'p99<1s during faults' or 'outage<10s'; repeatable")
	flags.BoolVar(&s.Strict, "strict", s.Strict, "exit code 4 if the measurement is invalid, also where no threshold rests on it")
	flags.Var(shareOfAll{&s.OtherWork}, "other-work", "largest share of this machine's processors that other programs may use in a valid measurement")
	flags.StringVar(&s.Judge, "judge", s.Judge, "promise: exit code 1 for a broken promise alone, as without the flag; found: also for what the manual allows")
	flags.StringVar(&f.out, "out", "", "the run's folder; it must be new or empty (default runs/<time>-...)")
	flags.StringVar(&f.scenarioFile, "scenario", "", "a scenario.yaml to start from; other flags change it")
	flags.BoolVar(&s.NoServerStats, "no-server-stats", s.NoServerStats, "do not look, once a second, at what the servers are doing")
	flags.BoolVar(&s.Overhead, "overhead", s.Overhead, "measure for 3 s afterwards, on a store that answers at once, what assay itself takes at the run's pace")
	flags.StringVar(&s.Price, "price", s.Price, report.PriceForm+": the report says what a million transactions and a GB cost; arbiters count, servers beside the nodes do not")
	flags.BoolVar(&s.UseExisting, "use-existing", s.UseExisting, "for workloads that can: use tables that are there already in --db; assay names the tables that it reads and writes, and makes, loads, marks, alters and drops nothing")
	flags.BoolVar(&s.Drop, "drop", s.Drop, "drop assay's own data from the database at the end")
	_, ownEngine := definition.Lookup(s.Config, "engine")
	f.sharing.add(flags, ownEngine)
	flags.StringVar(&f.metrics, "metrics", "", "serve figures for Prometheus while it runs, at HOST:PORT/metrics, such as 127.0.0.1:9464")
	flags.StringVar(&f.otlp, "otlp", "", "send the same figures to this receiver of OTLP over HTTP, such as http://127.0.0.1:4318; env for the one that OTEL_EXPORTER_OTLP_ENDPOINT names")
	f.pipeline.add(flags)
	flags.StringVar(&f.percentiles, "hgrm", "", percentilesUsage)
	flags.BoolVar(&f.json, "json", false, "print result.json on standard output instead of the summary")
	flags.BoolVar(&f.quiet, "quiet", false, "no progress; the summary is one line")
	flags.BoolVar(&f.verbose, "verbose", false, "print all figures at the end, in place of about twelve lines")
	flags.BoolVar(&f.plain, "plain", false, "progress in lines, also on a terminal")
	for _, own := range s.Config.Flags() {
		addFlag(flags, own)
	}
}

func addFlag(flags *pflag.FlagSet, f definition.Flag) {
	switch v := f.Value.(type) {
	case *string:
		flags.StringVar(v, f.Name, *v, f.Usage)
	case *int:
		flags.IntVar(v, f.Name, *v, f.Usage)
	case *int64:
		flags.Int64Var(v, f.Name, *v, f.Usage)
	case *float64:
		flags.Float64Var(v, f.Name, *v, f.Usage)
	case *bool:
		flags.BoolVar(v, f.Name, *v, f.Usage)
	case pflag.Value:
		flags.VarP(v, f.Name, f.Short, f.Usage)
	}
}

// provided reports whether all clusters are Kubernetes manifests, whose address the user gives.
func (f *runFlags) provided(s runner.Scenario) bool {
	if len(f.clusters) == 0 {
		return nodes.IsManifest(s.Cluster)
	}
	return !slices.ContainsFunc(f.clusters, func(c string) bool { return !nodes.IsManifest(c) })
}

// resolve turns the flags into the plan of a series, usually of one run. A value of --scenario
// holds where no flag is given.
func (f *runFlags) resolve(cmd *cobra.Command) (series.Plan, error) {
	set := cmd.Flags().Changed
	if f.scenarioFile != "" {
		return f.fromFile(cmd)
	}
	s := f.scenario
	if set("ops") && !set("warmup") {
		s.Load.Warmup = 0
	}
	if !set("seed") {
		s.Load.Seed = seedOf(f.out)
	}
	return f.finish(cmd, s)
}

// seedOf is the seed of the series to continue in a folder, or else a new one.
func seedOf(folder string) uint64 {
	if folder != "" {
		if before, err := report.ReadSeries(folder); err == nil {
			return before.Seed
		}
	}
	return rand.Uint64N(1_000_000_000)
}

func (f *runFlags) finish(cmd *cobra.Command, s runner.Scenario) (series.Plan, error) {
	p := series.Plan{Repeats: f.repeat}
	if cmd.Flags().Changed("ops") && cmd.Flags().Changed("duration") {
		return p, usageError{errors.New("--ops and --duration exclude each other: both say how much is measured")}
	}
	if cmd.Flags().Changed("ops") && s.Load.Ops == 0 {
		return p, usageError{errors.New("--ops 0 would measure nothing; want 1 or more")}
	}
	if f.repeat < 1 {
		return p, usageError{fmt.Errorf("--repeat %d makes no run; want 1 or more", f.repeat)}
	}
	if len(f.databases) > 0 && (s.Cluster != "" || len(f.clusters) > 0) && !f.provided(s) {
		return p, usageError{errors.New("--db and --cluster exclude each other: one names a database that runs, the other starts one")}
	}
	var err error
	if s.Faults, err = translated(cmd, s, s.Faults); err != nil {
		return p, err
	}
	axes, err := f.axes(cmd, s)
	if err != nil {
		return p, err
	}
	for _, axis := range axes {
		if len(axis.Choices) == 1 {
			axis.Choices[0].Apply(&s)
		} else {
			p.Axes = append(p.Axes, axis)
		}
	}
	if c, may := s.Config.(definition.Proposing); may {
		notes, err := c.Propose(&s.Load, cmd.Flags().Changed)
		if err != nil {
			return p, err
		}
		for _, note := range notes {
			fmt.Fprintln(cmd.ErrOrStderr(), "note: "+note)
		}
	}
	s.Plan()
	if store.Redacted(s.Database) {
		return p, usageError{fmt.Errorf("the scenario's address is kept without its password; give the whole one with --db or %s", databaseVariable)}
	}
	p.Base = s
	if len(p.Axes) > 0 {
		return p, nil // each combination is validated
	}
	return p, s.Validate()
}

// fromFile applies the given flags on top of the file's values.
func (f *runFlags) fromFile(cmd *cobra.Command) (series.Plan, error) {
	base, err := runner.ReadScenario(f.scenarioFile)
	if err != nil {
		return series.Plan{}, err
	}
	if base.Workload != f.workload.Name {
		return series.Plan{}, usageError{fmt.Errorf("scenario %s is of workload %s; write assay run %s", f.scenarioFile, base.Workload, base.Workload)}
	}
	again := &runFlags{workload: f.workload, scenario: base}
	twin := &cobra.Command{Use: cmd.Use}
	again.add(twin)
	var failed error
	cmd.Flags().Visit(func(flag *pflag.Flag) {
		target := twin.Flags().Lookup(flag.Name)
		if target == nil || failed != nil {
			return
		}
		if list, ok := flag.Value.(pflag.SliceValue); ok {
			failed = target.Value.(pflag.SliceValue).Replace(list.GetSlice())
			return
		}
		failed = target.Value.Set(flag.Value.String())
	})
	if failed != nil {
		return series.Plan{}, usageError{failed}
	}
	if cmd.Flags().Changed("duration") {
		again.scenario.Load.Ops = 0
	}
	return again.finish(cmd, again.scenario)
}

const (
	databaseVariable = "ASSAY_DB"
	// filePrefix and environmentPrefix begin a --db that says where the address is.
	filePrefix        = "@"
	environmentPrefix = "env:"
	databaseUsage     = "the database's address, @FILE or env:NAME that holds it; may come from " + databaseVariable + " (all three keep a password off the command line)"
)

// mostAddress is in bytes.
const mostAddress = 64 << 10

// databaseAddress is addressOf --db, or else of the environment; it may be empty.
func databaseAddress(db string, stderr io.Writer) (string, error) {
	return addressOf("--db", db, stderr)
}

// addressOf returns the address of a flag, with its password. It turns libpq's keywords and values
// into a URL. It refuses an address that assay has shown, which lacks the password. It warns of a
// password on the command line, which every user of the machine can read. Errors are usage errors
// and hold nothing of the address.
func addressOf(flag, db string, stderr io.Writer) (string, error) {
	address, written, err := namedAddress(flag, db)
	if err == nil {
		address, err = catalog.URL(address)
	}
	if err != nil {
		return "", usageError{err}
	}
	if store.Redacted(address) {
		return "", usageError{fmt.Errorf("%s: the database's address is without its password, as assay shows addresses; give the whole one, by %s", flag, wayOf(flag))}
	}
	if written && store.HoldsPassword(address) {
		warnOfPassword(stderr, flag, wayOf(flag))
	}
	return address, nil
}

// warnOfPassword names ways that keep the password off the command line.
func warnOfPassword(stderr io.Writer, flag, ways string) {
	fmt.Fprintf(stderr, "warning: %s has a password, which every user of this machine can read in the list of processes; use %s\n", flag, ways)
}

// wayOf keeps a database's password off the command line.
func wayOf(flag string) string {
	way := flag + " @FILE or " + flag + " env:NAME"
	if flag == "--db" {
		return databaseVariable + ", " + way
	}
	return way
}

// shownAddress is how a command that can be repeated has the value of a flag: @FILE and env:NAME as they
// were given, since they have no password, and else what is shown of the address.
func shownAddress(given, shown string) string {
	if strings.HasPrefix(given, filePrefix) || strings.HasPrefix(given, environmentPrefix) {
		return given
	}
	return shown
}

// namedAddress is the address that the flag names, and whether the flag contains it.
func namedAddress(flag, db string) (address string, written bool, err error) {
	if path, is := strings.CutPrefix(db, filePrefix); is {
		address, err = addressInFile(flag, path)
		return address, false, err
	}
	if name, is := strings.CutPrefix(db, environmentPrefix); is {
		address := strings.TrimSpace(os.Getenv(name))
		if address == "" {
			return "", false, fmt.Errorf("%s env:%s: the environment has no variable %s, or it is empty", flag, name, name)
		}
		return address, false, nil
	}
	if db == "" {
		return os.Getenv(databaseVariable), false, nil
	}
	return db, true, nil
}

func addressInFile(flag, path string) (string, error) {
	bad := func(err error) (string, error) { return "", fmt.Errorf("%s @%s: %w", flag, path, err) }
	file, err := os.Open(path)
	if err != nil {
		return bad(errors.Unwrap(err)) // without the path, which is there already
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, mostAddress))
	if err != nil {
		return bad(errors.Unwrap(err))
	}
	address := strings.TrimSpace(string(text))
	if address == "" || strings.ContainsAny(address, "\r\n") {
		return bad(errors.New("the file is to hold one line, the database's address"))
	}
	return address, nil
}
