package main

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"assay/check"
	"assay/cluster"
	"assay/fault"
	"assay/internal/quantity"
	"assay/internal/yamlfile"
	"assay/load"
	"assay/measure"
	"assay/report"
	"assay/runner"
	"assay/runner/catalog"
	"assay/runner/series"
	"assay/runner/study"
	"assay/store"
)

type plannedExperiment struct {
	experiment study.Experiment
	plan       series.Plan
	seeded     bool
	sharing    agentFlags
}

// plan turns an experiment into a series. It leaves out what a database does not serve, with the
// reason. An unusable value gives a *yamlfile.Error with its position.
func (f *studyFlags) plan(cmd *cobra.Command, s *study.Study, e study.Experiment) (plannedExperiment, error) {
	out := plannedExperiment{experiment: e}
	out.experiment.Configurations, out.experiment.LeftOut = nil, leftOut(e)
	folder := ""
	if f.out != "" {
		folder = filepath.Join(f.out, e.Name)
	}
	stderr := &firstTime{to: cmd.ErrOrStderr(), seen: map[string]bool{}}
	for _, c := range e.Configurations {
		p, sharing, err := f.configured(stderr, e, c, folder)
		if err != nil {
			return out, located(err, s, e, c)
		}
		if why := p.Base.Unserved(); why != "" {
			out.experiment.LeftOut = append(out.experiment.LeftOut, study.LeftOut{Configuration: c, Why: notPossible + why})
			continue
		}
		if len(out.plan.Configurations) == 0 {
			out.sharing = sharing
			out.plan.Base, out.plan.Repeats = p.Base, p.Repeats
			out.seeded = slices.ContainsFunc(c.Flags, func(f study.Flag) bool { return f.Name == "seed" })
		}
		if !out.seeded {
			p.Base.Load.Seed = out.plan.Base.Load.Seed
		}
		if p.Repeats != out.plan.Repeats || p.Base.Load.Seed != out.plan.Base.Load.Seed || sharing != out.sharing {
			return out, problem(s, e.At, "repeat, seed and agents hold for a whole experiment and cannot vary in it")
		}
		out.experiment.Configurations = append(out.experiment.Configurations, c)
		out.plan.Configurations = append(out.plan.Configurations, series.Configuration{Configuration: report.Configuration{Values: c.Values}, Scenario: p.Base})
	}
	if len(out.plan.Configurations) == 0 {
		left := out.experiment.LeftOut
		return out, problem(s, e.At, "nothing is left to run: "+left[len(left)-1].Why)
	}
	if err := out.plan.Validate(); err != nil {
		return out, problem(s, e.At, err.Error())
	}
	return out, nil
}

// configured sets the flags of one configuration, as assay run would read them.
func (f *studyFlags) configured(stderr io.Writer, e study.Experiment, c study.Configuration, folder string) (series.Plan, agentFlags, error) {
	w, err := catalog.WorkloadOf(e.Workload)
	if err != nil {
		return series.Plan{}, agentFlags{}, err
	}
	own := &runFlags{workload: w, scenario: runner.Defaults(w)}
	twin := &cobra.Command{Use: w.Name}
	twin.SetErr(stderr)
	own.add(twin)
	own.out = folder
	for _, flag := range c.Flags {
		if len(flag.Values) > 1 && !repeatable(twin.Flags().Lookup(flag.Name)) {
			return series.Plan{}, agentFlags{}, severalValues(flag.Name)
		}
		for _, value := range flag.Values {
			if err := twin.Flags().Set(flag.Name, value); err != nil {
				return series.Plan{}, agentFlags{}, &flagProblem{flag.Name, fmt.Errorf("%s %q cannot be used: %w", flag.Name, value, plainCause(err))}
			}
		}
	}
	if f.repeat > 0 {
		own.repeat = f.repeat
	}
	if _, err := own.sharing.number(); err != nil {
		return series.Plan{}, agentFlags{}, &flagProblem{"agents", err}
	}
	p, err := own.resolve(twin)
	if err == nil && len(p.Axes) > 0 {
		err = severalValues(p.Axes[0].Name)
	}
	return p, own.sharing, err
}

// repeatable reports whether a flag keeps several values. Others keep the last one.
func repeatable(flag *pflag.Flag) bool {
	if flag == nil {
		return true // there is none, as Set says
	}
	_, is := flag.Value.(pflag.SliceValue)
	return is
}

func severalValues(flag string) error {
	return &flagProblem{flag, fmt.Errorf("%s has several values here; list them in the matrix", flag)}
}

func plainCause(err error) error {
	if cause := errors.Unwrap(err); cause != nil {
		return cause
	}
	return err
}

// flagProblem is a value that a flag refuses.
type flagProblem struct {
	flag string
	err  error
}

func (e *flagProblem) Error() string { return e.err.Error() }
func (e *flagProblem) Unwrap() error { return e.err }

// located points an error at its flag in the study's file.
func located(err error, s *study.Study, e study.Experiment, c study.Configuration) error {
	at := e.At
	name := flagOf(err)
	for _, flag := range c.Flags {
		if flag.Name == name {
			at = flag.At
		}
	}
	return problem(s, at, err.Error())
}

func problem(s *study.Study, at yamlfile.Position, text string) error {
	return &yamlfile.Error{Path: s.Path, Position: at, Problem: text}
}

func flagOf(err error) string {
	if e, is := errors.AsType[*flagProblem](err); is {
		return e.flag
	}
	if e, is := errors.AsType[*store.OptionError](err); is {
		return strings.TrimPrefix(e.Option, "--")
	}
	if e, is := errors.AsType[*load.PlanError](err); is {
		return strings.TrimPrefix(e.Option, "--")
	}
	switch {
	case isA[*cluster.SpecError](err):
		return "cluster"
	case isA[*fault.ParseError](err), isA[*fault.ScheduleError](err):
		return "fault"
	case isA[*measure.ThresholdError](err):
		return "threshold"
	case isA[*catalog.SchemeError](err):
		return "db"
	}
	return ""
}

// printPlan prints each run as its command, in order, and the approximate time of all.
func printPlan(out io.Writer, s *study.Study, plans []plannedExperiment, size string) error {
	var text strings.Builder // which takes everything
	var whole runner.Estimate
	runs := 0
	for _, p := range plans {
		var all runner.Estimate
		agents, err := p.sharing.number()
		if err != nil {
			return err
		}
		for _, c := range p.plan.Configurations {
			all = all.Plus(c.Scenario.Estimate(agents), p.plan.Repeats)
		}
		n := len(p.plan.Configurations) * p.plan.Repeats
		whole, runs = whole.Plus(all, 1), runs+n
		fmt.Fprintf(&text, "\n%s: %s, %s\n", p.experiment.Name, check.Counted(int64(n), "run", "runs"), estimateText(all))
		for repeat := range p.plan.Repeats {
			for _, c := range p.experiment.Configurations {
				fmt.Fprintln(&text, "  "+p.command(c, repeat))
			}
		}
		for _, line := range leftOutLines(p.experiment) {
			fmt.Fprintln(&text, "  "+line)
		}
	}
	_, err := fmt.Fprintf(out, "%s\nsize %s of %s; %s, %s\n%s", s.Title, size, strings.Join(s.Sizes, ", "),
		check.Counted(int64(runs), "run", "runs"), estimateText(whole), text.String())
	return printing("plan", err)
}

const notPossible = "not possible: "

// leftOut is what the file leaves out. An unserved workload comes before the file's own reason.
func leftOut(e study.Experiment) []study.LeftOut {
	all := slices.Clone(e.LeftOut)
	for i, l := range all {
		s := runner.Scenario{Workload: e.Workload}
		for _, flag := range l.Flags {
			switch flag.Name {
			case "db":
				s.Database = strings.Join(flag.Values, "")
			case "cluster":
				s.Cluster = strings.Join(flag.Values, ",")
			}
		}
		if why := s.Unserved(); why != "" {
			all[i].Why = notPossible + why
		}
	}
	return all
}

func leftOutLines(e study.Experiment) (lines []string) {
	for _, l := range e.LeftOut {
		var values []string
		for _, v := range l.Values {
			values = append(values, v.Name+"="+v.Value)
		}
		lines = append(lines, strings.Join(values, ", ")+": "+l.Why)
	}
	return lines
}

func estimateText(e runner.Estimate) string {
	text := fmt.Sprintf("about %v; keeps about %s, and a run's servers take up to about %s meanwhile",
		e.Time.Round(time.Second), quantity.Bytes(e.Kept), quantity.Bytes(e.While))
	if e.Agent > 0 {
		text += fmt.Sprintf("; each agent keeps up to about %s of a run until that is taken", quantity.Bytes(e.Agent))
	}
	if e.Memory > 0 {
		text += fmt.Sprintf("; the check of a run takes up to about %s of memory and %v", quantity.Bytes(e.Memory), e.Check.Round(time.Second))
	}
	return text
}

// command is the command of one run; repeat counts from 0.
func (p plannedExperiment) command(c study.Configuration, repeat int) string {
	words := []string{"assay", "run", p.experiment.Workload}
	for _, flag := range c.Flags {
		for _, value := range flag.Values {
			switch {
			case flag.Name == "repeat" || flag.Name == "seed":
			case value == "true":
				words = append(words, "--"+flag.Name)
			case value == "false":
				words = append(words, "--"+flag.Name+"=false")
			case flag.Name == "db":
				words = append(words, "--db", store.Redact(value))
			default:
				words = append(words, "--"+flag.Name, value)
			}
		}
	}
	if p.seeded {
		words = append(words, "--seed", strconv.FormatUint(p.plan.Base.Load.Seed+uint64(repeat), 10))
	}
	return report.CommandLine(words)
}
