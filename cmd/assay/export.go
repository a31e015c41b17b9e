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

	"assay/history"
	"assay/history/exchange"
	"assay/internal/table"
	"assay/runner"
	"assay/workload/definition"
)

const (
	exportHistory    = "history"
	exportOperations = "operations"
	exportSeries     = "series"
)

type exportPlan struct{ format, what, test, out string }

func newExport() *cobra.Command {
	p := exportPlan{format: "edn", out: "-"}
	cmd := &cobra.Command{
		Use:   "export DIR",
		Short: "Write a saved run as another tool's history, or as a table",
		Long: `Write what a saved run holds, for other programs.

A history is Jepsen's, in EDN or JSON lines, so that other checkers can judge it:
transactions over lists or registers, or bank transfers, each attempt an operation
of its own, and a last read of everything. Of a run of all isolation tests one kind
of transactions is written, since other tools judge one at a time; what is left out
is said on standard error.

Operations and series are tables of any workload, in CSV, JSON lines or Parquet:
every attempt with its outcome and times in nanoseconds since the start of the run,
or the run over time as the report shows it.`,
		Example: `  assay export runs/20261121T095107Z-isolation-sqlite --out history.edn
  assay export runs/20261121T095107Z-bank-sqlite --format parquet --out operations.parquet
  assay export runs/20261121T095107Z-bank-sqlite --format csv --what series --out series.csv`,
		Args: oneArgument("the run's folder"),
		RunE: func(cmd *cobra.Command, args []string) error { return p.run(cmd, args[0]) },
	}
	cmd.Flags().StringVar(&p.format, "format", p.format, "edn, json (lines), csv or parquet")
	cmd.Flags().StringVar(&p.what, "what", p.what, "history (edn, json), operations or series (json, csv, parquet); of csv and parquet operations if not given, of json the history of a workload that has one")
	cmd.Flags().StringVar(&p.test, "test", p.test, "of the history of a run of all tests of workload isolation: append or register (default append)")
	cmd.Flags().StringVar(&p.out, "out", p.out, "the file to write, which must not exist; - is standard output")
	completeFlag(cmd, "format", "edn", "json", "csv", "parquet")
	completeFlag(cmd, "what", exportHistory, exportOperations, exportSeries)
	return cmd
}

func (p exportPlan) run(cmd *cobra.Command, folder string) error {
	if err := p.settle(folder); err != nil {
		return err
	}
	if p.out == "-" {
		return p.write(cmd, folder, cmd.OutOrStdout())
	}
	file, err := os.OpenFile(p.out, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, os.ErrExist) {
		return usageError{fmt.Errorf("%s exists; name another file with --out", p.out)}
	}
	if err != nil {
		return &history.WriteError{Path: p.out, Err: err}
	}
	if err = errors.Join(p.write(cmd, folder, file), file.Close()); err != nil {
		return errors.Join(err, os.Remove(p.out))
	}
	return nil
}

// settle chooses what is written, and refuses flags that do not go together.
func (p *exportPlan) settle(folder string) error {
	forms := map[string][]string{
		"edn": {exportHistory}, "json": {exportHistory, exportOperations, exportSeries},
		"csv": {exportOperations, exportSeries}, "parquet": {exportOperations, exportSeries},
	}
	possible, known := forms[p.format]
	if !known {
		return usageError{fmt.Errorf("--format %q is none of edn, json, csv, parquet", p.format)}
	}
	if p.what == "" {
		p.what = possible[0]
		if p.format == "json" && !hasHistory(folder) {
			p.what = exportOperations
		}
	}
	if !slices.Contains(possible, p.what) {
		return usageError{fmt.Errorf("--what %q cannot be written as %s; want %s", p.what, p.format, strings.Join(possible, " or "))}
	}
	if p.test != "" && (p.what != exportHistory || p.test != "append" && p.test != "register") {
		return usageError{fmt.Errorf("--test %q is none of append, register, which are for a history", p.test)}
	}
	return nil
}

// hasHistory reports whether other checkers know the run's workload. It is true of an unreadable
// folder: the export says why.
func hasHistory(folder string) bool {
	s, err := runner.ReadScenario(filepath.Join(folder, runner.FileScenario))
	if err != nil {
		return true
	}
	_, has := s.Config.(definition.Exporting)
	return has
}

func (p exportPlan) write(cmd *cobra.Command, folder string, to io.Writer) error {
	if p.what != exportHistory {
		return runner.ExportTable(folder, to, table.Format(p.format), p.what == exportSeries)
	}
	form := map[string]exchange.Format{"edn": exchange.EDN, "json": exchange.JSON}[p.format]
	left, err := runner.Export(folder, to, runner.ExportOptions{Format: form, Test: p.test})
	if left != "" {
		fmt.Fprintln(cmd.ErrOrStderr(), wrapped("", "left out: "+left, textWidth(cmd.ErrOrStderr()), "  "))
	}
	return err
}
