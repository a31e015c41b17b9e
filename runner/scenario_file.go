package runner

import (
	"errors"
	"fmt"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"assay/history"
	"assay/internal/yamlfile"
	"assay/runner/catalog"
	"assay/store"
	"assay/workload/definition"
)

type ScenarioError struct {
	Path string
	Err  error
}

func (e *ScenarioError) Error() string { return fmt.Sprintf("scenario %s: %v", e.Path, e.Err) }
func (e *ScenarioError) Unwrap() error { return e.Err }

// ReadScenario reads a scenario file. Fields that it does not name keep their defaults. An unknown
// field and a value of another type give a *yamlfile.Error, other invalid values a *ScenarioError.
func ReadScenario(path string) (Scenario, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return Scenario{}, &ScenarioError{Path: path, Err: err}
	}
	s, err := parseScenario(text)
	if broken, is := errors.AsType[yaml.Error](err); is {
		known := []any{s}
		for _, w := range catalog.Workloads() {
			known = append(known, w.Config())
		}
		return Scenario{}, yamlfile.Locate(path, broken, known...)
	}
	if err == nil {
		err = s.Validate()
	}
	if err != nil {
		return Scenario{}, &ScenarioError{Path: path, Err: err}
	}
	return s, nil
}

// parseScenario reads the workloads' parts, each under its workload's key, and then the rest.
// The part of a workload other than the scenario's must be well formed and has no effect.
func parseScenario(text []byte) (Scenario, error) {
	s := Defaults(catalog.Workloads()[0]) // for a file that names no workload
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
	if s.Database, err = catalog.URL(s.Database); err != nil {
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
		if c, can := c.(definition.Existing); can && s.UseExisting && w.Name == s.Workload {
			c.UseExisting()
		}
	}
	return s, nil
}

// Text is the scenario's file, without any password.
func (s Scenario) Text() ([]byte, error) {
	if s.Database != "" { // empty means an SQLite file in the run's folder
		s.Database = store.Redact(s.Database)
	}
	common, err := yaml.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("write the scenario: %w", err)
	}
	own, err := yaml.Marshal(map[string]any{s.definition().Key: s.Config})
	if err != nil {
		return nil, fmt.Errorf("write the scenario: %w", err)
	}
	return slices.Concat(common, byLine(own)), nil
}

// byLine writes texts of several lines, such as scripts, line by line, unless that would change
// a value.
func byLine(quoted []byte) []byte {
	pattern := regexp.MustCompile(`(?m)^( *)(\w+): (".*\\n.*")$`)
	lines := pattern.ReplaceAllStringFunc(string(quoted), func(whole string) string {
		m := pattern.FindStringSubmatch(whole)
		text, err := strconv.Unquote(m[3])
		if err != nil || !strings.HasSuffix(text, "\n") {
			return whole
		}
		inside := "\n" + m[1] + "  "
		return m[1] + m[2] + ": |" + inside + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", inside)
	})
	var before, after any
	if yaml.Unmarshal(quoted, &before) != nil || yaml.Unmarshal([]byte(lines), &after) != nil || !reflect.DeepEqual(before, after) {
		return quoted
	}
	return []byte(lines)
}

func writeScenario(path string, s Scenario) error {
	text, err := s.Text()
	if err != nil {
		return err
	}
	return history.WriteFile(path, slices.Concat([]byte("# assay run "+s.Workload+" --scenario THIS_FILE does this run again.\n"), text))
}
