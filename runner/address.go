package runner

import (
	"net/url"
	"path/filepath"
	"strings"

	"assay/store"
)

func validOptions(options []string) error {
	for _, o := range options {
		if name, _, _ := strings.Cut(o, "="); store.NamesPassword(name) { // the value would stand in the run's folder
			return &store.OptionError{Option: "--option", Value: name, Want: "no password; write it into the address, and give that by --db @FILE or in ASSAY_DB"}
		}
		if name, value, found := strings.Cut(o, "="); !found || name == "" || value == "" || strings.ContainsAny(name, "&?# ") {
			return &store.OptionError{Option: "--option", Value: o, Want: "NAME=VALUE, a parameter of the database's address, such as w=1"}
		}
	}
	return nil
}

// fromAnywhere makes the path of an SQLite address absolute. The address stays as it is
// if the working directory has a question mark, which would begin parameters.
func fromAnywhere(address string) string {
	rest, isFile := strings.CutPrefix(address, schemeSQLite)
	path, parameters, asked := strings.Cut(rest, "?")
	if !isFile || path == "" || strings.HasPrefix(path, "/") {
		return address
	}
	path, err := filepath.Abs(path)
	if err != nil || strings.Contains(path, "?") {
		return address
	}
	if asked {
		path += "?" + parameters
	}
	return schemeSQLite + path
}

// WithOptions appends parameters, each NAME=VALUE, to the address. It returns a
// *store.OptionError for a parameter without a name or a value.
func WithOptions(address string, options []string) (string, error) {
	if err := validOptions(options); err != nil {
		return "", err
	}
	return withOptions(address, options), nil
}

// withOptions appends parameters to the address. The driver refuses parameters it does not know.
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
