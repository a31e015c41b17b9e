package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"assay/check/cycle"
	"assay/internal/quantity"
	"assay/report"
	"assay/report/junit"
	"assay/runner"
	"assay/runner/agents"
	"assay/runner/histories"
)

type checkFlags struct {
	histories.Options      // as far as flags have the types of its fields
	db, engine             string
	total, memory          string
	models                 bool
	asJSON, quiet, verbose bool
	pipeline               pipelineFlags
	percentiles            string
}

func newCheck(version string) *cobra.Command {
	f := checkFlags{Options: histories.Options{Timeout: 10 * time.Minute}}
	cmd := &cobra.Command{
		Use:   "check DIR|FILE",
		Short: "Judge a saved run again, or another tool's history",
		Long: `Judge a saved run again, from the files in its folder, or the history of another
tool: Jepsen's EDN, JSON lines or log, as it is or compressed with gzip or zstd
(docs/guides/history-of-another-tool.md); of FILE - it is read from standard input. What such a
history itself does not tell can be given: the value that its registers began
with, or the accounts of its bank, their total, and whether they may be below
zero.

A run that was cut before it had read its database (assay or its machine was
killed) is judged too: its database is read now, from the address in the run's
scenario or from --db. What was acknowledged is judged; what was in flight is
unknown. The database is only read, and only if it still holds this run.

The answer replaces result.json and report.html in the folder, which is the same
however often it is done. It is only shown, and says so, if it is judged against
another --model than the run's own, or if it decides less than the judgement in
the folder.`,
		Example: `  assay check runs/20261121T095107Z-bank-sqlite
  assay check history.edn --model serializable
  assay check history.jsonl --json
  assay check history.edn --explain
  assay check rw-register.edn --model serializable --assume linearizable-keys
  assay check --models
  assay check register.edn --initial 0
  assay check bank.edn --total 100 --accounts 0..7
  zcat history.edn.gz | assay check -`,
		Args: func(cmd *cobra.Command, args []string) error {
			if f.models && len(args) == 0 {
				return nil
			}
			return oneArgument("the run's folder, or a history")(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, version, args) },
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVar(&f.db, "db", "", "read the run's database again: "+databaseUsage)
	flags.StringVar(&f.engine, "engine", "", "of a run by agents: take what they have delivered since from "+engineUsage)
	flags.StringVar(&f.Model, "model", "", "the consistency model that is judged, such as serializable; of a folder for this answer alone; of a FILE strict-serializable if not given")
	flags.BoolVar(&f.models, "models", false, "print the consistency models, weaker ones first, with what a verdict on each rests on, and judge nothing")
	flags.BoolVar(&f.Explain, "explain", false, "tell what was wrong in the order of time, with a picture of the smallest part of the history that shows it")
	f.addHistory(flags)
	addTime(flags, &f.Timeout, "timeout", f.Timeout, "of a FILE: the longest search; what is not found by then is unknown")
	flags.StringVar(&f.memory, "memory", "", "of a FILE of registers: what the search for an order may keep, such as 4GiB; half of the memory of the machine or of its control group if not given")
	f.addOutput(flags)
	return cmd
}

// addHistory adds flags for what another tool's history does not tell itself.
func (f *checkFlags) addHistory(flags *pflag.FlagSet) {
	flags.StringVar(&f.Test, "test", "", "of a FILE: the kind of its history, where its operations do not tell it: "+strings.Join(histories.TestNames(), ", "))
	flags.StringSliceVar(&f.Assume, "assume", nil, "of a FILE of transactions: what else orders the writes of a key: linearizable-keys, sequential-keys, and of registers wfr-keys; what is found then breaks the model or the assumption")
	flags.StringVar(&f.Initial, "initial", "", "of a FILE of registers: what each held before the first write, as EDN writes it (0, true, \"text\", :word); nil if not given")
	flags.StringVar(&f.total, "total", "", "of a FILE of a bank: the whole number that all accounts must add up to; what most reads saw if not given")
	flags.StringSliceVar(&f.Accounts, "accounts", nil, "of a FILE of a bank: its accounts, such as 0..7 or 1,2,:savings: each read must show all of them and no other; all that are named anywhere if not given, and then a read that lacks one leaves the verdict unknown")
	flags.BoolVar(&f.NegativeBalances, "negative-balances", false, "of a FILE of a bank: accounts may go below zero")
}

func (f *checkFlags) run(cmd *cobra.Command, version string, args []string) error {
	if f.models {
		if err := alone(cmd, "models", args); err != nil {
			return err
		}
		return printModels(cmd.OutOrStdout())
	}
	if f.Explain && f.quiet {
		return usageError{errors.New("--explain tells more, and --quiet less; leave one of them out")}
	}
	if err := errors.Join(f.pipeline.open(cmd.Flags(), f.asJSON, cmd.ErrOrStderr()), openPercentiles(f.percentiles)); err != nil {
		return err
	}
	info, err := os.Stat(args[0])
	switch {
	case args[0] == histories.StandardInput, err == nil && !info.IsDir():
		return f.file(cmd, args[0])
	case errors.Is(err, os.ErrNotExist):
		return usageError{fmt.Errorf("%s does not exist; name a history, the folder of a run, or - for standard input", args[0])}
	}
	return f.folder(cmd, version, args[0])
}

func (f *checkFlags) addOutput(flags *pflag.FlagSet) {
	f.pipeline.add(flags)
	flags.StringVar(&f.percentiles, "hgrm", "", "of a run's folder: "+percentilesUsage)
	flags.BoolVar(&f.asJSON, "json", false, "print the answer as JSON on standard output")
	flags.BoolVar(&f.quiet, "quiet", false, "no progress; the summary is one line")
	flags.BoolVar(&f.verbose, "verbose", false, "of a run's folder: print its whole report, and not only what was judged")
}

func (f *checkFlags) folder(cmd *cobra.Command, version, path string) error {
	for _, name := range []string{"test", "initial", "total", "assume", "accounts", "negative-balances", "timeout", "memory"} {
		if cmd.Flags().Changed(name) {
			return usageError{fmt.Errorf("--%s goes with a history of another tool; %s is a folder", name, path)}
		}
	}
	db, err := databaseAddress(f.db, cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	var engine *agents.Engine
	if cmd.Flags().Changed("engine") {
		address, err := engineAddress("--engine", f.engine, cmd.ErrOrStderr())
		if err == nil {
			engine, err = agents.Open(cmd.Context(), address)
		}
		if err != nil {
			return err
		}
		defer engine.Close()
	}
	progress := newProgress(cmd.ErrOrStderr(), f.quiet)
	outcome, err := runner.Recheck(cmd.Context(), path, runner.RecheckOptions{
		Version: version, Database: db, Again: cmd.Flags().Changed("db"), Model: f.Model, Progress: progress, Engine: engine,
	})
	progress.close()
	out := cmd.OutOrStdout()
	if outcome.Result == nil {
		return f.pipeline.failed(out, "check", err)
	}
	err = errors.Join(err, show(out, outcome, shown{asJSON: f.asJSON, quiet: f.quiet, verbose: f.verbose, judged: true, explain: f.Explain, elsewhere: f.pipeline.printed()}))
	return f.pipeline.finish(out, ofResult(outcome.Result, outcome.Report), writePercentiles(f.percentiles, outcome, err))
}

func (f *checkFlags) historyOptions(cmd *cobra.Command) (histories.Options, error) {
	if f.Timeout <= 0 {
		return histories.Options{}, usageError{fmt.Errorf("--timeout %v cannot be used; want more than 0, such as 10m", f.Timeout)}
	}
	o := f.Options
	if cmd.Flags().Changed("memory") {
		size, err := quantity.Parse(f.memory)
		if err != nil || size == 0 {
			return histories.Options{}, usageError{fmt.Errorf("--memory %q cannot be used; want a size above 0, such as 4GiB", f.memory)}
		}
		o.Memory = size
	}
	for name, given := range map[string]bool{"test": f.Test != "", "model": f.Model != "", "assume": len(f.Assume) > 0} {
		if cmd.Flags().Changed(name) && !given {
			return histories.Options{}, usageError{fmt.Errorf(`--%s "" cannot be used; name one, or leave the flag out`, name)}
		}
	}
	if cmd.Flags().Changed("initial") && f.Initial == "" {
		return histories.Options{}, usageError{errors.New(`--initial "" cannot be used; want a value as EDN writes it, such as nil, 0 or :word`)}
	}
	if cmd.Flags().Changed("accounts") && len(f.Accounts) == 0 {
		return histories.Options{}, usageError{errors.New(`--accounts "" cannot be used; want accounts as EDN writes them, such as 0..7 or 1,2,:savings`)}
	}
	if cmd.Flags().Changed("total") {
		total, err := strconv.ParseInt(f.total, 10, 64)
		if err != nil {
			return histories.Options{}, usageError{fmt.Errorf("--total %q cannot be used; want a whole number of 64 bits, such as 100", f.total)}
		}
		o.Total = &total
	}
	return o, nil
}

func (f *checkFlags) file(cmd *cobra.Command, path string) error {
	for _, name := range []string{"db", "engine", "hgrm", "verbose"} {
		if cmd.Flags().Changed(name) {
			return usageError{fmt.Errorf("--%s goes with a run's folder; %s is a file", name, path)}
		}
	}
	o, err := f.historyOptions(cmd)
	if err != nil {
		return err
	}
	bar := newReading(cmd.ErrOrStderr(), f.quiet)
	if bar != nil {
		o.Read = bar.show
	}
	// A history lies in flat arrays that the collector need not scan. Frequent collections cost
	// little and hold memory down.
	defer runner.CollectAfter(10)()
	history, err := histories.Check(cmd.Context(), path, o)
	bar.close()
	out := cmd.OutOrStdout()
	if err != nil {
		return f.pipeline.failed(out, "check", err)
	}
	switch {
	case f.pipeline.printed():
	case f.asJSON:
		err = history.JSON(out)
	case f.quiet:
		err = history.Line(out)
	default:
		err = history.Text(out, report.TextOptions{Width: textWidth(out), Explain: f.Explain})
	}
	err = printing("answer", err)
	return f.pipeline.finish(out, answer{name: "assay check", suites: []junit.Suite{history.Tests()}, summary: history.Summary}, errors.Join(err, exitError(history.Exit())))
}

// alone refuses other arguments beside a flag that judges nothing.
func alone(cmd *cobra.Command, name string, args []string) error {
	err := error(nil)
	cmd.Flags().Visit(func(other *pflag.Flag) {
		if other.Name != name {
			err = usageError{fmt.Errorf("--%s judges nothing, so --%s has no effect; leave one of them out", name, other.Name)}
		}
	})
	if len(args) > 0 {
		err = usageError{fmt.Errorf("--%s judges nothing; leave %s out", name, args[0])}
	}
	return err
}

// printModels lists the models with the basis of each verdict.
func printModels(out io.Writer) error {
	for _, m := range cycle.Models() {
		if _, err := fmt.Fprintf(out, "%-34s %s\n", m, cycle.Basis(m)); err != nil {
			return fmt.Errorf("print the models: %w", err)
		}
	}
	return nil
}
