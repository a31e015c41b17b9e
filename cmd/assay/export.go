package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"assay/history"
	"assay/history/exchange"
	"assay/runner"
)

func newExport() *cobra.Command {
	format, out, test := "edn", "-", ""
	cmd := &cobra.Command{
		Use:   "export DIR",
		Short: "Write a saved run as a history that other checkers read",
		Long: `Write a saved run as a Jepsen history, in EDN or JSON lines, so that other
checkers can judge it: transactions over lists or registers, or bank transfers,
each attempt an operation of its own, and a last read of everything.

Of a run of all isolation tests one kind of transactions is written, since other
tools judge one at a time; what is left out is said on standard error.`,
		Example: `  assay export runs/20261121T095107Z-isolation-sqlite --out history.edn`,
		Args:    oneArgument("the run's folder"),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			forms := map[string]exchange.Format{"edn": exchange.EDN, "json": exchange.JSON}
			form, known := forms[format]
			if !known {
				return usageError{fmt.Errorf("--format %q is none of edn, json", format)}
			}
			if test != "" && test != "append" && test != "register" {
				return usageError{fmt.Errorf("--test %q is none of append, register", test)}
			}
			write := func(to io.Writer) error {
				left, err := runner.Export(args[0], to, runner.ExportOptions{Format: form, Test: test})
				if left != "" {
					fmt.Fprintln(cmd.ErrOrStderr(), wrapped("left out: "+left, textWidth(cmd.ErrOrStderr()), "  "))
				}
				return err
			}
			if out == "-" {
				return write(cmd.OutOrStdout())
			}
			file, err := os.OpenFile(out, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
			if errors.Is(err, os.ErrExist) {
				return usageError{fmt.Errorf("%s exists; name another file with --out", out)}
			}
			if err != nil {
				return &history.WriteError{Path: out, Err: err}
			}
			if err = errors.Join(write(file), file.Close()); err != nil {
				return errors.Join(err, os.Remove(out))
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&format, "format", format, "edn or json (lines)")
	cmd.Flags().StringVar(&test, "test", test, "of a run of all tests of workload isolation: append or register (default append)")
	cmd.Flags().StringVar(&out, "out", out, "the file to write, which must not exist; - is standard output")
	_ = cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions([]string{"edn", "json"}, cobra.ShellCompDirectiveNoFileComp)) // the flag is there
	return cmd
}
