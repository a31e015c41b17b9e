package runner

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"assay/report"
)

// writePage makes the run's HTML page.
func writePage(path, folder string, s Scenario, r *report.Result) error {
	scenario, err := os.ReadFile(filepath.Join(folder, FileScenario))
	if err != nil {
		return fmt.Errorf("read the scenario for the page: %w", err)
	}
	var page bytes.Buffer
	err = report.HTML(&page, r, report.Page{
		Environment: readEnvironment(folder),
		Command:     "assay run " + s.Workload + " --scenario " + FileScenario,
		Scenario:    string(scenario),
		Servers:     serverCharts(folder),
	})
	if err != nil {
		return err
	}
	return WriteFile(path, page.Bytes())
}

// readEnvironment returns the kept environment in the order of its fields, or
// nothing if it was not kept.
func readEnvironment(folder string) []report.Setting {
	text, err := os.ReadFile(filepath.Join(folder, FileEnvironment))
	if err != nil {
		return nil
	}
	var settings []report.Setting
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	for {
		token, err := decoder.Token()
		if err != nil {
			return settings
		}
		name, ok := token.(string)
		if !ok {
			continue // the braces
		}
		value, err := decoder.Token()
		if err != nil {
			return settings
		}
		settings = append(settings, report.Setting{Name: strings.ReplaceAll(name, "_", " "), Value: fmt.Sprint(value)})
	}
}
