// Command assay puts a database under real work, accounts for every single
// operation, and reports how fast it was and whether it kept its guarantees.
//
// This package is wiring: each command in its own file reads its flags, calls
// the packages that do the work, and turns what comes back into words and an
// exit code.
package main

import (
	"context"
	"io"
	"os"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"assay/cluster/disk"
)

func main() {
	if disk.Child() {
		os.Exit(disk.Serve())
	}
	stdout, stderr := &output{file: os.Stdout}, &output{file: os.Stderr}
	ctx, stop := interruptible(stderr)
	code := run(ctx, os.Args[1:], stdout, stderr)
	stop()
	os.Exit(code)
}

// run carries out one command line and returns its exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	root := newRoot(version())
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	return exitCode(err, stderr)
}

func newRoot(version string) *cobra.Command {
	root := &cobra.Command{
		Use:   "assay",
		Short: "Test whether a database keeps its guarantees under load, and how fast it is",
		Long: `assay puts a database under real work, accounts for every single operation,
and reports how fast it was and whether it kept its guarantees.

  assay run bank                       an embedded SQLite file
  assay run bank --db postgres://...   your PostgreSQL
  assay run bank --db mongodb://...    your MongoDB replica set

Exit codes: 0 valid; 1 violated; 2 usage, or an input file that is missing or
malformed; 3 a threshold missed; 4 no verdict or an invalid measurement; 5 could
not run.`,
		Version:       version,
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return unknownWord(cmd, args[0], "there is no command", "assay --help lists them")
			}
			return cmd.Help()
		},
	}
	root.SetFlagErrorFunc(flagError)
	// Flags in lines that fit a terminal of 80 columns.
	root.SetUsageTemplate(strings.ReplaceAll(root.UsageTemplate(), "Flags.FlagUsages", "Flags.FlagUsagesWrapped 80"))
	root.AddCommand(newRun(version), newCheck(version), newRepro(), newExport(), newReport(), newCompare(), newTrend(), newSweep(version), newStudy(version), newView(), newList(), newCluster(), newKubernetes(), newServe(version), newAgent(version), newIsolationMatrix(version), newDurability(version), newVersion(version), newManPages(), newReference())
	completeValues(root)
	return root
}

// version is what the build knows of itself.
func version() string {
	const unknown = "development"
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return unknown
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	for _, setting := range info.Settings {
		if setting.Key == "vcs.revision" && len(setting.Value) >= 12 {
			return unknown + "-" + setting.Value[:12]
		}
	}
	return unknown
}
