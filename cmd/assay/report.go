package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"assay/report"
	"assay/report/compare"
	"assay/runner"
)

func newReport() *cobra.Command {
	format := "text"
	formats := []string{"text", "markdown", "json", "html", "csv"}
	cmd := &cobra.Command{
		Use:   "report DIR...",
		Short: "Show a saved run and make its page again, or compare several",
		Long: `Show the report of a saved run from its result.json, and make its report.html
again. Nothing is measured or judged anew; for that see assay check.

Of several folders, and of one that holds a series or several runs, it shows
tables with a line for each run; --format html then prints the page, and csv one
table with plain numbers.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if !slices.Contains(formats, format) {
				return usageError{fmt.Errorf("--format %q is none of %s", format, strings.Join(formats, ", "))}
			}
			if len(args) == 0 {
				return usageError{errors.New("an argument is missing: the run's folder")}
			}
			if len(args) > 1 || format == "csv" || holdsRuns(args[0]) {
				return reportRuns(cmd.OutOrStdout(), args, format)
			}
			outcome, unwritten := runner.Report(args[0])
			if outcome.Result == nil {
				return unwritten
			}
			var err error
			out := cmd.OutOrStdout()
			switch format {
			case "text":
				err = report.Text(out, outcome.Result, report.TextOptions{Width: textWidth(out), Report: outcome.Report})
			case "markdown":
				err = report.Markdown(out, outcome.Result)
			case "json":
				err = report.WriteJSON(out, outcome.Result)
			default:
				_, err = fmt.Fprintln(out, outcome.Report)
			}
			return errors.Join(err, unwritten)
		},
	}
	cmd.Flags().StringVar(&format, "format", format, "text, markdown, json, html (which prints where the page is) or csv")
	completeFlag(cmd, "format", formats...)
	return cmd
}

func holdsRuns(folder string) bool {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return false
	}
	series := false
	for _, entry := range entries {
		if entry.Name() == runner.FileResult {
			return false
		}
		_, missing := os.Stat(filepath.Join(folder, entry.Name(), runner.FileResult))
		series = series || missing == nil || entry.Name() == report.FileSeries
	}
	return series
}

func reportRuns(out io.Writer, folders []string, format string) error {
	read, err := groupsOf(folders)
	if err != nil {
		return err
	}
	groups := slices.Concat(read...)
	switch format {
	case "csv":
		return compare.RunsCSV(out, groups)
	case "html":
		return compare.Runs(groups).HTML(out)
	case "json":
		return usageError{errors.New("--format json shows one run; the runs of several folders are in csv")}
	}
	return showDocument(out, compare.Runs(groups), format, "")
}

func oneArgument(what string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		switch {
		case len(args) == 0:
			return usageError{errors.New("an argument is missing: " + what)}
		case len(args) > 1:
			return usageError{fmt.Errorf("one argument is wanted, %s; there are %d", what, len(args))}
		}
		return nil
	}
}
