package study

import (
	"net/url"
	"strings"

	"assay/workload"
)

// validateOptions returns a *workload.OptionError for an option without a name
// or a value.
func (s Scenario) validateOptions() error {
	for _, o := range s.Options {
		if name, value, found := strings.Cut(o, "="); !found || name == "" || value == "" || strings.ContainsAny(name, "&?# ") {
			return &workload.OptionError{Option: "--option", Value: o, Want: "NAME=VALUE, a parameter of the database's address, such as w=1"}
		}
	}
	return nil
}

// withOptions is the address with these parameters behind its own. Which there
// are is the driver's to say, and it refuses the others.
func withOptions(address string, options []string) string {
	if len(options) == 0 {
		return address
	}
	_, rest, _ := strings.Cut(address, ":")
	separator := "?"
	switch {
	case strings.Contains(address, "?"):
		separator = "&"
	case strings.HasPrefix(rest, "//") && !strings.Contains(rest[2:], "/"):
		separator = "/?"
	}
	var parameters []string
	for _, o := range options {
		name, value, _ := strings.Cut(o, "=")
		parameters = append(parameters, name+"="+url.QueryEscape(value))
	}
	return address + separator + strings.Join(parameters, "&")
}
