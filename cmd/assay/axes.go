package main

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"assay/load"
	"assay/runner"
	"assay/runner/nodes"
	"assay/runner/series"
	"assay/store"
)

// numbers is a flag value such as "8", "1,2,4", "1..64" (doubling) or "10..50+10" (adding).
type numbers struct {
	values []float64
	text   string
}

func (n *numbers) set(v float64) {
	n.values, n.text = []float64{v}, strconv.FormatFloat(v, 'g', -1, 64)
}

func (n *numbers) String() string { return n.text }
func (n *numbers) Type() string   { return "numbers" }

const maxNumbers = 1000

func (n *numbers) Set(text string) error {
	var values []float64
	for _, part := range strings.Split(text, ",") {
		from, to, isRange := strings.Cut(strings.TrimSpace(part), "..")
		if !isRange {
			v, err := number(from)
			if err != nil {
				return err
			}
			values = append(values, v)
			continue
		}
		more, err := spread(from, to)
		if err != nil {
			return err
		}
		values = append(values, more...)
	}
	if len(values) > maxNumbers {
		return fmt.Errorf("%q stands for more than %d values", text, maxNumbers)
	}
	n.values, n.text = values, text
	return nil
}

func number(text string) (float64, error) {
	v, err := strconv.ParseFloat(strings.TrimSuffix(strings.TrimSpace(text), "/s"), 64)
	if err != nil || !(v > 0) || math.IsInf(v, 0) {
		return 0, fmt.Errorf("%q is not a number above 0; write one such as 8, a list such as 1,2,4, or a range such as 1..64 (doubled) or 10..50+10", text)
	}
	return v, nil
}

// spread includes both ends of a range.
func spread(from, to string) ([]float64, error) {
	end, by, adds := strings.Cut(to, "+")
	low, err := number(from)
	if err != nil {
		return nil, err
	}
	high, err := number(end)
	if err != nil {
		return nil, err
	}
	next := func(v float64) float64 { return 2 * v }
	if adds {
		step, err := number(by)
		if err != nil {
			return nil, err
		}
		next = func(v float64) float64 { return v + step }
	}
	if low > high {
		return nil, fmt.Errorf("the range %s..%s goes down", from, to)
	}
	var values []float64
	for v := low; v < high && len(values) <= maxNumbers; v = next(v) {
		values = append(values, v)
	}
	return append(values, high), nil
}

const alternativesMark = "|"

// axes are the choices of the flags: one for a single value, several for what a series varies.
func (f *runFlags) axes(cmd *cobra.Command, base runner.Scenario) ([]series.Axis, error) {
	targets, err := f.targets(cmd, base)
	if err != nil {
		return nil, err
	}
	asWritten := func(texts []string) ([]string, error) { return texts, nil }
	options, err := alternatives("option", base.Options, asWritten, func(s *runner.Scenario, all []string) { s.Options = all })
	if err != nil {
		return nil, err
	}
	faults, err := alternatives("fault", base.Faults, func(texts []string) ([]string, error) { return translated(cmd, base, texts) },
		func(s *runner.Scenario, all []string) { s.Faults = all })
	if err != nil {
		return nil, err
	}
	axes := slices.Concat(targets, options, faults)
	if strings.Contains(base.Isolation, alternativesMark) {
		levels, err := alternatives("isolation", []string{base.Isolation}, asWritten, func(s *runner.Scenario, all []string) { s.Isolation = strings.Join(all, "") })
		if err != nil {
			return nil, err
		}
		axes = append(axes, levels...)
	}
	clients := series.Axis{Name: "clients"}
	for _, v := range f.clients.values {
		if v != math.Trunc(v) || v > math.MaxInt32 {
			return nil, usageError{fmt.Errorf("--clients %g is not a whole number of clients", v)}
		}
		clients.Choices = append(clients.Choices, series.Choice{Text: strconv.Itoa(int(v)), Apply: func(s *runner.Scenario) { s.Load.Clients = int(v) }})
	}
	rates := series.Axis{Name: "rate"}
	for _, v := range f.rates.values {
		rates.Choices = append(rates.Choices, series.Choice{Text: strconv.FormatFloat(v, 'g', -1, 64), Apply: func(s *runner.Scenario) {
			s.Load.Rate = v
			if s.Load.Arrivals == load.Closed {
				s.Load.Arrivals = load.Poisson
			}
		}})
	}
	axes = append(axes, clients, rates)
	return slices.DeleteFunc(axes, func(a series.Axis) bool { return len(a.Choices) == 0 }), nil
}

func (f *runFlags) targets(cmd *cobra.Command, base runner.Scenario) ([]series.Axis, error) {
	clusters := series.Axis{Name: "cluster"}
	for _, spec := range f.clusters {
		clusters.Choices = append(clusters.Choices, series.Choice{Text: spec, Apply: func(s *runner.Scenario) {
			s.Cluster = spec
			if !nodes.IsManifest(spec) {
				s.Database = ""
			}
		}})
	}
	if (len(clusters.Choices) > 0 || base.Cluster != "") && !f.provided(base) { // whatever the environment says
		return []series.Axis{clusters}, nil
	}
	databases := series.Axis{Name: "db"}
	named := f.databases
	if len(named) == 0 {
		named = []string{""} // the environment's
	}
	for _, db := range named {
		address, err := databaseAddress(db, cmd.ErrOrStderr())
		if err != nil {
			return nil, err
		}
		if address != "" {
			databases.Choices = append(databases.Choices, series.Choice{Text: store.Redact(address), Apply: func(s *runner.Scenario) { s.Database = address }})
		}
	}
	return []series.Axis{clusters, databases}, nil
}

// none is the alternative that leaves a flag out.
const none = "none"

// alternatives makes an axis of each repeated flag with several values. The other flags stay as
// they are. expand says what values one text stands for.
func alternatives(name string, flags []string, expand func([]string) ([]string, error), set func(s *runner.Scenario, all []string)) ([]series.Axis, error) {
	var axes []series.Axis
	chosen := make([][]string, len(flags))
	for i, flag := range flags {
		chosen[i] = []string{flag}
	}
	for i, flag := range flags {
		if !strings.Contains(flag, alternativesMark) {
			continue
		}
		axis := series.Axis{Name: name}
		for _, text := range strings.Split(flag, alternativesMark) {
			text = strings.TrimSpace(text)
			texts, err := expand([]string{text})
			if err != nil {
				return nil, err
			}
			axis.Choices = append(axis.Choices, series.Choice{Text: text, Apply: func(s *runner.Scenario) {
				chosen[i] = texts
				set(s, slices.DeleteFunc(slices.Concat(chosen...), func(t string) bool { return t == none }))
			}})
		}
		axes = append(axes, axis)
	}
	return axes, nil
}
