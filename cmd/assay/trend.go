package main

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"assay/report"
	"assay/report/compare"
)

type trendFlags struct {
	comparedFlags
	minChange, group string
}

func newTrend() *cobra.Command {
	f := &trendFlags{}
	cmd := &cobra.Command{
		Use:   "trend DIR",
		Short: "Find the runs where figures changed",
		Long: `Find the runs where the figures of a folder of runs changed, such as those of every
night: each change with the run, the means before and after, and how likely chance
alone would make it (E-divisive means; see docs/guides/compare.md).

DIR holds runs, or a series; of a series with several configurations each is looked
at alone. Runs that cannot be compared are refused with exit code 2 and what differs,
as assay compare does. It takes 10 runs or more.`,
		Example: `  assay trend nightly
  assay trend nightly --min-change 5% --html trend.html`,
		Args: oneArgument("a folder of runs"),
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args[0]) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.minChange, "min-change", "0%", "the least change that is reported, such as 5%")
	flags.StringVar(&f.group, "configuration", "", "of a series: this configuration alone")
	f.add(cmd, "trend", "write a page with charts to this file, too; of one configuration")
	return cmd
}

func (f *trendFlags) run(cmd *cobra.Command, folder string) error {
	if err := f.validate(); err != nil {
		return err
	}
	share, isPercent := strings.CutSuffix(strings.TrimSpace(f.minChange), "%")
	least, err := strconv.ParseFloat(strings.TrimSpace(share), 64)
	if err != nil || !isPercent || !(least >= 0 && least < 1e6) {
		return usageError{fmt.Errorf("--min-change %q is no change in percent of 0 or more, such as 5%%", f.minChange)}
	}
	groups, err := compare.Read(folder)
	if err != nil {
		return err
	}
	var all []*compare.Trend
	var names []string
	for _, g := range groups {
		names = append(names, g.Name)
		if f.group != "" && g.Name != f.group {
			continue
		}
		t, err := compare.FindTrend(g, compare.TrendOptions{Allow: f.allow, MinChange: least / 100})
		if err != nil {
			return err
		}
		all = append(all, t)
	}
	switch {
	case len(all) == 0:
		return usageError{fmt.Errorf("--configuration %q is none of %s", f.group, strings.Join(names, "; "))}
	case f.page != "" && len(all) > 1:
		return usageError{errors.New("--html is of one configuration; name it with --configuration, one of " + strings.Join(names, "; "))}
	}
	var documents []report.Document
	for _, t := range all {
		documents = append(documents, t.Document("assay trend "+report.CommandLine([]string{folder})))
	}
	return f.present(cmd, "trend", func(w io.Writer) error { return compare.WriteTrends(w, all) }, documents[0], documents...)
}
