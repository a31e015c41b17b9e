package main

import (
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"assay/check"
	"assay/history/exchange"
	"assay/report"
	"assay/runner"
)

func newRepro() *cobra.Command {
	format, out := "edn", ""
	f := checkFlags{timeout: 10 * time.Minute}
	cmd := &cobra.Command{
		Use:   "repro DIR|FILE",
		Short: "Write the smallest history that still convicts",
		Long: `Write the smallest part of a violated history, or of a violated run, that is
convicted of the same anomaly, as a history that assay check and other checkers
read, and print the command that judges it. What is written is judged again
before it is said to convict.

Transactions and operations that the anomaly does not need are left out, by delta
debugging; no value is rewritten. What was written by an operation that is left
out is left out of the lists that others read, and so are reads of it
(docs/guides/history-of-another-tool.md).

Of a script whose transactions broke what it declares, it prints their statements
with the moments of each, and writes nothing. A run of workload bank has such a
history if the total at the end is wrong; of other checks of state that was read
back the command says what their evidence names instead, and ends with exit code 4,
as it does if nothing is violated.`,
		Example: `  assay repro runs/20261121T095107Z-isolation-sqlite
  assay repro history.edn --model serializable --out smallest.edn
  assay repro history.jsonl --format json`,
		Args: oneArgument("the run's folder, or a history"),
		RunE: func(cmd *cobra.Command, args []string) error {
			forms := map[string]exchange.Format{"edn": exchange.EDN, "json": exchange.JSON}
			form, known := forms[format]
			if !known {
				return usageError{fmt.Errorf("--format %q is none of edn, json", format)}
			}
			if out == "" {
				out = map[exchange.Format]string{exchange.EDN: "repro.edn", exchange.JSON: "repro.jsonl"}[form]
			}
			if _, err := os.Lstat(out); err == nil {
				return usageError{fmt.Errorf("%s exists; name another file with --out", out)}
			}
			o, err := f.historyOptions(cmd)
			if err != nil {
				return err
			}
			r, err := runner.Reproduce(cmd.Context(), args[0], runner.ReproOptions{Options: o, Out: out, Format: form})
			if err != nil {
				return err
			}
			return showReproduction(cmd, r)
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVar(&out, "out", "", "the file to write, which must not exist; repro.edn or repro.jsonl if not given")
	flags.StringVar(&format, "format", format, "edn or json (lines)")
	flags.StringVar(&f.model, "model", "", "the consistency model that is judged; of a folder the run's own if not given, of a FILE strict-serializable")
	flags.StringVar(&f.test, "test", "", "of a FILE: as in assay check, and so are the next ones")
	flags.StringSliceVar(&f.assume, "assume", nil, "of a FILE of transactions")
	flags.StringVar(&f.initial, "initial", "", "of a FILE of registers")
	flags.StringVar(&f.total, "total", "", "of a FILE of a bank")
	flags.StringSliceVar(&f.accounts, "accounts", nil, "of a FILE of a bank")
	flags.BoolVar(&f.negative, "negative-balances", false, "of a FILE of a bank")
	addTime(flags, &f.timeout, "timeout", f.timeout, "the longest search; the smallest history that was found by then is written")
	completeFlag(cmd, "format", "edn", "json")
	return cmd
}

// showReproduction tells what was written and how it is judged.
func showReproduction(cmd *cobra.Command, r runner.Reproduction) error {
	out := cmd.OutOrStdout()
	told := check.Result{Name: r.Kind, Verdict: check.Violated, Evidence: []check.Evidence{r.Evidence}, Found: 1}
	err := report.Explain(out, told, report.TextOptions{Width: textWidth(out)})
	if err == nil && r.Conviction != nil {
		err = report.ExplainConviction(out, r.Conviction, report.TextOptions{Width: textWidth(out)})
	}
	if err == nil && r.Arguments != nil {
		_, err = fmt.Fprintf(out, "written to %s, and judged again; judge it with\n\n  assay check %s\n", r.Arguments[0], report.CommandLine(r.Arguments))
	}
	if err != nil {
		return fmt.Errorf("print the answer: %w", err)
	}
	return nil
}
