package mem

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"assay/workload"
)

const parameterNames = "bug, timeout and latency"

// parse reads mem://?bug=NAME:PROBABILITY&timeout=PROBABILITY&latency=DURATION.
func parse(target workload.Target, bugs []Bug) (Options, error) {
	o := Options{Seed: target.Seed}
	rest, found := strings.CutPrefix(target.Address, "mem:")
	place, query, _ := strings.Cut(rest, "?")
	if !found || strings.Trim(place, "/") != "" {
		return o, &workload.OptionError{Option: "address", Value: workload.Redact(target.Address),
			Want: "mem:// or mem://?bug=NAME:PROBABILITY"}
	}
	switch target.Isolation {
	case "", level, "serializable":
	default:
		return o, &workload.OptionError{Option: "isolation", Value: target.Isolation, Want: level}
	}
	values, err := url.ParseQuery(query)
	if err != nil {
		return o, &workload.OptionError{Option: "parameters", Value: query, Want: parameterNames}
	}
	for key, given := range values {
		if err := o.parameter(key, given, bugs); err != nil {
			return o, err
		}
	}
	return o, o.validate(bugs)
}

func (o *Options) parameter(key string, given []string, bugs []Bug) (err error) {
	if key != "bug" && len(given) != 1 {
		return &workload.OptionError{Option: "parameter", Value: key, Want: "each of " + parameterNames + ", only bug repeated"}
	}
	switch key {
	case "bug":
		for _, item := range strings.Split(strings.Join(given, ","), ",") {
			bug, chance, _ := strings.Cut(item, ":")
			p, err := strconv.ParseFloat(chance, 64)
			if err != nil {
				return &workload.OptionError{Option: "bug", Value: item, Want: "NAME:PROBABILITY, with NAME one of " + bugNames(bugs)}
			}
			o.Inject = append(o.Inject, Injection{Name: bug, Probability: p})
		}
	case "timeout":
		if o.Timeout, err = strconv.ParseFloat(given[0], 64); err != nil {
			return &workload.OptionError{Option: "timeout", Value: given[0], Want: wantProbability}
		}
	case "latency":
		if o.Latency, err = time.ParseDuration(given[0]); err != nil {
			return &workload.OptionError{Option: "latency", Value: given[0], Want: wantLatency}
		}
	default:
		return &workload.OptionError{Option: "parameter", Value: key, Want: parameterNames}
	}
	return nil
}

const (
	wantProbability = "a probability from 0 to 1"
	wantLatency     = "a duration of 0 or more, such as 2ms"
)

func (o Options) validate(bugs []Bug) error {
	var seen []string
	for _, i := range o.Inject {
		known := slices.ContainsFunc(bugs, func(b Bug) bool { return b.Name == i.Name })
		switch {
		case !known:
			return &workload.OptionError{Option: "bug", Value: i.Name, Want: bugNames(bugs)}
		case slices.Contains(seen, i.Name):
			return &workload.OptionError{Option: "bug", Value: i.Name, Want: "each bug once"}
		case !isProbability(i.Probability):
			return &workload.OptionError{Option: "bug", Value: i.Name + ":" + probability(i.Probability), Want: wantProbability}
		}
		seen = append(seen, i.Name)
	}
	if !isProbability(o.Timeout) {
		return &workload.OptionError{Option: "timeout", Value: probability(o.Timeout), Want: wantProbability}
	}
	if o.Latency < 0 {
		return &workload.OptionError{Option: "latency", Value: o.Latency.String(), Want: wantLatency}
	}
	return nil
}

// isProbability also refuses NaN.
func isProbability(p float64) bool { return p >= 0 && p <= 1 }

func bugNames(bugs []Bug) string {
	var names []string
	for _, b := range bugs {
		names = append(names, b.Name)
	}
	return strings.Join(names, ", ")
}
