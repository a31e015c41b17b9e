package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"assay/catalog"
	"assay/report"
	"assay/runner"
	"assay/workload/definition"
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
	for _, w := range catalog.Workloads() {
		cmd.AddCommand(newRunOf(version, w))
	}
	return cmd
}

// newRunOf is the command that runs one workload.
func newRunOf(version string, w definition.Workload) *cobra.Command {
	f := &runFlags{workload: w, scenario: runner.Defaults(w)}
	cmd := &cobra.Command{
		Use: w.Name, Short: w.Short, Long: w.Long, Example: w.Example, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				if err := cmd.Flags().Set(w.Argument, args[0]); err != nil {
					return usageError{err}
				}
			}
			for _, name := range w.Unused {
				if cmd.Flags().Changed(name) {
					return usageError{fmt.Errorf("--%s %s", name, w.WhyUnused)}
				}
			}
			p, err := f.resolve(cmd)
			switch {
			case err != nil:
				return err
			case len(p.Axes) > 0 || p.Repeats > 1:
				return runSeries(cmd, version, p, f)
			}
			return runScenario(cmd, version, p.Base, f)
		},
	}
	if w.Argument != "" {
		cmd.Use, cmd.Args = w.Name+" FILE", atMostOne
	}
	f.add(cmd)
	for _, name := range w.Unused {
		_ = cmd.Flags().MarkHidden(name) // refused above, with the reason; each is there
	}
	return cmd
}

// atMostOne refuses a second argument.
func atMostOne(_ *cobra.Command, args []string) error {
	if len(args) > 1 {
		return usageError{fmt.Errorf("there are %d files; name one", len(args))}
	}
	return nil
}

func runScenario(cmd *cobra.Command, version string, s runner.Scenario, f *runFlags) error {
	watched, stop, err := f.serveMetrics(version, cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	defer stop()
	shared, end, err := f.sharing.share(cmd.Context(), f.metrics, cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	defer end()
	progress, status := f.progress(cmd.ErrOrStderr())
	outcome, err := carryOut(cmd.Context(), s, runner.Options{
		Version: version, Out: f.out, Servers: f.servers, Progress: progress, Monitor: watched, Status: status, Agents: shared,
	})
	progress.close()
	if err != nil {
		return err
	}
	return show(cmd.OutOrStdout(), outcome, shown{asJSON: f.json, quiet: f.quiet})
}

// manyClients is from how many clients on their stacks are most of what a run has in memory.
const manyClients = 1000

// carryOut is runner.Run. With many clients the collector comes twice as often as is
// Go's default, unless GOGC says how often: it lets the heap grow by as much as heap and
// stacks have, though stacks do not become garbage.
func carryOut(ctx context.Context, s runner.Scenario, o runner.Options) (runner.Outcome, error) {
	if s.Load.Clients >= manyClients {
		defer collectAfter(50)()
	}
	return runner.Run(ctx, s, o)
}

// collectAfter has the collector come when the heap has grown by so many percent, unless
// GOGC says when. What it returns ends that.
func collectAfter(percent int) (restore func()) {
	if os.Getenv("GOGC") != "" {
		return func() {}
	}
	before := debug.SetGCPercent(percent)
	return func() { debug.SetGCPercent(before) }
}

// shown is the form in which a result is printed.
type shown struct{ asJSON, quiet, explain bool }

// show prints a result in the form that was asked for and returns the error
// that carries its exit code.
func show(out io.Writer, o runner.Outcome, form shown) error {
	var err error
	switch {
	case form.asJSON:
		err = report.WriteJSON(out, o.Result)
	case form.quiet:
		err = report.Line(out, o.Result)
	default:
		err = report.Text(out, o.Result, report.TextOptions{Width: textWidth(out), Report: o.Report, Explain: form.explain})
	}
	if err != nil {
		return fmt.Errorf("print the result: %w", err)
	}
	return shownResult(o.Result)
}
