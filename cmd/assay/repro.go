package main

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"assay/check"
	"assay/history"
	"assay/history/exchange"
	"assay/report"
	"assay/runner"
	"assay/runner/histories"
)

func newRepro() *cobra.Command {
	format, out, page := "edn", "", false
	f := checkFlags{Options: histories.Options{Timeout: 10 * time.Minute}}
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
as it does if nothing is violated.

With --report it writes what an engineer of the database's vendor needs, on one page:
versions, settings, the promise, how to do it again, the sessions side by side, the
servers' logs of the moment, and what was ruled out. --out page.html makes it HTML.`,
		Example: `  assay repro runs/20261121T095107Z-isolation-sqlite
  assay repro DIR --report
  assay repro history.edn --model serializable --out smallest.edn
  assay repro history.jsonl --format json`,
		Args: oneArgument("the run's folder, or a history"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if page {
				return writeBugReport(cmd, args[0], cmp.Or(out, "bug.md"), f.Timeout)
			}
			return f.writeSmallest(cmd, args[0], format, out)
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVar(&out, "out", "", "the file to write, which must not exist; repro.edn, repro.jsonl or bug.md if not given")
	flags.BoolVar(&page, "report", false, "of a DIR: write a page about the bug, for the database's vendor")
	flags.StringVar(&format, "format", format, "edn or json (lines)")
	flags.StringVar(&f.Model, "model", "", "the consistency model that is judged; of a folder the run's own if not given, of a FILE strict-serializable")
	f.addHistory(flags)
	addTime(flags, &f.Timeout, "timeout", f.Timeout, "the longest search; the smallest history that was found by then is written")
	completeFlag(cmd, "format", "edn", "json")
	return cmd
}

func (f *checkFlags) writeSmallest(cmd *cobra.Command, path, format, out string) error {
	forms := map[string]exchange.Format{"edn": exchange.EDN, "json": exchange.JSON}
	form, known := forms[format]
	if !known {
		return usageError{fmt.Errorf("--format %q is none of edn, json", format)}
	}
	if out == "" {
		out = map[exchange.Format]string{exchange.EDN: "repro.edn", exchange.JSON: "repro.jsonl"}[form]
	}
	if err := notThere(out); err != nil {
		return err
	}
	o, err := f.historyOptions(cmd)
	if err != nil {
		return err
	}
	r, err := runner.Reproduce(cmd.Context(), path, runner.ReproOptions{Options: o, Out: out, Format: form})
	if err != nil {
		return err
	}
	return showReproduction(cmd, r)
}

func notThere(path string) error {
	if _, err := os.Lstat(path); err == nil {
		return usageError{fmt.Errorf("%s exists; name another file with --out", path)}
	}
	return nil
}

func writeBugReport(cmd *cobra.Command, folder, out string, timeout time.Duration) error {
	forms := map[string]func(report.Document, io.Writer) error{".md": report.Document.Markdown, ".html": report.Document.HTML}
	write := forms[filepath.Ext(out)]
	var notOfPages []string
	for _, name := range []string{"format", "model", "test", "assume", "initial", "total", "accounts", "negative-balances"} {
		if cmd.Flags().Changed(name) {
			notOfPages = append(notOfPages, "--"+name)
		}
	}
	switch {
	case write == nil:
		return usageError{fmt.Errorf("--out %s: a page ends in .md or .html", out)}
	case len(notOfPages) > 0:
		return usageError{fmt.Errorf("--report does not go with %s", strings.Join(notOfPages, ", "))}
	}
	if err := notThere(out); err != nil {
		return err
	}
	document, err := runner.BugReport(cmd.Context(), folder, timeout)
	if err != nil {
		return err
	}
	var text bytes.Buffer
	if err := write(document, &text); err != nil {
		return err
	}
	if err := history.WriteFile(out, text.Bytes()); err != nil {
		return err
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s\nwritten to %s\n", document.Title, out)
	return err
}

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
	return printing("answer", err)
}
