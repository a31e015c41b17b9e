package runner

import (
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"assay/catalog"
	"assay/workload"
	"assay/workload/definition"
)

// ScenarioError means that a scenario file cannot be used.
type ScenarioError struct {
	Path string
	Err  error
}

func (e *ScenarioError) Error() string { return fmt.Sprintf("scenario %s: %v", e.Path, e.Err) }
func (e *ScenarioError) Unwrap() error { return e.Err }

// ReadScenario reads a scenario file. Fields that it does not name keep their
// defaults; fields that do not exist, and values that cannot be run, give a
// *ScenarioError.
func ReadScenario(path string) (Scenario, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return Scenario{}, &ScenarioError{Path: path, Err: err}
	}
	s, err := parseScenario(text)
	if err != nil {
		return Scenario{}, &ScenarioError{Path: path, Err: errors.New(yaml.FormatError(err, false, false))}
	}
	if err := s.Validate(); err != nil {
		return Scenario{}, &ScenarioError{Path: path, Err: err}
	}
	return s, nil
}

// parseScenario takes the parts of the workloads out of the file, each of which
// has its workload's key, and reads the rest into the Scenario. The part of
// another workload than the scenario's must be well formed and means nothing.
func parseScenario(text []byte) (Scenario, error) {
	s := Defaults(catalog.Workloads()[0]) // of a file that names none
	file, err := parser.ParseBytes(text, 0)
	if err != nil || len(file.Docs) == 0 || file.Docs[0].Body == nil {
		return s, err
	}
	parts := map[string]ast.Node{}
	if all, is := file.Docs[0].Body.(*ast.MappingNode); is {
		all.Values = slices.DeleteFunc(all.Values, func(v *ast.MappingValueNode) bool {
			key := v.Key.String()
			known := slices.ContainsFunc(catalog.Workloads(), func(w definition.Workload) bool { return w.Key == key })
			if known {
				parts[key] = v.Value
			}
			return known
		})
	}
	strict := yaml.DisallowUnknownField()
	if err := yaml.NodeToValue(file.Docs[0].Body, &s, strict); err != nil {
		return s, err
	}
	for _, w := range catalog.Workloads() {
		c := w.Config()
		if part, given := parts[w.Key]; given {
			if err := yaml.NodeToValue(part, c, strict); err != nil {
				return s, err
			}
		}
		if w.Name == s.Workload {
			s.Config = c
		}
	}
	return s, nil
}

// Text is the scenario as a file has it: without any password.
func (s Scenario) Text() ([]byte, error) {
	if s.Database != "" { // empty means an SQLite file in the run's folder
		s.Database = workload.Redact(s.Database)
	}
	common, err := yaml.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("write the scenario: %w", err)
	}
	own, err := yaml.Marshal(map[string]any{s.definition().Key: s.Config})
	if err != nil {
		return nil, fmt.Errorf("write the scenario: %w", err)
	}
	return slices.Concat(common, own), nil
}

func writeScenario(path string, s Scenario) error {
	text, err := s.Text()
	if err != nil {
		return err
	}
	return WriteFile(path, slices.Concat([]byte("# assay run "+s.Workload+" --scenario THIS_FILE does this run again.\n"), text))
}
