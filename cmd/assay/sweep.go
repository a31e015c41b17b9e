package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"assay/internal/quantity"
	"assay/load"
	"assay/measure"
	"assay/report"
	"assay/report/compare"
	"assay/report/scalability"
	"assay/runner"
	"assay/runner/series"
	"assay/workload/definition"
)

func newSweep(version string, workloads []definition.Workload) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "sweep WORKLOAD",
		Short: "Measure against load, and find the highest rate within limits",
		Long: `Measure throughput and response time against load.

A sweep is a series over --clients (1..64 if that is not given), to whose throughput
the Universal Scalability Law is fitted. With --slo it then searches the highest
rate of arrivals, in an open loop, that keeps an objective such as 'p99<100ms',
and confirms it by a second run.`,
		Example: `  assay sweep bank --duration 3s --clients 1..8 --slo 'p99<100ms'`,
		RunE:    onlyWithin("which workload? assay list has them", "there is no workload to sweep", "assay list has them"),
	}
	for _, w := range workloads {
		if !slices.Contains(w.Unused, "rate") {
			cmd.AddCommand(newSweepOf(version, w))
		}
	}
	return cmd
}

const sweepClients = "1..64"

type sweepFlags struct {
	runFlags
	objective string
}

func newSweepOf(version string, w definition.Workload) *cobra.Command {
	f := &sweepFlags{runFlags: runFlags{workload: w, scenario: runner.Defaults(w)}}
	cmd := &cobra.Command{
		Short: "Sweep workload " + w.Name,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := setArguments(cmd, w, args); err != nil {
				return err
			}
			return f.run(cmd, version)
		},
	}
	takeArguments(cmd, w)
	f.add(cmd)
	cmd.Flags().StringVar(&f.objective, "slo", "", "find the highest rate that keeps this, such as 'p99<100ms'")
	for _, name := range append(w.Unused, "rate", "arrivals") {
		_ = cmd.Flags().MarkHidden(name) // each is there
	}
	explainFlags(cmd)
	return cmd
}

func (f *sweepFlags) run(cmd *cobra.Command, version string) error {
	if cmd.Flags().Changed("rate") {
		return usageError{errors.New("--rate is what --slo searches; a sweep itself varies --clients")}
	}
	if _, err := measure.ParseThreshold(f.objective); f.objective != "" && err != nil {
		return err
	}
	if !cmd.Flags().Changed("clients") {
		if err := cmd.Flags().Set("clients", sweepClients); err != nil {
			return err
		}
	}
	p, err := f.resolve(cmd)
	if err == nil {
		err = f.openFiles(cmd, p)
	}
	if err != nil {
		return err
	}
	if len(p.Axes) != 1 || p.Axes[0].Name != "clients" {
		return usageError{errors.New("a sweep varies --clients, several of them, and nothing else; assay run makes a series of the rest")}
	}
	return f.make(cmd, version, p)
}

// make makes the series and the search, and shows both as far as they came.
func (f *sweepFlags) make(cmd *cobra.Command, version string, p series.Plan) error {
	out := cmd.OutOrStdout()
	s, folder, err := makeSeries(cmd, version, p, &f.runFlags)
	interrupted := isA[resultError](err)
	var sweep *compare.Sweep
	switch {
	case interrupted:
		sweep, _ = sweepOf(s, folder) // none if no run has a result
	case err == nil:
		sweep, err = sweepOf(s, folder)
	}
	if sweep == nil && !interrupted {
		return errors.Join(f.pipeline.failed(out, p.Base.Workload, err), exitError(exitOfSeries(s)))
	}
	var tries []series.Try
	if !interrupted {
		if tries, err = f.search(cmd, version, sweep, p, folder); err != nil && cmd.Context().Err() != nil && sweep.Broken == "" {
			interrupted, err = true, endedSeries(err)
		}
	}
	if interrupted {
		describeInterruption(cmd.ErrOrStderr(), folder)
	}
	a := answer{name: "assay sweep", suites: ofSeries(s, folder, "")}
	if sweep == nil {
		a.summary = seriesDocument(s, folder).Markdown
		return f.pipeline.finish(out, a, errors.Join(err, f.showUnmade(out, s), exitError(exitOfSeries(s))))
	}
	if sweep.Objective = f.objective; err != nil && sweep.Broken == "" {
		sweep.Ended, sweep.Unanswered = interruptedSweep, f.objective != ""
		if !interrupted {
			sweep.Ended = textOf(err)
		}
	}
	err = errors.Join(err, f.show(cmd, s, sweep, tries, folder))
	a.suites, a.summary = append(a.suites, sweep.Tests()...), sweep.Document().Markdown
	return f.pipeline.finish(out, a, err)
}

// showUnmade prints a sweep that was interrupted before a run had a result.
func (f *sweepFlags) showUnmade(out io.Writer, s *report.RunSeries) error {
	var err error
	switch {
	case f.pipeline.printed():
	case f.json:
		err = printJSON(out, savedSweep{Format: report.Format, Workload: s.Workload, Objective: f.objective, Unanswered: f.objective != "", Ended: interruptedSweep})
	default:
		err = describeUnmade(out, s)
	}
	return printing("sweep", err)
}

const interruptedSweep = "it was interrupted"

func sweepOf(s *report.RunSeries, folder string) (*compare.Sweep, error) {
	groups, err := compare.Read(folder)
	if err != nil {
		return nil, err
	}
	return compare.NewSweep(s.Workload, groups, s.Seed)
}

// search searches the highest rate. The error beside a violation (Sweep.Broken) is what else went
// wrong.
func (f *sweepFlags) search(cmd *cobra.Command, version string, sweep *compare.Sweep, p series.Plan, folder string) ([]series.Try, error) {
	if f.objective == "" {
		return nil, nil
	}
	_, most := sweep.Best()
	scenario := p.Base
	scenario.Thresholds = append(slices.Clone(scenario.Thresholds), f.objective)
	scenario.Load.Clients = sweep.Largest()
	scenario.Load.Arrivals = load.Poisson
	unwatched := f.runFlags // the metrics are those of the series
	unwatched.metrics, unwatched.otlp = "", ""
	o, end, err := unwatched.options(cmd, version)
	if err != nil {
		return nil, err
	}
	defer end()
	var doubted []bool // of each try
	rate, tries, err := series.HighestRate(cmd.Context(), most, func(ctx context.Context, number int, rate float64) (bool, error) {
		scenario.Load.Rate = rate
		scenario.Load.Seed = p.Base.Load.Seed + uint64(number)
		at, err := series.FreeFolder(folder, fmt.Sprintf("rate-%03d", number))
		if err != nil {
			return false, err
		}
		o.Out = filepath.Join(folder, at)
		out, err := runner.Run(ctx, scenario, o)
		if out.Result != nil && report.ExitOf(out.Result).Code == exitViolated { // whatever else went wrong
			return false, &brokenError{rate: rate, folder: at, why: strings.Join(report.ExitOf(out.Result).Reasons, "; "), beside: err}
		}
		if err := errors.Join(err, ctx.Err()); err != nil {
			return false, err
		}
		kept := keeps(out.Result)
		doubted = append(doubted, doubtful(out.Result))
		if !f.quiet {
			fmt.Fprintf(cmd.ErrOrStderr(), "rate %.0f/s: %s\n", rate, map[bool]string{true: "kept", false: "missed"}[kept])
		}
		return kept, nil
	})
	for i := range tries {
		tries[i].Doubted = doubted[i]
	}
	sweep.Objective, sweep.Rate, sweep.Tried = f.objective, rate, len(tries)
	if broken, is := errors.AsType[*brokenError](err); is {
		sweep.Broken = broken.Error()
		fmt.Fprintln(cmd.ErrOrStderr(), sweep.Broken)
		return tries, broken.beside
	}
	sweep.Unanswered = !series.Established(tries, rate)
	return tries, err
}

// brokenError ends a search: the run at this rate convicts the database, so that no rate answers.
type brokenError struct {
	rate        float64
	folder, why string
	beside      error // what else went wrong, such as a page that could not be written; nil for nothing
}

func (e *brokenError) Error() string {
	return fmt.Sprintf("the run at %s arrivals a second ended as %s; see %s", quantity.Figure(e.rate), e.why, e.folder)
}

// keeps reports whether an open-loop run kept its thresholds and began all that was due.
func keeps(r *report.Result) bool {
	missed := slices.ContainsFunc(r.Thresholds, func(t report.Threshold) bool { return !t.Kept })
	return !missed && r.Load.Unserved == 0
}

// doubtful reports whether a run's answer must not be believed, since it has no verdict, its
// measurement is invalid, or its end cut the figure. Unserved arrivals are an answer, that the rate
// was too high, unless assay or its machine may have been too slow to serve them.
func doubtful(r *report.Result) bool {
	return report.ExitOf(r).Code == exitNoVerdict && (r.Load.Unserved == 0 || slices.ContainsFunc(r.Measurement.Reasons, measure.OfTester))
}

// savedSweep is sweep.json. Fields are added, never renamed.
type savedSweep struct {
	Format    int              `json:"format"`
	Workload  string           `json:"workload"`
	Law       *scalability.Law `json:"law"`
	Peak      int              `json:"measured_peak_clients"`
	Knee      int              `json:"knee_clients"`
	Objective string           `json:"slo,omitempty"`
	Rate      float64          `json:"slo_rate_per_second,omitempty"`
	Tries     []series.Try     `json:"slo_tries,omitempty"`
	// Unanswered is true if Rate, or its absence, rests on invalid measurements.
	Unanswered bool `json:"slo_unanswered,omitempty"`
	// Broken says which run of the search ended it with a violation.
	Broken string `json:"slo_broken,omitempty"`
	// Ended says why the sweep ended before all of its runs were made.
	Ended string `json:"ended,omitempty"`
}

// show writes the page and sweep.json, prints the sweep, and returns the error with the exit code.
// The code is a violation's if a run of the search had one, a threshold's if no rate keeps the
// objective, and no verdict's if the answer rests on invalid measurements.
func (f *sweepFlags) show(cmd *cobra.Command, s *report.RunSeries, sweep *compare.Sweep, tries []series.Try, folder string) error {
	out, d := cmd.OutOrStdout(), sweep.Document()
	peak, _ := sweep.Best()
	saved := savedSweep{Format: report.Format, Workload: s.Workload, Law: sweep.Law, Peak: peak, Knee: sweep.Knee(),
		Objective: f.objective, Rate: sweep.Rate, Tries: tries, Unanswered: sweep.Unanswered, Broken: sweep.Broken, Ended: sweep.Ended}
	page := filepath.Join(folder, runner.FileReport)
	kept := errors.Join(writeTo(page, d.HTML), writeTo(filepath.Join(folder, "sweep.json"), func(w io.Writer) error { return printJSON(w, saved) }))
	code := exitOfSeries(s)
	switch {
	case sweep.Broken != "":
		code = exitViolated
	case sweep.Unanswered:
		code = graver(code, exitNoVerdict)
	case f.objective != "" && sweep.Rate == 0:
		code = graver(code, exitThreshold)
	}
	var err error
	switch {
	case f.pipeline.printed():
	case f.json:
		err = printJSON(out, saved)
	case f.quiet:
		_, err = fmt.Fprintf(out, "%s: %s, exit %d%s; %s\n", s.Workload, countRuns(s), code, sweep.Line(), page)
	default:
		err = showDocument(out, d, "text", page)
	}
	err = printing("sweep", err)
	return errors.Join(kept, err, exitError(code))
}
