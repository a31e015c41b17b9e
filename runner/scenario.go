// Package runner carries out runs: it opens the database, loads, works, waits
// until nothing is in flight, reads back, judges and writes the run's folder.
// It knows the phases of a run and the files of its folder; what is done in a
// phase is the workload's.
//
// It must not know the command line or the terminal.
package runner

import (
	"time"

	"assay/catalog"
	"assay/cluster"
	"assay/cluster/kubernetes"
	"assay/fault"
	"assay/load"
	"assay/measure"
	"assay/report"
	"assay/workload"
	"assay/workload/definition"
)

// Scenario is one run as asked for. It is kept in scenario.yaml, without any
// password, so that the run can be done again as it was.
type Scenario struct {
	Workload string `yaml:"workload"`
	// Database is the address without a password; empty means an SQLite file
	// in the run's folder.
	Database string `yaml:"database,omitempty"`
	// Cluster starts servers on this machine for the run instead, such as
	// "mongodb:3"; or k8s: and the path of a manifest of Kubernetes, whose database has
	// the address in Database.
	Cluster string `yaml:"cluster,omitempty"`
	// Kubernetes selects the pods of the database, whose address Database has, as
	// NAMESPACE/SELECTOR: they are its nodes.
	Kubernetes string `yaml:"kubernetes,omitempty"`
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
	// Config is the workload's own part, which copies of the scenario share. In a
	// file it has the workload's key.
	Config     definition.Config `yaml:"-"`
	Thresholds []string          `yaml:"thresholds,omitempty"`
	// NoServerStats leaves out what the servers were doing.
	NoServerStats bool `yaml:"no_server_stats,omitempty"`
	// Overhead measures, after the run, what assay itself takes.
	Overhead bool `yaml:"overhead,omitempty"`
	// Drop removes the data at the end of the run.
	Drop bool `yaml:"drop,omitempty"`
}

// Defaults returns the scenario of a run of a workload without flags. The seed is
// 0 and is to be set.
func Defaults(w definition.Workload) Scenario {
	s := Scenario{Workload: w.Name, ConnectTimeout: 10 * time.Second, Load: load.Defaults(), Config: w.Config()}
	if w.Load != nil {
		s.Load = w.Load()
	}
	return s
}

// Plan makes the load what the workload makes of it. What it cannot do of it stays
// for Validate to refuse.
func (s *Scenario) Plan() {
	if p, err := s.Config.Plan(s.Load); err == nil {
		s.Load = p
	}
}

// settings are the workload's own, for the report.
func (s Scenario) settings() []report.Setting {
	driver, _ := catalog.DriverFor(s.Database) // none of a database that the run makes
	return s.Config.Options(driver.Support(s.Workload))
}

// definition is the scenario's workload; the zero value if there is no such one.
func (s Scenario) definition() definition.Workload {
	w, _ := catalog.WorkloadOf(s.Workload)
	return w
}

// Validate returns the first thing that cannot be run: a
// *workload.OptionError, *load.PlanError, *catalog.SchemeError,
// *cluster.SpecError, *kubernetes.TargetError, *fault.ParseError, *fault.ScheduleError or
// *measure.ThresholdError.
func (s Scenario) Validate() error {
	if _, err := catalog.WorkloadOf(s.Workload); err != nil {
		return err
	}
	if s.ConnectTimeout <= 0 {
		return &workload.OptionError{Option: "--connect-timeout", Value: s.ConnectTimeout.String(), Want: "more than 0, such as 10s"}
	}
	if s.Database != "" && s.Cluster != "" && !IsManifest(s.Cluster) {
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
	if err := validOptions(s.Options); err != nil {
		return err
	}
	if err := s.Load.Validate(); err != nil {
		return err
	}
	if err := s.Config.Validate(); err != nil {
		return err
	}
	if _, err := s.Config.Plan(s.Load); err != nil {
		return err
	}
	if _, err := s.thresholds(); err != nil {
		return err
	}
	return s.validateOverhead()
}

// validateCluster looks at the servers to start and at what is to be done to
// them.
func (s Scenario) validateCluster() error {
	if s.Cluster == "" && s.Kubernetes == "" {
		if len(s.Faults) > 0 {
			return &workload.OptionError{Option: "--fault", Value: s.Faults[0],
				Want: "with --cluster or --kubernetes: faults are done only to servers that assay has started itself, or to pods that you select"}
		}
		return nil
	}
	if err := s.validateNodes(); err != nil {
		return err
	}
	all, err := s.faults()
	if err != nil {
		return err
	}
	loading, measured := fault.Phases(all)
	for _, f := range loading {
		if f.Action == fault.PowerCut {
			return &workload.OptionError{Option: "--fault", Value: f.String(), Want: "a power cut in the measured part: of loaded rows it is not known when each was acknowledged"}
		}
	}
	if len(loading) > 0 && !s.definition().Reloads {
		return &workload.OptionError{Option: "--fault", Value: loading[0].String(), Want: "no fault while loading: the loading of workload " + s.Workload + " does not go on after an error"}
	}
	return fault.CheckSchedule(measured, measuredLength(s.Load))
}

// validateNodes looks at where the nodes come from.
func (s Scenario) validateNodes() error {
	if IsManifest(s.Cluster) && s.Database == "" {
		return &workload.OptionError{Option: "--cluster", Value: s.Cluster, Want: "with --db, the address that the database has once the manifest is applied"}
	}
	if s.Kubernetes == "" && IsManifest(s.Cluster) {
		if len(s.Faults) > 0 {
			return &workload.OptionError{Option: "--fault", Value: s.Faults[0], Want: "with --kubernetes, which says what pods the manifest makes"}
		}
		return nil
	}
	if s.Kubernetes != "" && s.Cluster != "" && !IsManifest(s.Cluster) {
		return &workload.OptionError{Option: "--kubernetes", Value: s.Kubernetes, Want: "without --cluster: one names pods that run, the other starts servers"}
	}
	if s.Kubernetes == "" {
		_, err := cluster.ParseSpec(s.Cluster)
		return err
	}
	if _, err := kubernetes.ParseTarget(s.Kubernetes); err != nil {
		return err
	}
	if s.Database == "" {
		return &workload.OptionError{Option: "--kubernetes", Value: s.Kubernetes, Want: "with --db, the address of the database whose pods these are"}
	}
	return nil
}

func (s Scenario) thresholds() ([]measure.Threshold, error) {
	var all []measure.Threshold
	for _, text := range s.Thresholds {
		t, err := measure.ParseThreshold(text)
		if err != nil {
			return nil, err
		}
		if t.OfFaults() && len(s.Faults) == 0 {
			return nil, &workload.OptionError{Option: "--threshold", Value: text, Want: "with --fault: the run has no faults"}
		}
		all = append(all, t)
	}
	return all, nil
}
