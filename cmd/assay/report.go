package main

import (
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"assay/report"
	"assay/runner"
)

func newReport() *cobra.Command {
	format := "text"
	cmd := &cobra.Command{
		Use:   "report DIR",
		Short: "Show the report of a saved run and make its page again",
		Long: `Show the report of a saved run from its result.json, and make its report.html
again. Nothing is measured or judged anew; for that see assay check.`,
		Args: oneArgument("the run's folder"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !slices.Contains([]string{"text", "markdown", "json", "html"}, format) {
				return usageError{fmt.Errorf("--format %q is none of text, markdown, json, html", format)}
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
	cmd.Flags().StringVar(&format, "format", format, "text, markdown, json, or html (which prints where the page is)")
	_ = cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions([]string{"text", "markdown", "json", "html"}, cobra.ShellCompDirectiveNoFileComp)) // the flag is there
	return cmd
}

// oneArgument wants exactly one argument and says which.
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
