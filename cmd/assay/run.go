package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"assay/catalog"
	"assay/report"
	"assay/runner"
	"assay/workload/bank"
)

func newRun(version string) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "run WORKLOAD",
		Short: "Run a workload against a database and judge it",
		Long: `Run a workload against a database and judge it.

Without --db an embedded SQLite file in the run's folder is used. A relative
path (sqlite:bank.db, in --db or in a scenario) is relative to the directory that
assay is started in; the scenario.yaml that a run leaves holds the whole path.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			var names []string
			for _, w := range catalog.Workloads() {
				names = append(names, w.Name)
			}
			known := strings.Join(names, ", ")
			if len(args) == 0 {
				return usageError{fmt.Errorf("which workload? one of: %s", known)}
			}
			return unknownWord(cmd, args[0], "there is no workload", "one of: "+known)
		},
	}
	cmd.AddCommand(newRunBank(version), newRunIsolation(version), newRunAvailability(version), newRunEntity(version), newRunCandles(version), newRunBulkUpdate(version), newRunChurn(version))
	return cmd
}

func newRunBank(version string) *cobra.Command {
	f := newRunFlags(bank.Name)
	cmd := &cobra.Command{
		Use:   bank.Name,
		Short: "Money transfers between accounts, checked to the last one",
		Long: `Money transfers between accounts.

Loads accounts with opening balances, moves money between them from many
clients, reads everything back and checks: the total, each account against the
journal, and each single transfer against what the database had answered.`,
		Example: `  assay run bank
  assay run bank --db postgres://user@localhost/test --clients 16 --duration 1m
  assay run bank --db 'mongodb://localhost/?replicaSet=rs0' --rate 200 --threshold 'p99<100ms'`,
	}
	return f.complete(cmd, version, useless{}, nil)
}

// useless are flags that a workload cannot use, and why it cannot.
type useless struct {
	flags []string
	why   string
}

// complete has the command refuse the flags that are of no use to its workload
// and run the scenario of the others. plan, if it is not nil, says what the
// workload makes of it.
func (f *runFlags) complete(cmd *cobra.Command, version string, no useless, plan func(*runner.Scenario)) *cobra.Command {
	cmd.Args = cobra.NoArgs
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		for _, name := range no.flags {
			if cmd.Flags().Changed(name) {
				return usageError{fmt.Errorf("--%s %s", name, no.why)}
			}
		}
		s, err := f.resolve(cmd)
		if err != nil {
			return err
		}
		if plan != nil {
			plan(&s)
		}
		return runScenario(cmd, version, s, f)
	}
	f.add(cmd)
	for _, name := range no.flags {
		_ = cmd.Flags().MarkHidden(name) // refused above, with the reason; each is there
	}
	return cmd
}

func runScenario(cmd *cobra.Command, version string, s runner.Scenario, f *runFlags) error {
	progress := newProgress(cmd.ErrOrStderr(), f.quiet)
	outcome, err := runner.Run(cmd.Context(), s, runner.Options{
		Version: version, Out: f.out, Servers: f.servers, Progress: progress,
	})
	progress.close()
	if err != nil {
		return err
	}
	return show(cmd.OutOrStdout(), outcome, f.json, f.quiet)
}

// show prints a result in the form that was asked for and returns the error
// that carries its exit code.
func show(out io.Writer, o runner.Outcome, asJSON, quiet bool) error {
	var err error
	switch {
	case asJSON:
		err = report.WriteJSON(out, o.Result)
	case quiet:
		err = report.Line(out, o.Result)
	default:
		err = report.Text(out, o.Result, report.TextOptions{Width: textWidth(out), Report: o.Report})
	}
	if err != nil {
		return fmt.Errorf("print the result: %w", err)
	}
	return shownResult(o.Result)
}
