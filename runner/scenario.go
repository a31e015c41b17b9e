// Package runner carries out runs: it opens the database, loads, works, waits
// until nothing is in flight, reads back, judges and writes the run's folder.
// It knows the phases of a run and the files of its folder; what is done in a
// phase is the workload's.
//
// It must not know the command line or the terminal.
package runner

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/goccy/go-yaml"

	"assay/catalog"
	"assay/cluster"
	"assay/fault"
	"assay/load"
	"assay/measure"
	"assay/workload"
	"assay/workload/availability"
	"assay/workload/bank"
	"assay/workload/bulkupdate"
	"assay/workload/candles"
	"assay/workload/churn"
	"assay/workload/entity"
	"assay/workload/isolation"
)

// Scenario is one run as asked for. It is kept in scenario.yaml, without any
// password, so that the run can be done again as it was.
type Scenario struct {
	Workload string `yaml:"workload"`
	// Database is the address without a password; empty means an SQLite file
	// in the run's folder.
	Database string `yaml:"database,omitempty"`
	// Cluster starts servers on this machine for the run instead, such as
	// "mongodb:3".
	Cluster string `yaml:"cluster,omitempty"`
	// Options are parameters of the address, as NAME=VALUE, also of one that a
	// cluster gives, such as "w=1".
	Options []string `yaml:"options,omitempty"`
	// Faults are what is done to the cluster's nodes meanwhile; see package
	// fault for the grammar.
	Faults []string `yaml:"faults,omitempty"`
	// Isolation names one of the database's own isolation levels; empty means
	// the driver's default.
	Isolation      string        `yaml:"isolation,omitempty"`
	ConnectTimeout time.Duration `yaml:"connect_timeout"`
	Load           load.Plan     `yaml:"load"`
	Bank           bank.Config   `yaml:"bank,omitempty"`
	// Transactions is the isolation workload's.
	Transactions isolation.Config `yaml:"transactions,omitempty"`
	// Availability is the availability workload's.
	Availability availability.Config `yaml:"availability,omitempty"`
	// Entity is the entity workload's.
	Entity entity.Config `yaml:"entity,omitempty"`
	// Candles is the candles workload's.
	Candles candles.Config `yaml:"candles,omitempty"`
	// BulkUpdate is the bulkupdate workload's.
	BulkUpdate bulkupdate.Config `yaml:"bulkupdate,omitempty"`
	// Churn is the churn workload\'s.
	Churn      churn.Config `yaml:"churn,omitempty"`
	Thresholds []string     `yaml:"thresholds,omitempty"`
	// Drop removes the data at the end of the run.
	Drop bool `yaml:"drop,omitempty"`
}

// Defaults returns the scenario of a run without flags. The seed is 0 and is
// to be set.
func Defaults() Scenario {
	return Scenario{
		Workload: bank.Name, ConnectTimeout: 10 * time.Second,
		Load: load.Defaults(), Bank: bank.Defaults(), Transactions: isolation.Defaults(),
		Availability: availability.Defaults(), Entity: entity.Defaults(), Candles: candles.Defaults(),
		BulkUpdate: bulkupdate.Defaults(), Churn: churn.Defaults(),
	}
}

// Validate returns the first thing that cannot be run: a
// *workload.OptionError, *load.PlanError, *catalog.SchemeError,
// *cluster.SpecError, *fault.ParseError, *fault.ScheduleError or
// *measure.ThresholdError.
func (s Scenario) Validate() error {
	if err := s.validateWorkload(); err != nil {
		return err
	}
	if s.ConnectTimeout <= 0 {
		return &workload.OptionError{Option: "--connect-timeout", Value: s.ConnectTimeout.String(), Want: "more than 0, such as 10s"}
	}
	if s.Database != "" && s.Cluster != "" {
		return &workload.OptionError{Option: "--cluster", Value: s.Cluster,
			Want: "without --db: one names a database that runs, the other starts one"}
	}
	if err := s.validateCluster(); err != nil {
		return err
	}
	if s.Database != "" {
		if _, err := catalog.DriverFor(s.Database); err != nil {
			return err
		}
	}
	if err := s.validateOptions(); err != nil {
		return err
	}
	if err := s.Load.Validate(); err != nil {
		return err
	}
	if err := s.kind().validate(s); err != nil {
		return err
	}
	_, err := s.thresholds()
	return err
}

// validateCluster looks at the servers to start and at what is to be done to
// them.
func (s Scenario) validateCluster() error {
	if s.Cluster == "" {
		if len(s.Faults) > 0 {
			return &workload.OptionError{Option: "--fault", Value: s.Faults[0],
				Want: "with --cluster: faults are done only to servers that assay has started itself"}
		}
		return nil
	}
	if _, err := cluster.ParseSpec(s.Cluster); err != nil {
		return err
	}
	faults, err := s.faults()
	if err != nil {
		return err
	}
	return fault.CheckSchedule(faults, measuredLength(s.Load))
}

func (s Scenario) validateWorkload() error {
	var names []string
	for _, w := range catalog.Workloads() {
		if w.Name == s.Workload {
			return nil
		}
		names = append(names, w.Name)
	}
	return &workload.OptionError{Option: "workload", Value: s.Workload, Want: fmt.Sprint(names)}
}

func (s Scenario) thresholds() ([]measure.Threshold, error) {
	var all []measure.Threshold
	for _, text := range s.Thresholds {
		t, err := measure.ParseThreshold(text)
		if err != nil {
			return nil, err
		}
		all = append(all, t)
	}
	return all, nil
}

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
	s := Defaults()
	if err := yaml.UnmarshalWithOptions(text, &s, yaml.DisallowUnknownField()); err != nil {
		return Scenario{}, &ScenarioError{Path: path, Err: errors.New(yaml.FormatError(err, false, false))}
	}
	if err := s.Validate(); err != nil {
		return Scenario{}, &ScenarioError{Path: path, Err: err}
	}
	return s, nil
}

func writeScenario(path string, s Scenario) error {
	if s.Database != "" { // empty means an SQLite file in the run's folder
		s.Database = workload.Redact(s.Database)
	}
	for name, other := range kinds() { // another workload's part means nothing
		if name != s.Workload {
			other.strip(&s)
		}
	}
	text, err := yaml.Marshal(s)
	if err != nil {
		return fmt.Errorf("runner: scenario: %w", err)
	}
	return writeFile(path, append([]byte("# assay run "+s.Workload+" --scenario THIS_FILE does this run again.\n"), text...))
}
