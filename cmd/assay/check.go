package main

import (
	"os"

	"github.com/spf13/cobra"

	"assay/study"
)

func newCheck(version string) *cobra.Command {
	var (
		db           string
		asJSON, mute bool
	)
	cmd := &cobra.Command{
		Use:   "check DIR",
		Short: "Judge a saved run again",
		Long: `Judge a saved run again, from the files in its folder.

A run that was cut before it had read its database (assay or its machine was
killed) is judged too: its database is read now, from the address in the run's
scenario or from --db. What was acknowledged is judged; what was in flight is
unknown. The database is only read, and only if it still holds this run.`,
		Args: oneArgument("the run's folder"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if db == "" {
				db = os.Getenv(databaseVariable)
			}
			progress := newProgress(cmd.ErrOrStderr(), mute)
			outcome, err := study.Recheck(cmd.Context(), args[0], study.RecheckOptions{
				Version: version, Database: db, Again: cmd.Flags().Changed("db"), Progress: progress,
			})
			progress.close()
			if err != nil {
				return err
			}
			return show(cmd.OutOrStdout(), outcome, asJSON, mute)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&db, "db", "", "read the database again from this address (or from "+databaseVariable+")")
	flags.BoolVar(&asJSON, "json", false, "print result.json on standard output instead of the summary")
	flags.BoolVar(&mute, "quiet", false, "no progress; the summary is one line")
	return cmd
}
