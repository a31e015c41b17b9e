// Command assay puts a database under real work, accounts for every single operation, and reports
// how fast it was and whether it kept its promises.
//
// This package is wiring: each command, in its own file, reads its flags, calls the packages that
// do the work, and turns the outcome into words and an exit code.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"assay/cluster/disk"
	"assay/internal/spelling"
	"assay/runner/catalog"
	"assay/workload/definition"
)

func main() {
	// A crash of the program, as without memory, ends by SIGABRT. Go's usual code for it is 2,
	// which means a wrong command line here.
	debug.SetTraceback("crash")
	if disk.Child() {
		os.Exit(disk.Serve())
	}
	stdout, stderr := &output{file: os.Stdout}, &output{file: os.Stderr}
	ctx, stop := interruptible(stderr)
	code := run(ctx, os.Args[1:], stdout, stderr)
	stop()
	os.Exit(code)
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	root := newRoot(version(), args)
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	return exitCode(err, stderr)
}

// newRoot has only the command asked for, or all: making all flags takes longer than most commands.
func newRoot(version string, args []string) *cobra.Command {
	root := &cobra.Command{
		Use:   "assay",
		Short: "Test whether a database keeps its promises under load",
		Long: `assay puts a database under real work, accounts for every single operation,
and reports how fast it was and whether it kept its promises.

  assay run bank                       an embedded SQLite file
  assay run bank --db postgres://...   your PostgreSQL
  assay run bank --db mongodb://...    your MongoDB replica set

Exit codes: 0 the verdict is valid or allowed; 1 violated; 2 usage, or an input
file that is missing or malformed; 3 a threshold missed; 4 no verdict, something
asked for and not done, a threshold, a gate, an objective or --strict that
rests on an invalid measurement, or a threshold whose figure the run's end cut
or that has none; 5 could not run.`,
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
	wrapFlags(root)
	all := commands(version, args)
	chosen := slices.DeleteFunc(slices.Clone(all), func(c maker) bool { return len(args) == 0 || c.name != args[0] })
	if len(chosen) > 0 {
		root.AddCommand(chosen[0].make())
		return root
	}
	for _, c := range all {
		root.AddCommand(c.make())
	}
	groupCommands(root)
	completeValues(root)
	return root
}

type maker struct {
	name string
	make func() *cobra.Command
}

func commands(version string, args []string) []maker {
	of := func(name string, make func(version string) *cobra.Command) maker {
		return maker{name: name, make: func() *cobra.Command { return make(version) }}
	}
	return []maker{
		{name: "run", make: func() *cobra.Command { return newRun(version, asked(args)) }}, of("check", newCheck),
		{name: "repro", make: newRepro}, {name: "export", make: newExport}, {name: "report", make: newReport}, {name: "compare", make: newCompare}, {name: "trend", make: newTrend},
		{name: "sweep", make: func() *cobra.Command { return newSweep(version, asked(args)) }}, of("study", newStudy),
		{name: "view", make: newView}, {name: "list", make: newList}, {name: "cluster", make: newCluster}, {name: "kubernetes", make: newKubernetes}, of("serve", newServe),
		of("agent", newAgent), of("isolation-matrix", newIsolationMatrix), of("advise", newAdvise), {name: "app", make: newApp}, of("durability", newDurability), {name: "known", make: newKnown}, of("hunt", newHunt),
		of("version", newVersion), {name: "reference", make: newReference},
	}
}

// asked is the workload that a command's arguments name first, or all.
func asked(args []string) []definition.Workload {
	all := catalog.Workloads()
	if len(args) > 1 {
		if i := slices.IndexFunc(all, func(w definition.Workload) bool { return w.Name == args[1] }); i >= 0 {
			return all[i : i+1]
		}
	}
	return all
}

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

// unknownWord is the error for an unknown word, with the known one that may be meant.
func unknownWord(cmd *cobra.Command, word, problem, want string) error {
	var known []string
	for _, c := range cmd.Commands() {
		if !c.Hidden {
			known = append(known, c.Name())
		}
	}
	if strings.Contains(word, "://") {
		return usageError{fmt.Errorf("%s %q; %s", problem, word, whereAddresses)}
	}
	return usageError{fmt.Errorf("%s %q; %s%s", problem, word, want, spelling.Hint(word, "", known))}
}

// flagError adds to an unknown flag's error the flag that may be meant.
func flagError(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) {
		return usageError{err}
	}
	var known []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			known = append(known, f.Name)
		}
	})
	hint := hintOfForeign(unknown, func(name string) bool { return slices.Contains(known, name) })
	if hint == "" {
		hint = spelling.Hint(unknown.GetSpecifiedName(), "--", known)
	}
	return usageError{fmt.Errorf("%w; %s --help has all%s", err, cmd.CommandPath(), hint)}
}

// onlyWithin is for a command that only has subcommands. question is the error without any.
func onlyWithin(question, problem, want string) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			return unknownWord(cmd, args[0], problem, want)
		}
		return usageError{errors.New(question)}
	}
}
