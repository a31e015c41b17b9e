package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"assay/check"
	"assay/report"
	"assay/report/junit"
	"assay/runner"
	"assay/runner/powercuts"
)

type durabilityFlags struct {
	scenario     powercuts.Trials
	servers, out string
	tableFlags
	pipeline pipelineFlags
}

func newDurability(version string) *cobra.Command {
	f := &durabilityFlags{}
	cmd := &cobra.Command{
		Use: "durability", Args: cobra.NoArgs,
		Short: "Cut the power under each durability setting, and count losses",
		Long: `Cut the power under each durability setting of a database and count what is lost.

For each setting servers are started, each node with a disk of its own; clients
work, and the power of one node is cut, and in a run of its own that of all nodes
at the same moment: the file systems stop in one instant, the servers are killed
and started again from what was on the disks. Every operation that was
acknowledged is looked for afterwards. What the manual allows to be lost under a
setting is reported; the exit code is 1 if more than that is.

It needs Linux, root, loop devices and mkfs.ext4 (mkfs.xfs with fs=xfs). The cut is gentler than that of a
real machine may be: what has reached the device survives, flushed or not. With the
cluster's option disk=faulty, which needs /dev/fuse instead, all is lost that was not
synced.`,
		Example: `  assay durability --cluster postgres:1
  assay durability --cluster mongodb:3 --json
  assay durability --cluster mariadb:1 --setting flush=2
  assay durability --cluster sqlite:1,disk=faulty`,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd, version) },
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVar(&f.scenario.Cluster, "cluster", "", "start servers on this machine, such as postgres:1; assay cluster --help has all")
	flags.StringVar(&f.servers, "servers", "", serversUsage)
	flags.StringArrayVar(&f.scenario.Settings, "setting", nil, "a setting to try, as the table names it; repeatable; all if not given")
	addTime(flags, &f.scenario.Duration, "duration", 0, "how long each run works; the power is cut after 2s (by default as long as the product usually takes to come back)")
	flags.Uint64Var(&f.scenario.Seed, "seed", 1, "seed of the work")
	flags.StringVar(&f.out, "out", "", "keep the runs' folders in this new folder")
	f.pipeline.add(flags)
	f.add(flags, "print the trials as JSON", "print them as a table of Markdown")
	return cmd
}

func (f *durabilityFlags) run(cmd *cobra.Command, version string) error {
	if err := errors.Join(f.validate(), f.pipeline.open(cmd.Flags(), f.json || f.markdown, cmd.ErrOrStderr())); err != nil {
		return err
	}
	if f.scenario.Cluster == "" {
		return usageError{errors.New("which servers? name them with --cluster, such as postgres:1: only the power of nodes that assay has started can be cut")}
	}
	progress := newProgress(cmd.ErrOrStderr(), f.quiet)
	var trials []powercuts.Trial
	err := powercuts.Try(cmd.Context(), f.scenario, runner.Options{Version: version, Servers: f.servers, Out: f.out, Progress: progress},
		func(t powercuts.Trial) { trials = append(trials, t) })
	progress.close()
	return f.show(cmd.OutOrStdout(), trials, unfinished(err))
}

// show prints the trials, which an error may have ended early, and returns that error and the
// gravest trial's.
func (f *durabilityFlags) show(out io.Writer, trials []powercuts.Trial, ended error) error {
	if ended != nil && len(trials) == 0 {
		return f.pipeline.failed(out, "durability", ended)
	}
	var err error
	if !f.pipeline.printed() {
		err = f.print(out, "trials", trials, func() string { return trialsMarkdown(trials) }, func() string { return trialsText(trials) })
	}
	code := exitValid
	for _, t := range trials {
		switch t.Verdict {
		case check.Violated.String():
			code = graver(code, exitViolated)
		case check.Unknown.String():
			code = graver(code, exitNoVerdict)
		}
	}
	a := ofTrials(f.scenario.Cluster, trials)
	if ended != nil {
		a.suites = append(a.suites, report.NotMade("durability", "", textOf(ended)))
	}
	return f.pipeline.finish(out, a, errors.Join(ended, err, exitError(code)))
}

// ofTrials has a case for each power cut.
func ofTrials(cluster string, trials []powercuts.Trial) answer {
	s := junit.Suite{Name: "durability of " + cluster}
	for _, t := range trials {
		c := junit.Case{Class: "assay.durability." + strings.ReplaceAll(cluster, ".", "_"), Name: t.Setting + ", power cut: " + t.Cut, Kind: t.Verdict, Message: t.Why}
		switch t.Verdict {
		case check.Valid.String():
			c.Answer = junit.Passed
		case check.Allowed.String():
			c.Answer = junit.Skipped
		case check.Violated.String():
			c.Answer = junit.Failed
		}
		for i, cell := range trialCells(t) {
			c.Text += trialHead()[i] + ": " + cell + "\n"
		}
		s.Cases = append(s.Cases, c)
	}
	return answer{name: "assay durability", suites: []junit.Suite{s}, summary: func(w io.Writer) error {
		_, err := io.WriteString(w, "## Durability of "+cluster+"\n\n"+trialsMarkdown(trials))
		return err
	}}
}

func trialCells(t powercuts.Trial) []string {
	survives := "not known"
	if t.Durability != nil {
		survives = t.Durability.Class
	}
	recovered := "not in this run"
	if t.Recovered >= 0 {
		recovered = fmt.Sprintf("%.1f s", t.Recovered/1000)
	}
	return []string{t.Setting, survives, t.Cut, check.Count(t.Acknowledged), lostCell(t.Lost), recovered, t.Verdict}
}

func trialHead() []string {
	return []string{"setting", "survives", "power cut", "acknowledged", "lost", "commits again", "verdict"}
}

// lostCell says how many were lost, and how long before the cut they were acknowledged.
func lostCell(l *report.Lost) string {
	switch {
	case l == nil:
		return "not known"
	case l.Operations == 0:
		return "0"
	case l.Newest == nil:
		return check.Count(l.Operations)
	}
	return fmt.Sprintf("%s, %.0f to %.0f ms before", check.Count(l.Operations), *l.Newest, *l.Oldest)
}

func trialsMarkdown(trials []powercuts.Trial) string {
	var p page
	p.table(trialHead()...)
	for _, t := range trials {
		p.row(trialCells(t)...)
	}
	return strings.TrimPrefix(p.String(), "\n")
}

// trialsText writes a block of 80 columns for each trial.
func trialsText(trials []powercuts.Trial) string {
	var b strings.Builder
	for _, t := range trials {
		cells := trialCells(t)
		fmt.Fprintf(&b, "%s, power cut: %s: %s\n", t.Setting, t.Cut, strings.ToUpper(t.Verdict))
		for i := range cells {
			if name := trialHead()[i]; name != "setting" && name != "power cut" && name != "verdict" {
				fmt.Fprintf(&b, "  %-14s %s\n", name, cells[i])
			}
		}
		if t.Durability != nil {
			fmt.Fprintf(&b, "  %-14s %s\n", "by", t.Durability.Source)
		}
		if t.Why != "" {
			fmt.Fprintf(&b, "  %-14s %s\n", "why", t.Why)
		}
		b.WriteString("\n")
	}
	return b.String()
}
