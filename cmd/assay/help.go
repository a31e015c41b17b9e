package main

import (
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

type helpGroup struct {
	title string
	names []string
}

func flagGroups() []helpGroup {
	return []helpGroup{
		{"Database and cluster", []string{"db", "cluster", "isolation", "option", "connect-timeout", "use-existing", "drop", "kubernetes", "nodes", "servers", "no-server-stats"}},
		{"Load", []string{"clients", "rate", "duration", "repeat", "ops", "warmup", "ramp", "arrivals", "retry", "max-attempts", "timeout", "seed", "scenario"}},
		{"Faults", []string{"fault"}},
		{"Figures and verdict", []string{"threshold", "slo", "strict", "judge", "other-work", "price", "overhead", "hgrm", "metrics", "otlp"}},
		{"Output", []string{"out", "junit", "summary", "json", "quiet", "verbose", "plain"}},
		{"Several machines", []string{"agents", "engine", "agent-loss", "agent-timeout"}},
	}
}

// usedMost are the flags that --help shows, each with a text and an example.
func usedMost() map[string][2]string {
	return map[string][2]string{
		"db":        {"the database to test", "--db postgres://me@localhost/test"},
		"cluster":   {"start servers on this machine instead", "--cluster mongodb:3"},
		"isolation": {"one of the database's isolation levels", "--isolation serializable"},
		"clients":   {"how many clients work at once", "--clients 16"},
		"rate":      {"open loop: arrivals a second over all clients", "--rate 200"},
		"duration":  {"how long is measured", "--duration 1m"},
		"repeat":    {"how many runs to make, as a series", "--repeat 5"},
		"fault":     {"with --cluster: what breaks, and when", "--fault 'kill primary at 5s for 3s'"},
		"threshold": {"a limit to keep, or the exit code is 3", "--threshold 'p99<50ms'"},
		"out":       {"the run's folder, new or empty", "--out runs/first"},
		"slo":       {"find the highest rate that keeps this", "--slo 'p99<100ms'"},
	}
}

const helpAll = "help-all"

// explainFlags makes --help show the most used flags, and --help-all all flags by groups.
func explainFlags(cmd *cobra.Command) {
	all := cmd.Flags().Bool(helpAll, false, "show all flags")
	do := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if *all {
			return cmd.Help()
		}
		return do(cmd, args)
	}
	accepts := cmd.Args
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if *all {
			return nil
		}
		return accepts(cmd, args)
	}
	cmd.SetUsageFunc(func(cmd *cobra.Command) error {
		text := firstFlags(cmd)
		if *all {
			text = allFlags(cmd)
		}
		_, err := fmt.Fprintf(cmd.OutOrStderr(), "Usage:\n  %s\n%s\n%s", cmd.UseLine(), examplesOf(cmd), text)
		return err
	})
}

// wrapFlags makes the usual help fit 80 columns. It uses no template, since executing one makes
// the linker keep all methods of the program.
func wrapFlags(root *cobra.Command) {
	usual := root.UsageFunc()
	root.SetUsageFunc(func(cmd *cobra.Command) error {
		var text strings.Builder
		out, flags := cmd.OutOrStderr(), cmd.LocalFlags()
		cmd.SetOut(&text)
		err := usual(cmd)
		cmd.SetOut(out)
		if err != nil {
			return err
		}
		_, err = strings.NewReplacer(strings.TrimSpace(flags.FlagUsages()), strings.TrimSpace(flags.FlagUsagesWrapped(80))).WriteString(out, text.String())
		return err
	})
}

func examplesOf(cmd *cobra.Command) string {
	if cmd.Example == "" {
		return ""
	}
	return "\nExamples:\n" + cmd.Example + "\n"
}

func firstFlags(cmd *cobra.Command) string {
	var b strings.Builder
	most := usedMost()
	for _, group := range flagGroups() {
		title := group.title + ":\n"
		for _, name := range group.names {
			flag := cmd.Flags().Lookup(name)
			if text, is := most[name]; is && flag != nil && !flag.Hidden {
				fmt.Fprintf(&b, "%s  %-12s %s\n%15s%s\n", title, "--"+name, text[0], "", text[1])
				title = ""
			}
		}
	}
	var own []string
	for flag := range ofWorkload(cmd) {
		own = append(own, "--"+flag.Name)
	}
	if len(own) > 0 {
		hang(&b, "\nOf this workload: ", strings.Join(own, ", "))
	}
	fmt.Fprintf(&b, "\n%s --%s explains all flags.\n", cmd.CommandPath(), helpAll)
	return b.String()
}

func allFlags(cmd *cobra.Command) string {
	var b strings.Builder
	write := func(title string, flags *pflag.FlagSet) {
		if flags.HasAvailableFlags() {
			fmt.Fprintf(&b, "%s:\n%s\n", title, flags.FlagUsagesWrapped(80))
		}
	}
	for _, group := range flagGroups() {
		of := newFlagSet()
		for _, name := range group.names {
			if flag := cmd.Flags().Lookup(name); flag != nil { // a sweep alone has --slo
				of.AddFlag(flag)
			}
		}
		write(group.title, of)
	}
	own := newFlagSet()
	for flag := range ofWorkload(cmd) {
		own.AddFlag(flag)
	}
	write("Of this workload", own)
	return strings.TrimSuffix(b.String(), "\n")
}

func newFlagSet() *pflag.FlagSet {
	set := pflag.NewFlagSet("", pflag.ContinueOnError)
	set.SortFlags = false
	return set
}

// ofWorkload yields the flags that are in no group.
func ofWorkload(cmd *cobra.Command) iter.Seq[*pflag.Flag] {
	grouped := []string{"help", helpAll}
	for _, group := range flagGroups() {
		grouped = append(grouped, group.names...)
	}
	return func(yield func(*pflag.Flag) bool) {
		done := false
		cmd.Flags().VisitAll(func(flag *pflag.Flag) {
			done = done || !slices.Contains(grouped, flag.Name) && !flag.Hidden && !yield(flag)
		})
	}
}

// commandGroups sorts commands by purpose; cobra's own are in the last group.
func commandGroups() []helpGroup {
	return []helpGroup{
		{"Test a database", []string{"run", "app", "sweep", "advise", "isolation-matrix", "durability", "known", "hunt", "study"}},
		{"Judge a history", []string{"check", "repro", "export"}},
		{"Read results", []string{"report", "compare", "trend", "view"}},
		{"Servers and machines", []string{"cluster", "kubernetes", "agent", "serve"}},
		{"About assay", []string{"list", "version"}},
	}
}

func groupCommands(root *cobra.Command) {
	groups := commandGroups()
	last := groups[len(groups)-1].title
	root.SetHelpCommandGroupID(last)
	root.SetCompletionCommandGroupID(last)
	for _, group := range groups {
		root.AddGroup(&cobra.Group{ID: group.title, Title: group.title + ":"})
		for _, c := range root.Commands() {
			if slices.Contains(group.names, c.Name()) {
				c.GroupID = group.title
			}
		}
	}
}
