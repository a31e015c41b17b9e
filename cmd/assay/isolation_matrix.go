package main

import (
	"errors"
	"io"
	"time"

	"github.com/spf13/cobra"

	"assay/runner"
	"assay/workload/interleaving"
)

type matrixFlags struct {
	scenario    runner.MatrixScenario
	db, servers string
	tableFlags
}

func newIsolationMatrix(version string) *cobra.Command {
	f := &matrixFlags{}
	cmd := &cobra.Command{
		Use: "isolation-matrix", Args: cobra.NoArgs,
		Short: "Show which anomalies each isolation level allows",
		Long: `Show which anomalies each isolation level of a database allows.

Hermitage's tests (M. Kleppmann, github.com/ept/hermitage) are played: the steps of
two or three transactions in a fixed order, each transaction in a session of its
own, at each isolation level. An anomaly is shown, prevented (and how: a
transaction was blocked or refused, or an old version was read) or not reached,
judged by the rows that were read and those that are left. The exit code is 1 if a
level shows what the vendor's promise for it rules out, and 4 if an anomaly was not
reached.

The schema is that of workload isolation, with assay's mark and lease; it is
dropped afterwards. Without --db and --cluster it is an embedded SQLite file.`,
		Example: `  assay isolation-matrix --cluster postgres:1
  assay isolation-matrix --cluster mariadb:1 --level 'repeatable read'
  assay isolation-matrix --cluster mongodb:1 --json`,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd, version) },
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVar(&f.db, "db", "", databaseUsage)
	flags.StringVar(&f.scenario.Cluster, "cluster", "", "start servers on this machine, such as postgres:1; assay cluster --help has all")
	flags.StringVar(&f.servers, "servers", "", "with --cluster: "+serversUsage)
	flags.StringArrayVar(&f.scenario.Options, "option", nil, "a parameter of the address, such as engine=MyRocks; repeatable")
	flags.StringArrayVar(&f.scenario.Levels, "level", nil, "an isolation level, as the matrix names it; repeatable; all if not given")
	addTime(flags, &f.scenario.ConnectTimeout, "connect-timeout", 10*time.Second, "longest time to reach the database")
	f.add(flags, "print the cells as JSON: level, anomaly, result, how, promise, trace", "print the matrix as a table of Markdown")
	return cmd
}

func (f *matrixFlags) run(cmd *cobra.Command, version string) error {
	if err := f.validate(); err != nil {
		return err
	}
	if f.db != "" && f.scenario.Cluster != "" {
		return usageError{errors.New("--db and --cluster exclude each other: one names a database that runs, the other starts one")}
	}
	if f.scenario.Cluster == "" {
		address, err := databaseAddress(f.db, cmd.ErrOrStderr())
		if err != nil {
			return err
		}
		f.scenario.Database = address
	}
	progress := newProgress(cmd.ErrOrStderr(), f.quiet)
	cells, err := runner.IsolationMatrix(cmd.Context(), f.scenario, runner.Options{Version: version, Servers: f.servers, Progress: progress})
	progress.close()
	return f.show(cmd.OutOrStdout(), cells, unfinished(err))
}

// show prints the matrix. One that an error has ended early is printed if it shows a broken promise,
// which the error does not take back.
func (f *matrixFlags) show(out io.Writer, cells interleaving.Matrix, ended error) error {
	broken := len(cells.Broken()) > 0
	if ended != nil && !broken {
		return ended
	}
	err := f.print(out, "matrix", cells, cells.Markdown, cells.Text)
	switch {
	case broken:
		return errors.Join(ended, err, resultError{exitViolated})
	case len(cells.Unreached()) > 0:
		return errors.Join(err, resultError{exitNoVerdict})
	}
	return err
}
