package sqlite

import (
	"net/url"
	"path/filepath"
	"strings"

	"assay/workload"
)

// options is what an address and a target ask for.
type options struct {
	// name is the file as the user wrote it, path the same made absolute.
	name, path string
	// journal and synchronous are values of the PRAGMAs of these names.
	journal, synchronous string
}

// scheme begins every address of this driver.
const scheme = "sqlite:"

// parse reads sqlite:PATH?synchronous=...&journal=... The path ends at the
// first question mark and is taken as it stands, without percent-decoding. It
// returns *workload.OptionError.
func parse(target workload.Target) (options, error) {
	o := options{journal: "wal", synchronous: "full"}
	rest, found := strings.CutPrefix(target.Address, scheme)
	name, query, _ := strings.Cut(rest, "?")
	bare := strings.TrimPrefix(name, "//")
	if !found || bare == "" || bare != name && !strings.HasPrefix(bare, "/") || strings.HasPrefix(name, ":memory:") {
		return o, &workload.OptionError{Option: "address", Value: workload.Redact(target.Address),
			Want: "sqlite:PATH with the path of a file, such as sqlite:bank.db or sqlite:/var/tmp/bank.db"}
	}
	path, err := filepath.Abs(bare)
	if err != nil {
		return o, &workload.OptionError{Option: "path", Value: bare, Want: "an absolute path, since the working directory is gone"}
	}
	o.name, o.path = bare, path
	if asked := target.Isolation; asked != "" && asked != level {
		return o, &workload.OptionError{Option: "isolation", Value: asked, Want: level + ", which is all that SQLite has"}
	}
	return o, o.parameters(query)
}

func (o *options) parameters(query string) error {
	values, err := url.ParseQuery(query)
	if err != nil {
		return &workload.OptionError{Option: "parameters", Value: query, Want: parameterNames}
	}
	known := map[string]struct {
		to   *string
		want []string
	}{
		"journal":     {&o.journal, []string{"wal", "delete", "truncate"}},
		"synchronous": {&o.synchronous, []string{"full", "normal", "off", "extra"}},
	}
	for name, given := range values {
		parameter, exists := known[name]
		if !exists || len(given) != 1 {
			return &workload.OptionError{Option: "parameter", Value: name, Want: parameterNames + ", each once"}
		}
		*parameter.to = ""
		for _, want := range parameter.want {
			if given[0] == want {
				*parameter.to = want
			}
		}
		if *parameter.to == "" {
			return &workload.OptionError{Option: name, Value: given[0], Want: strings.Join(parameter.want, ", ")}
		}
	}
	return nil
}

const parameterNames = "journal and synchronous"

// dsn is what the library opens. mode is SQLite's own: "rw" for a file that
// exists, "rwc" to create it. Other parameters follow after it.
func (o options) dsn(mode string, parameters ...string) string {
	file := url.URL{Scheme: "file", Path: filepath.ToSlash(o.path)}
	return file.String() + "?" + strings.Join(append([]string{"mode=" + mode, "_error_rc=1"}, parameters...), "&")
}
