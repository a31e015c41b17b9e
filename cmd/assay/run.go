package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"assay/report"
	"assay/runner"
	"assay/runner/monitor"
	"assay/runner/series"
	"assay/workload/definition"
)

func newRun(version string, workloads []definition.Workload) *cobra.Command {
	var names []string
	for _, w := range workloads {
		names = append(names, w.Name)
	}
	known := "one of: " + strings.Join(names, ", ")
	cmd := &cobra.Command{
		Use:   "run WORKLOAD",
		Short: "Run a workload against a database and judge it",
		Long: `Run a workload against a database and judge it.

Without --db an embedded SQLite file in the run's folder is used. A relative
path (sqlite:bank.db, in --db or in a scenario) is relative to the directory that
assay is started in; the scenario.yaml that a run leaves holds the whole path.`,
		RunE: onlyWithin("which workload? "+known, "there is no workload", known),
	}
	for _, w := range workloads {
		cmd.AddCommand(newRunOf(version, w))
	}
	return cmd
}

func newRunOf(version string, w definition.Workload) *cobra.Command {
	f := &runFlags{workload: w, scenario: runner.Defaults(w)}
	cmd := &cobra.Command{
		Short: w.Short, Long: w.Long, Example: w.Example,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := setArguments(cmd, w, args); err != nil {
				return err
			}
			for _, name := range w.Unused {
				if cmd.Flags().Changed(name) {
					return usageError{fmt.Errorf("--%s %s", name, w.WhyUnused)}
				}
			}
			p, err := f.resolve(cmd)
			if err == nil {
				err = f.openFiles(cmd, p)
			}
			switch {
			case err != nil:
				return err
			case severalRuns(p):
				return runSeries(cmd, version, p, f)
			}
			return runScenario(cmd, version, p.Base, f)
		},
	}
	takeArguments(cmd, w)
	f.add(cmd)
	for _, name := range w.Unused {
		_ = cmd.Flags().MarkHidden(name) // refused above, with the reason; each is there
	}
	explainFlags(cmd)
	return cmd
}

// takeArguments has a command take the arguments of a workload, and setArguments gives them to its flag.
func takeArguments(cmd *cobra.Command, w definition.Workload) {
	cmd.Use, cmd.Args = w.Name, cobra.NoArgs
	if w.Argument != "" {
		cmd.Use, cmd.Args = w.Name+" FILE", atMostOne
	}
	if w.Several {
		cmd.Use, cmd.Args = w.Name+" FILE...", cobra.ArbitraryArgs
	}
}

func setArguments(cmd *cobra.Command, w definition.Workload, args []string) error {
	for _, arg := range args {
		if err := cmd.Flags().Set(w.Argument, arg); err != nil {
			return usageError{err}
		}
	}
	return nil
}

func atMostOne(_ *cobra.Command, args []string) error {
	if len(args) > 1 {
		return usageError{fmt.Errorf("there are %d files; name one", len(args))}
	}
	return nil
}

func runScenario(cmd *cobra.Command, version string, s runner.Scenario, f *runFlags) error {
	out := cmd.OutOrStdout()
	o, end, err := f.options(cmd, version)
	if err != nil {
		return f.pipeline.failed(out, s.Workload, err)
	}
	defer end()
	var progress closingProgress
	progress, o.Status = f.progress(cmd.ErrOrStderr())
	o.Progress = progress
	outcome, err := runner.Run(cmd.Context(), s, o)
	progress.close()
	if outcome.Result == nil {
		return f.pipeline.failed(out, s.Workload, err)
	}
	// There may be an error beside a result, such as a page that could not be written.
	err = errors.Join(err, show(out, outcome, shown{asJSON: f.json, quiet: f.quiet, verbose: f.verbose, elsewhere: f.pipeline.printed()}))
	return f.pipeline.finish(out, ofResult(outcome.Result, outcome.Report), writePercentiles(f.percentiles, outcome, err))
}

const percentilesUsage = "write the response times of the measured part to this file as HdrHistogram's percentile text, in ms"

func (f *runFlags) openFiles(cmd *cobra.Command, p series.Plan) error {
	if f.percentiles != "" && severalRuns(p) {
		return usageError{errors.New("--hgrm takes one run, and a series has several; assay check DIR --hgrm FILE writes the response times of each")}
	}
	return errors.Join(f.pipeline.open(cmd.Flags(), f.json, cmd.ErrOrStderr()), openPercentiles(f.percentiles))
}

func severalRuns(p series.Plan) bool { return len(p.Axes) > 0 || p.Repeats > 1 }

func openPercentiles(path string) error {
	if path == "" {
		return nil
	}
	if err := refuseOutput("hgrm", path); err != nil {
		return err
	}
	return writable(path)
}

// writePercentiles writes a result's response times, if path is set. It returns shown, and why the
// write failed.
func writePercentiles(path string, o runner.Outcome, shown error) error {
	if path == "" {
		return shown
	}
	return errors.Join(shown, writeTo(path, o.Responses.WritePercentiles))
}

// options also starts agents and, for --metrics or --otlp, metrics. end stops these.
func (f *runFlags) options(cmd *cobra.Command, version string) (o runner.Options, end func(), err error) {
	stderr := cmd.ErrOrStderr()
	o = runner.Options{Version: version, Out: f.out, Servers: f.servers, Progress: silence{stderr}}
	stop := func() {}
	if f.metrics != "" || f.otlp != "" {
		var m *monitor.Metrics
		if m, stop, err = f.watch(cmd.Context(), version, stderr); err != nil {
			return o, nil, err
		}
		o.Monitor = m
	}
	var dismiss func()
	if o.Agents, dismiss, err = f.sharing.share(cmd.Context(), f.watched(), stderr); err != nil {
		stop()
		return o, nil, err
	}
	return o, func() { dismiss(); stop() }, nil
}

// watch offers the runs' figures to others until stop. Its later errors are only notes.
func (f *runFlags) watch(ctx context.Context, version string, stderr io.Writer) (m *monitor.Metrics, stop func(), err error) {
	m = monitor.New(version)
	var ends []io.Closer
	stop = func() {
		for _, end := range ends {
			if err := end.Close(); err != nil {
				fmt.Fprintln(stderr, "note: metrics: "+err.Error())
			}
		}
	}
	if f.metrics != "" {
		server, err := monitor.Serve(f.metrics, m)
		if err != nil {
			return nil, nil, err
		}
		fmt.Fprintf(stderr, "metrics: http://%s/metrics\n", server.Address())
		ends = append(ends, server)
	}
	if f.otlp != "" {
		sender, err := monitor.Send(ctx, f.otlp, version, m)
		if err != nil {
			stop()
			return nil, nil, err
		}
		ends = append(ends, sender)
	}
	return m, stop, nil
}

// watched is the flag that offers figures to others, or empty.
func (f *runFlags) watched() string {
	switch {
	case f.metrics != "":
		return "--metrics"
	case f.otlp != "":
		return "--otlp"
	}
	return ""
}

// shown is the form of a printed result. elsewhere prints nothing, since something else is
// printed. judged leaves out the figures.
type shown struct{ asJSON, quiet, verbose, judged, explain, elsewhere bool }

func show(out io.Writer, o runner.Outcome, form shown) error {
	var err error
	switch {
	case form.elsewhere:
	case form.asJSON:
		err = report.WriteJSON(out, o.Result)
	case form.quiet:
		err = report.Line(out, o.Result)
	default:
		write := report.Brief
		switch {
		case form.verbose:
			write = report.Text
		case form.judged:
			write = report.Judged
		}
		err = write(out, o.Result, report.TextOptions{Width: textWidth(out), Report: o.Report, Explain: form.explain})
	}
	err = printing("result", err)
	return errors.Join(err, exitError(report.ExitOf(o.Result).Code))
}
