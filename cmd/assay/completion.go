package main

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"assay/check/cycle"
	"assay/cluster"
	"assay/fault"
	"assay/load"
	"assay/runner/catalog"
	"assay/workload/definition"
)

// flagValues returns a flag's named values; more is true if the user writes on behind them.
func flagValues(flag string) (values []string, more bool) {
	switch flag {
	case "db":
		return append(catalog.Schemes(), "@", environmentPrefix), true
	case "fault":
		return faultsBegun(), true
	case "arrivals":
		return []string{string(load.Poisson), string(load.Uniform)}, false
	case "retry":
		return []string{string(load.RetryNone), string(load.RetryFailed), string(load.RetryIdempotent)}, false
	case "isolation":
		return []string{"read uncommitted", "read committed", "repeatable read", "snapshot", "serializable"}, false
	case "model":
		for _, m := range cycle.Models() {
			values = append(values, string(m))
		}
		return values, false
	case "assume":
		return cycle.Assumptions(), false
	case "threshold":
		return []string{"p50<", "p95<", "p99<", "p99.9<", "max<", "mean<", "throughput>=", "worst.p99<"}, true
	}
	return nil, false
}

func completeValues(cmd *cobra.Command) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		values, more := flagValues(f.Name)
		if own := ownFlag(cmd.Name(), f.Name); len(own.Values) > 0 {
			values, more = own.Values, own.Open
		}
		if f.Name == "cluster" {
			_ = cmd.RegisterFlagCompletionFunc(f.Name, completeSpecs) // the flag is there
		}
		if len(values) == 0 {
			return
		}
		directive := cobra.ShellCompDirectiveNoFileComp
		if more {
			directive |= cobra.ShellCompDirectiveNoSpace
		}
		// It fails if the command lacks the flag, or has it completed already.
		_ = cmd.RegisterFlagCompletionFunc(f.Name, cobra.FixedCompletions(values, directive))
	})
	for _, c := range cmd.Commands() {
		completeValues(c)
	}
}

// ownFlag is a workload's own flag of this name, or the zero Flag.
func ownFlag(workload, name string) definition.Flag {
	w, err := catalog.WorkloadOf(workload)
	if err != nil {
		return definition.Flag{}
	}
	f, _ := definition.Lookup(w.Config(), name)
	return f
}

func clusterSpecs() []string {
	var all []string
	for _, p := range cluster.Products() {
		all = append(all, cluster.Specs(p)...)
	}
	return all
}

// faultsBegun are all actions with each target, or an example of it.
func faultsBegun() []string {
	var all []string
	for _, a := range fault.Actions() {
		for _, target := range a.Targets {
			if _, example, described := strings.Cut(target, " such as "); described { // its first example
				target = strings.TrimSuffix(strings.Fields(example)[0], ",")
			}
			all = append(all, a.Name+" "+target)
		}
	}
	return all
}

func completeSpecs(_ *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
	all := clusterSpecs()
	if at := strings.LastIndexByte(begun, ','); at >= 0 {
		all = nil
		product, _, _ := strings.Cut(begun, ":")
		for _, name := range cluster.OptionNames(product) {
			all = append(all, begun[:at+1]+name+"=")
		}
	}
	return all, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}

func completeClusters(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	records, err := cluster.Records()
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	var ids []string
	for _, r := range records {
		ids = append(ids, r.ID+"\t"+r.Spec)
	}
	return ids, cobra.ShellCompDirectiveNoFileComp
}

func completeFlag(cmd *cobra.Command, flag string, values ...string) {
	_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)) // the flag is there
}
