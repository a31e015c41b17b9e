package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"assay/check"
	"assay/history"
	"assay/workload/replay/capture"
	"assay/workload/replay/recording"
	"assay/workload/replay/serverlog"
)

// capturePlan is what the flags of a capture ask for.
type capturePlan struct {
	options capture.Options
	format  string
	out     string
}

func newCapture() *cobra.Command {
	p := capturePlan{out: "-"}
	cmd := &cobra.Command{
		Use:   "capture LOG...",
		Short: "Make a readable workload of a database server's log",
		Long: `Make a workload of a database server's log: its sessions, their statements, when each
was sent, how long it took, and which failed.

The log is PostgreSQL's, in the form stderr with any usual log_line_prefix, csvlog or
jsonlog, or the general query log of MySQL or MariaDB. Several logs are read one after
the other, as one; - is standard input. They may be compressed with gzip or zstd.

The file is JSON lines, which can be read and thinned out with an editor or grep; its
first line says what was left out, and why. It holds the values of the statements.
Statements that carry a password do not get into it.`,
		Example: `  assay capture postgresql.log -o shop.replay
  assay capture postgresql-1.csv.gz postgresql-2.csv.gz -o shop.replay
  assay capture postgresql.log --prefix '%m [%p] %u ' -o shop.replay`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usageError{errors.New("which log? name one or more files, or - for standard input")}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return p.run(cmd, args) },
	}
	cmd.Flags().StringVarP(&p.out, "out", "o", p.out, "the file to write, which must not exist; - is standard output")
	cmd.Flags().StringVar(&p.format, "format", p.format, "stderr, csvlog, jsonlog or mysql-general; found out without it")
	cmd.Flags().StringVar(&p.options.Log.Prefix, "prefix", p.options.Log.Prefix, "PostgreSQL's log_line_prefix, such as '%m [%p] '; found out without it")
	cmd.Flags().StringVar(&p.options.Database, "database", p.options.Database, "take the sessions on this database alone")
	cmd.Flags().StringVar(&p.options.User, "user", p.options.User, "take the sessions of this user alone")
	completeFlag(cmd, "format", serverlog.Formats()...)
	return cmd
}

func (p capturePlan) run(cmd *cobra.Command, logs []string) error {
	if p.format != "" && !slices.Contains(serverlog.Formats(), p.format) {
		return usageError{fmt.Errorf("--format %q is none of stderr, csvlog, jsonlog, mysql-general", p.format)}
	}
	p.options.Log.Format = serverlog.Format(p.format)
	in, names, closeAll, err := openLogs(cmd, logs)
	if err != nil {
		return err
	}
	defer closeAll()
	p.options.Names = names
	if p.out == "-" {
		p.options.Folder = os.TempDir()
		head, err := capture.Write(cmd.Context(), in, p.options, cmd.OutOrStdout())
		if err != nil {
			return err
		}
		return captured(cmd.ErrOrStderr(), head, "standard output")
	}
	p.options.Folder = filepath.Dir(p.out)
	file, err := os.OpenFile(p.out, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, os.ErrExist) {
		return usageError{fmt.Errorf("%s exists; name another file with -o", p.out)}
	}
	if err != nil {
		return &history.WriteError{Path: p.out, Err: err}
	}
	head, err := capture.Write(cmd.Context(), in, p.options, file)
	if err = errors.Join(err, file.Close()); err != nil {
		return errors.Join(err, os.Remove(p.out))
	}
	return captured(cmd.OutOrStdout(), head, p.out)
}

// openLogs is the text of all logs, one after the other, and their names.
func openLogs(cmd *cobra.Command, logs []string) (text io.Reader, names []string, closeAll func(), err error) {
	var files []io.Closer
	closeAll = func() {
		for _, f := range files {
			_ = f.Close() // it was only read
		}
	}
	var all []io.Reader
	for _, path := range logs {
		var from io.Reader = cmd.InOrStdin()
		name := "standard input"
		if path != "-" {
			file, err := os.Open(path)
			if err != nil {
				closeAll()
				return nil, nil, nil, usageError{err}
			}
			files = append(files, file)
			from, name = file, filepath.Base(path)
		}
		plain, err := serverlog.Unpack(from)
		if err != nil {
			closeAll()
			return nil, nil, nil, fmt.Errorf("%s: %w", name, err)
		}
		all, names = append(all, plain), append(names, name)
	}
	return io.MultiReader(all...), names, closeAll, nil
}

// captured says what is in a recording and what was left out.
func captured(to io.Writer, h *recording.Head, path string) error {
	w := bufio.NewWriter(to)
	fmt.Fprintf(w, "%s: %s, %s, %s in %.1f s, from %s", path, check.Counted(h.Sessions, "session", "sessions"), check.Counted(h.Transactions, "transaction", "transactions"),
		check.Counted(h.Statements, "statement", "statements"), h.Seconds, h.From.Format)
	if h.From.Prefix != "" {
		fmt.Fprintf(w, " with the prefix %q", h.From.Prefix)
	}
	fmt.Fprintf(w, "\n  with a duration: %s; failed: %s\n", check.Count(h.Timed), check.CountOrNone(h.Failed))
	for _, reason := range slices.Sorted(maps.Keys(h.LeftOut)) {
		fmt.Fprintf(w, "  left out: %s %s\n", check.Count(h.LeftOut[reason]), reason)
	}
	for _, n := range h.Notes {
		fmt.Fprintf(w, "  note: %s\n", n)
	}
	return w.Flush()
}
