package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"assay/check"
	"assay/load"
	"assay/report"
	"assay/runner"
	"assay/runner/advise"
	"assay/runner/series"
	"assay/store"
	"assay/workload/definition"
	"assay/workload/script"
)

type adviseFlags struct {
	plan        advise.Plan
	db, out     string
	servers     string
	json, quiet bool
	markdown    bool
}

func newAdvise(version string) *cobra.Command {
	f := &adviseFlags{plan: advise.Plan{Base: runner.Defaults(script.Definition()), Repeats: 3, Pause: 2}}
	cmd := &cobra.Command{
		Use:   "advise FILE...",
		Short: "Find the isolation level at which your transactions are right",
		Long: `Find the isolation level that makes your transactions right, and what it costs.

FILE is a script as assay run script takes it; several in pgbench's language are
chosen from by their weights (FILE@WEIGHT). Their transactions are run at every
isolation level of the database: with short pauses between their statements, so that
they meet, and without, for the figures; all in turn, and repeated. What must hold is
what the script declares. At a level at which it did not hold, two transactions are
shown that made an anomaly, by its name in the literature.

The statements that were sent are looked at, too: whether any run of them is as if one
followed the other, and if not, which of them conflict. Changes that can be made
without knowing what the script is for are tried at the levels at which it went wrong:
FOR UPDATE, an update of the difference in place of a value, a constraint, on
PostgreSQL SERIALIZABLE for one of several transactions, and on MongoDB a write to
what is read.

The exit code is 0 if a level or a change kept what must hold, 1 if the database broke
what it promises, and 4 if nothing was right. docs/guides/which-level.md has examples.`,
		Example: `  assay advise examples/shop.star --cluster postgres:1
  assay advise examples/doctors.star --db postgres://user@host/test --level 'repeatable read' --level serializable`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, version, args) },
	}
	f.add(cmd)
	return cmd
}

func (f *adviseFlags) add(cmd *cobra.Command) {
	s, flags := &f.plan.Base, cmd.Flags()
	l := &s.Load
	l.Clients, l.Duration, l.Warmup, l.Retry, l.MaxAttempts = 8, 3*time.Second, 500*time.Millisecond, load.RetryFailed, 20
	flags.SortFlags = false
	flags.StringVar(&f.db, "db", "", databaseUsage)
	flags.StringVar(&s.Cluster, "cluster", "", "start servers on this machine for all runs, such as postgres:1; assay cluster --help has all")
	flags.StringVar(&f.servers, "servers", "", "with --cluster: "+serversUsage)
	flags.StringArrayVar(&s.Options, "option", nil, "a parameter of the address; repeatable")
	flags.StringArrayVar(&f.plan.Levels, "level", nil, "an isolation level, as assay isolation-matrix names it; repeatable; all if not given")
	flags.IntVar(&l.Clients, "clients", l.Clients, "how many clients work at once")
	addTime(flags, &l.Duration, "duration", l.Duration, "how long each run is measured")
	addTime(flags, &l.Warmup, "warmup", l.Warmup, "work before that")
	flags.IntVar(&f.plan.Repeats, "repeat", f.plan.Repeats, "how often each level is run, in turn with the others")
	flags.StringVar((*string)(&l.Retry), "retry", string(l.Retry), "after an attempt that did not commit: none, failed or idempotent")
	flags.IntVar(&l.MaxAttempts, "max-attempts", l.MaxAttempts, "with --retry: attempts of one operation")
	addTime(flags, &l.Timeout, "timeout", l.Timeout, "longest time of one attempt")
	addTime(flags, &s.ConnectTimeout, "connect-timeout", s.ConnectTimeout, "longest time to reach the database")
	flags.Uint64Var(&l.Seed, "seed", 0, "source of all randomness; chosen and printed if not given")
	flags.Float64Var(&f.plan.Pause, "pause", f.plan.Pause, "longest pause before each statement of a transaction but the first, in milliseconds, where transactions are to meet")
	flags.StringVar(&f.out, "out", "", "the folder: new, empty, or with --db an interrupted advise's, which goes on (default runs/<time>-advise)")
	flags.BoolVar(&f.json, "json", false, "print advice.json on standard output")
	flags.BoolVar(&f.markdown, "markdown", false, "print the report as Markdown")
	flags.BoolVar(&f.quiet, "quiet", false, "no progress")
	for _, own := range s.Config.Flags() {
		if flags.Lookup(own.Name) == nil && !slices.Contains([]string{"script", "pause"}, own.Name) {
			addFlag(flags, own)
		}
	}
}

func (f *adviseFlags) validate(cmd *cobra.Command, files []string) error {
	s := &f.plan.Base
	given, _ := definition.Lookup(s.Config, "script")
	for _, file := range files {
		if err := given.Value.(interface{ Set(string) error }).Set(file); err != nil {
			return usageError{err}
		}
	}
	switch {
	case s.Config.(*script.Config).File == "":
		return usageError{errors.New("there is no script; want assay advise FILE, or several in pgbench's language as FILE@WEIGHT")}
	case f.json && f.markdown:
		return usageError{errors.New("--json and --markdown exclude each other")}
	case f.db != "" && s.Cluster != "":
		return usageError{errors.New("--db and --cluster exclude each other: one names a database that runs, the other starts one")}
	case f.plan.Repeats < 1:
		return usageError{fmt.Errorf("--repeat %d makes no run; want 1 or more", f.plan.Repeats)}
	case s.Load.Clients < 2:
		return usageError{fmt.Errorf("--clients %d lets no transactions meet; want 2 or more", s.Load.Clients)}
	case !(f.plan.Pause > 0 && f.plan.Pause <= 1000):
		return usageError{fmt.Errorf("--pause %g lets no transactions meet; want more than 0, and at most 1000 milliseconds", f.plan.Pause)}
	}
	if s.Cluster == "" {
		address, err := databaseAddress(f.db, cmd.ErrOrStderr())
		if err != nil {
			return err
		}
		s.Database = address
	}
	if !cmd.Flags().Changed("seed") {
		s.Load.Seed = seedOf(filepath.Join(f.out, advise.FolderLevels))
	}
	return s.Validate()
}

// checkFolder refuses a folder of other things, which the report would replace.
func (f *adviseFlags) checkFolder() error {
	if f.out == "" {
		return nil
	}
	if _, missing := os.Stat(filepath.Join(f.out, advise.FolderLevels, report.FileSeries)); missing == nil {
		return nil // an earlier advise's
	}
	return runner.CheckFolder(f.out)
}

func (f *adviseFlags) run(cmd *cobra.Command, version string, files []string) (err error) {
	if err := errors.Join(f.validate(cmd, files), f.checkFolder()); err != nil {
		return err
	}
	if f.out == "" {
		f.out = filepath.Join("runs", time.Now().UTC().Format("20060102T150405Z")+"-advise")
	}
	stderr := cmd.ErrOrStderr()
	each := runner.Options{Version: version, Servers: f.servers, Progress: silence{io.Discard}}
	command := f.command(cmd) // the servers that are started take the cluster's place
	scenario, stop, err := runner.StartServers(cmd.Context(), f.plan.Base, each)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	f.plan.Base = scenario
	ctx, cancel := context.WithCancelCause(cmd.Context())
	defer cancel(nil)
	o := series.Options{Version: version, Out: f.out, Progress: &roundsProgress{seriesProgress{out: stderr, quiet: f.quiet}},
		Run: func(ctx context.Context, s runner.Scenario, folder string) (*report.Result, error) {
			each.Out = folder
			outcome, err := runner.Run(ctx, s, each)
			if wrong := (*script.Error)(nil); errors.As(err, &wrong) && len(s.Config.(*script.Config).Mend.Setup) == 0 {
				cancel(err) // the script is wrong in all the others, too
			}
			return outcome.Result, err
		}}
	a, err := advise.Run(ctx, f.plan, o)
	if wrong := context.Cause(ctx); wrong != nil && cmd.Context().Err() == nil {
		err = wrong
	} else if errors.Is(err, context.Canceled) {
		if !cmd.Flags().Changed("cluster") { // whose servers have another address next time
			describeInterruption(stderr, f.out)
		}
		err = endedSeries(err)
	}
	return f.conclude(cmd, a, command, err)
}

// conclude shows the advice. One that an error has ended early is shown if it has a broken promise,
// which the error does not take back.
func (f *adviseFlags) conclude(cmd *cobra.Command, a *advise.Advice, command string, ended error) error {
	if ended != nil && (a == nil || a.Verdict() != check.Violated) {
		return ended
	}
	return errors.Join(ended, f.show(cmd, a, command))
}

// roundsProgress writes a line before each run, and one after a run that could not be made.
type roundsProgress struct{ seriesProgress }

func (p *roundsProgress) Ended(r report.SeriesRun, result *report.Result) {
	if result == nil {
		p.seriesProgress.Ended(r, nil)
	}
}

// command repeats the command line without a password.
func (f *adviseFlags) command(cmd *cobra.Command) string {
	words := append([]string{"assay", "advise"}, f.plan.Base.Config.(*script.Config).Files()...)
	cmd.Flags().Visit(func(flag *pflag.Flag) {
		switch value := flag.Value.String(); flag.Name {
		case "seed", "out", "json", "markdown", "quiet", "file":
		case "db":
			words = append(words, "--db", shownAddress(value, store.Redact(f.plan.Base.Database)))
		default:
			if list, is := flag.Value.(pflag.SliceValue); is {
				for _, v := range list.GetSlice() {
					words = append(words, "--"+flag.Name, v)
				}
			} else {
				words = append(words, "--"+flag.Name, value)
			}
		}
	})
	return report.CommandLine(append(words, "--seed", strconv.FormatUint(f.plan.Base.Load.Seed, 10)))
}

func (f *adviseFlags) show(cmd *cobra.Command, a *advise.Advice, command string) error {
	out := cmd.OutOrStdout()
	d := a.Document(command)
	page := filepath.Join(f.out, runner.FileReport)
	kept := errors.Join(writeTo(page, d.HTML), writeTo(filepath.Join(f.out, "report.md"), d.Markdown),
		writeTo(filepath.Join(f.out, "advice.json"), func(w io.Writer) error { return printJSON(w, a) }))
	var err error
	switch {
	case f.json:
		err = printJSON(out, a)
	case f.markdown:
		err = d.Markdown(out)
	default:
		err = showDocument(out, d, "text", page)
	}
	err = printing("advice", err)
	return errors.Join(kept, err, exitError(map[check.Verdict]int{check.Valid: exitValid, check.Violated: exitViolated, check.Unknown: exitNoVerdict}[a.Verdict()]))
}
