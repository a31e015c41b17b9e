package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"assay/report"
	"assay/report/compare"
	"assay/runner"
	"assay/runner/series"
)

func runSeries(cmd *cobra.Command, version string, p series.Plan, f *runFlags) error {
	s, folder, err := makeSeries(cmd, version, p, f)
	out, cut := cmd.OutOrStdout(), s != nil && errors.As(err, new(resultError))
	switch {
	case cut:
		describeInterruption(cmd.ErrOrStderr(), folder)
	case err != nil:
		return f.pipeline.failed(out, p.Base.Workload, err)
	default:
		err = showSeries(out, s, folder, f)
	}
	return f.pipeline.finish(out, answer{name: "assay", suites: ofSeries(s, folder, ""), summary: seriesDocument(s, folder).Markdown}, err)
}

func seriesDocument(s *report.RunSeries, folder string) report.Document {
	groups, err := compare.Read(folder)
	if err == nil {
		return compare.Summary(s.Workload, groups)
	}
	d := report.Document{Title: s.Workload + ": a series without a result"}
	for _, r := range s.Runs {
		d.Verdicts = append(d.Verdicts, report.DocumentVerdict{Text: notMade(r)})
	}
	return d
}

func notMade(r report.SeriesRun) string {
	return fmt.Sprintf("%s, repeat %d: could not be made: %s", r.Configuration, r.Repeat, cmp.Or(r.Problem, "the series was interrupted"))
}

// makeSeries makes the missing runs of a plan.
func makeSeries(cmd *cobra.Command, version string, p series.Plan, f *runFlags) (*report.RunSeries, string, error) {
	stderr := cmd.ErrOrStderr()
	each, end, err := f.options(cmd, version)
	if err != nil {
		return nil, "", err
	}
	defer end()
	screen := f.screen(stderr)
	if screen != nil {
		each.Status = screen.status
		defer screen.close()
	}
	o := series.Options{Version: version, Out: f.out, UntilValid: f.untilValid, Progress: &seriesProgress{out: stderr, quiet: f.quiet, screen: screen},
		Run: func(ctx context.Context, s runner.Scenario, folder string) (*report.Result, error) {
			each.Out = folder
			outcome, err := runner.Run(ctx, s, each)
			return outcome.Result, err
		}}
	s, folder, err := series.Run(cmd.Context(), p, o)
	if s != nil && errors.Is(err, context.Canceled) {
		err = resultError{exitNoVerdict}
	}
	return s, folder, err
}

// describeInterruption says how to continue an interrupted series or study.
func describeInterruption(stderr io.Writer, folder string) {
	fmt.Fprintf(stderr, "interrupted; the same command with --out %s goes on\n", folder)
}

func showSeries(out io.Writer, s *report.RunSeries, folder string, f *runFlags) error {
	code := exitOfSeries(s)
	end := exitError(code)
	if f.json {
		return errors.Join(printJSON(out, s), end)
	}
	groups, err := compare.Read(folder)
	if err != nil {
		for _, r := range s.Runs {
			fmt.Fprintln(out, notMade(r))
		}
		return end
	}
	d := compare.Summary(s.Workload, groups)
	page := filepath.Join(folder, runner.FileReport)
	if err := writeTo(page, d.HTML); err != nil {
		return err
	}
	switch {
	case f.pipeline.printed():
	case f.quiet:
		_, err = fmt.Fprintf(out, "%s: %d runs, exit %d; %s\n", s.Workload, len(s.Runs), code, page)
	default:
		err = showDocument(out, d, "text", page)
	}
	if err != nil {
		return fmt.Errorf("print the series: %w", err)
	}
	return end
}

// exitOfSeries is the gravest code. A run that could not be made comes right after a violation.
func exitOfSeries(all ...*report.RunSeries) int {
	had := map[int]bool{}
	for _, s := range all {
		for _, r := range s.Runs {
			switch {
			case r.Exit != nil:
				had[r.Exit.Code] = true
			case r.State == report.StateFailed:
				had[exitCannotRun] = true
			}
		}
	}
	for _, code := range []int{exitViolated, exitCannotRun, exitNoVerdict, exitThreshold} {
		if had[code] {
			return code
		}
	}
	return exitValid
}

type seriesProgress struct {
	out   io.Writer
	quiet bool
	// screen, if set, shows which run it is.
	screen *screen
}

func (p *seriesProgress) Begins(number, total int, r report.SeriesRun, left time.Duration) {
	if p.quiet {
		return
	}
	parts := []string{fmt.Sprintf("run %d of %d", number, total)}
	if r.Configuration != "" {
		parts = append(parts, r.Configuration)
	}
	parts = append(parts, fmt.Sprintf("repeat %d", r.Repeat))
	if left > 0 {
		parts = append(parts, "about "+left.Round(time.Second).String()+" left")
	}
	if p.screen != nil {
		p.screen.head(strings.Join(parts, ", "))
	}
	fmt.Fprintln(p.out, wrapped("", strings.Join(parts, ", "), textWidth(p.out), "  "))
}

func (p *seriesProgress) Ended(r report.SeriesRun, result *report.Result) {
	switch {
	case result == nil:
		fmt.Fprintln(p.out, wrapped("", "  could not be made: "+r.Problem, textWidth(p.out), "    "))
	case !p.quiet:
		var line strings.Builder
		_ = report.Line(&line, result) // a Builder takes everything
		fmt.Fprintln(p.out, "  "+wrapped("", strings.TrimSpace(line.String()), textWidth(p.out)-2, "    "))
	}
}
