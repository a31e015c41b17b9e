// Package series makes several runs that belong together: repeats of a scenario, and scenarios
// that differ in a few values. It decides their order, keeps the series' folder, and continues
// an interrupted series.
//
// It must not know the command line or the terminal, nor judge or compare runs; package compare
// does.
package series

import (
	"fmt"
	"slices"
	"strings"

	"assay/report"
	"assay/runner"
)

// Axis is one thing that varies in a series.
type Axis struct {
	Name    string
	Choices []Choice
}

// Choice is one value of an axis.
type Choice struct {
	// Text is the value, without any password.
	Text  string
	Apply func(*runner.Scenario)
}

// Plan is a series as asked for.
type Plan struct {
	// Base is common to all runs. Its seed is the first repeat's.
	Base runner.Scenario
	// Axes are combined in all ways; the last one varies fastest.
	Axes []Axis
	// Configurations replace the combinations of Axes, if there are any.
	Configurations []Configuration
	// Repeats is the number of runs of each combination, at least 1.
	Repeats int
}

// Configuration is one scenario of a series. Its values, without any password, distinguish it
// from the others. The series names it.
type Configuration struct {
	report.Configuration
	Scenario runner.Scenario
}

// MaxRuns bounds a series: more than a year of short runs.
const MaxRuns = 100_000

// PlanError is a series that cannot be made.
type PlanError struct{ Problem string }

func (e *PlanError) Error() string { return e.Problem }

// Validate returns a *PlanError for the series, or an error of Scenario.Validate.
func (p Plan) Validate() error {
	_, err := p.configurations()
	return err
}

// configurations are all combinations, validated. It returns a *PlanError if there are too many
// or two are alike.
func (p Plan) configurations() ([]Configuration, error) {
	if len(p.Configurations)*max(1, p.Repeats) > MaxRuns {
		return nil, tooManyRuns()
	}
	all := p.chosen()
	for _, axis := range p.Axes {
		if len(all)*len(axis.Choices)*max(1, p.Repeats) > MaxRuns {
			return nil, tooManyRuns()
		}
		var more []Configuration
		for _, c := range all {
			for _, choice := range axis.Choices {
				next := Configuration{Scenario: c.Scenario}
				next.Values = append(append(next.Values, c.Values...), report.Setting{Name: axis.Name, Value: choice.Text})
				choice.Apply(&next.Scenario)
				more = append(more, next)
			}
		}
		all = more
	}
	seen := map[string]bool{}
	for i := range all {
		c := &all[i]
		c.Name = nameOf(c.Values)
		if seen[c.Name] {
			return nil, &PlanError{fmt.Sprintf("the series has %s twice", c.Name)}
		}
		seen[c.Name] = true
		c.Scenario.Plan()
		if err := c.Scenario.Validate(); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func (p Plan) chosen() []Configuration {
	if len(p.Configurations) == 0 {
		return []Configuration{{Scenario: p.Base}}
	}
	return slices.Clone(p.Configurations)
}

func tooManyRuns() error {
	return &PlanError{fmt.Sprintf("the series has more than %d runs", MaxRuns)}
}

// nameOf names a configuration by its values. Addresses and clusters need no name of the axis.
func nameOf(values []report.Setting) string {
	var parts []string
	for _, v := range values {
		if v.Name == "db" || v.Name == "cluster" {
			parts = append(parts, v.Value)
		} else {
			parts = append(parts, v.Name+"="+v.Value)
		}
	}
	return strings.Join(parts, ", ")
}

// newSeries lays out the runs: each configuration once, then each again. A machine that changes
// during the series thus affects all configurations alike.
func (p Plan) newSeries(version string) (*report.RunSeries, []Configuration, error) {
	if p.Repeats < 1 {
		return nil, nil, &PlanError{"a series has one repeat or more"}
	}
	all, err := p.configurations()
	if err != nil {
		return nil, nil, err
	}
	common, err := p.common()
	if err != nil {
		return nil, nil, err
	}
	s := &report.RunSeries{Format: report.Format, Version: version, Workload: p.Base.Workload, Seed: p.Base.Load.Seed,
		Repeats: p.Repeats, Common: common, Configurations: []report.Configuration{}, Runs: []report.SeriesRun{}}
	for _, c := range all {
		s.Configurations = append(s.Configurations, c.Configuration)
	}
	for repeat := 1; repeat <= p.Repeats; repeat++ {
		for i, c := range all {
			s.Runs = append(s.Runs, report.SeriesRun{
				Folder: fmt.Sprintf("%03d-%03d", repeat, i+1), Configuration: c.Name, Repeat: repeat,
				Seed: p.Base.Load.Seed + uint64(repeat) - 1, State: report.StateWaiting,
			})
		}
	}
	return s, all, nil
}

// common is the text, without the seed, of the scenario that all runs share or, with
// Configurations, of all scenarios.
func (p Plan) common() (string, error) {
	var common strings.Builder
	for _, c := range p.chosen() {
		c.Scenario.Load.Seed = 0
		text, err := c.Scenario.Text()
		if err != nil {
			return "", err
		}
		common.Write(text) // a Builder takes everything
	}
	return common.String(), nil
}
