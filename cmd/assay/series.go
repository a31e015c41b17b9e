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
	out := cmd.OutOrStdout()
	code := exitOfSeries(s)
	switch {
	case isA[resultError](err):
		code = graver(code, exitNoVerdict)
		describeInterruption(cmd.ErrOrStderr(), folder)
	case err != nil:
		return errors.Join(f.pipeline.failed(out, p.Base.Workload, err), exitError(code))
	}
	err = errors.Join(err, showSeries(out, s, folder, f, code))
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

// makeSeries makes the missing runs of a plan. A resultError is an interrupted series, which can be
// shown as far as it came.
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
		err = endedSeries(err)
	}
	return s, folder, err
}

// endedSeries is the error of an interrupted series: a resultError, with what else went wrong, such as
// servers that could not be stopped.
func endedSeries(err error) error {
	return errors.Join(resultError{exitNoVerdict}, without(err, func(e error) bool {
		return errors.Is(e, context.Canceled) || isA[*runner.InterruptedError](e)
	}))
}

// describeInterruption says how to continue an interrupted series or study.
func describeInterruption(stderr io.Writer, folder string) {
	fmt.Fprintf(stderr, "interrupted; the same command with --out %s goes on\n", folder)
}

// showSeries writes the page, prints the series as far as it came, and returns the error with code.
func showSeries(out io.Writer, s *report.RunSeries, folder string, f *runFlags, code int) error {
	groups, unread := compare.Read(folder)
	page := filepath.Join(folder, runner.FileReport)
	var d report.Document
	var unwritten, err error
	if unread == nil {
		d = compare.Summary(s.Workload, groups)
		unwritten = writeTo(page, d.HTML)
	}
	switch {
	case f.json:
		err = printJSON(out, s)
	case f.pipeline.printed():
	case unread != nil:
		err = describeUnmade(out, s)
	case f.quiet:
		_, err = fmt.Fprintf(out, "%s: %s, exit %d; %s\n", s.Workload, countRuns(s), code, page)
	default:
		err = showDocument(out, d, "text", page)
	}
	err = printing("series", err)
	if s.Count(report.StateDone) == 0 {
		unread = nil // there is nothing to read
	}
	return errors.Join(err, unread, unwritten, exitError(code))
}

func countRuns(s *report.RunSeries) string {
	if done := s.Count(report.StateDone); done < len(s.Runs) {
		return fmt.Sprintf("%d of %d runs", done, len(s.Runs))
	}
	return fmt.Sprintf("%d runs", len(s.Runs))
}

// describeUnmade says why a series has no result.
func describeUnmade(out io.Writer, s *report.RunSeries) error {
	var text strings.Builder
	for _, r := range s.Runs {
		if r.State == report.StateFailed {
			fmt.Fprintln(&text, notMade(r))
		}
	}
	if waiting := s.Count(report.StateWaiting); waiting > 0 {
		fmt.Fprintf(&text, "%d of %d runs were not made: the series was interrupted\n", waiting, len(s.Runs))
	}
	_, err := io.WriteString(out, text.String())
	return err
}

// exitOfSeries is the gravest code. A run that could not be made comes right after a violation. A
// series may be nil.
func exitOfSeries(all ...*report.RunSeries) int {
	code := exitValid
	for _, s := range all {
		if s == nil {
			continue
		}
		for _, r := range s.Runs {
			switch {
			case r.Exit != nil:
				code = graver(code, r.Exit.Code)
			case r.State == report.StateFailed:
				code = graver(code, exitCannotRun)
			}
		}
	}
	return code
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
	if result != nil && r.Problem != "" {
		fmt.Fprintln(p.out, wrapped("", "  "+r.Problem, textWidth(p.out), "    "))
	}
}
