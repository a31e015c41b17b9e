// Package runner carries out runs: it opens the database, loads, works, waits until nothing is
// in flight, reads back, judges and writes the run's folder. The workload defines what happens
// in each phase.
//
// It must not know the command line or the terminal.
package runner

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"time"

	"assay/cluster"
	"assay/cluster/kubernetes"
	"assay/fault"
	"assay/load"
	"assay/measure"
	"assay/report"
	"assay/runner/catalog"
	"assay/runner/nodes"
	"assay/runner/work"
	"assay/store"
	"assay/workload/definition"
)

// Scenario is one run as asked for. scenario.yaml keeps it, without passwords, so that the run
// can be repeated.
type Scenario struct {
	Workload string `yaml:"workload"`
	// Database is the address without a password; empty means an SQLite file in the run's
	// folder.
	Database string `yaml:"database,omitempty"`
	// Cluster names servers to start on this machine, such as "mongodb:3". Or it is k8s: and
	// the path of a Kubernetes manifest, whose database has the address in Database.
	Cluster string `yaml:"cluster,omitempty"`
	// Kubernetes selects the pods of Database, as NAMESPACE/SELECTOR. They are its nodes.
	Kubernetes string `yaml:"kubernetes,omitempty"`
	// Nodes is the path of a file of machines and commands (fault.ParseHosts). They are the
	// nodes of Database.
	Nodes string `yaml:"nodes,omitempty"`
	// Options are parameters of the address, also of a cluster's, as NAME=VALUE: "w=1".
	Options []string `yaml:"options,omitempty"`
	// Faults follow the grammar of package fault.
	Faults []string `yaml:"faults,omitempty"`
	// Isolation names one of the database's isolation levels; empty means the driver's default.
	Isolation      string        `yaml:"isolation,omitempty"`
	ConnectTimeout time.Duration `yaml:"connect_timeout"`
	Load           load.Plan     `yaml:"load"`
	// Config is the workload's own part, which copies of the scenario share. Its key in a
	// file is the workload's key.
	Config     definition.Config `yaml:"-"`
	Thresholds []string          `yaml:"thresholds,omitempty"`
	// Strict gives an invalid measurement an exit code of its own.
	Strict bool `yaml:"strict,omitempty"`
	// OtherWork is the largest share of the processors, in percent, that other programs may
	// use in a valid measurement; 0 means the default.
	OtherWork float64 `yaml:"other_work_percent,omitempty"`
	// Judge chooses what the exit code follows: the verdict (empty or report.JudgePromise), or
	// also findings that are allowed (report.JudgeFound, "all" in earlier versions).
	Judge         string `yaml:"judge,omitempty"`
	NoServerStats bool   `yaml:"no_server_stats,omitempty"`
	// Overhead measures assay's own cost after the run.
	Overhead bool `yaml:"overhead,omitempty"`
	// Price is the price of a node, as report.ParsePrice reads it; empty if unknown.
	Price string `yaml:"price,omitempty"`
	// UseExisting has the workload use existing tables in Database. It makes, marks, loads,
	// alters and drops nothing.
	UseExisting bool `yaml:"use_existing,omitempty"`
	// shared means that agents do the work.
	shared bool
	Drop   bool `yaml:"drop,omitempty"`
}

// Defaults returns the scenario of a workload without flags. The caller sets the seed, which
// is 0.
func Defaults(w definition.Workload) Scenario {
	s := Scenario{Workload: w.Name, ConnectTimeout: 10 * time.Second, Load: load.Defaults(), Config: w.Config(), OtherWork: 100 * measure.DefaultLimits().MaxOthers}
	if w.Load != nil {
		s.Load = w.Load()
	}
	return s
}

// Plan lets the workload adjust the load, and gives each fault its explicit time and length, so
// that the kept scenario says what the run did. Validate refuses what Plan cannot do.
func (s *Scenario) Plan() {
	if c, can := s.Config.(definition.Existing); can && s.UseExisting {
		c.UseExisting()
	}
	if p, err := s.Config.Plan(s.Load); err == nil {
		s.Load = p
	}
	s.Faults = slices.Clone(s.Faults)
	for i, text := range s.Faults {
		if f, err := fault.Parse(text); err == nil {
			s.Faults[i] = f.Explicit(measuredLength(s.Load)).String()
		}
	}
}

func (s Scenario) settings() []report.Setting {
	driver, _ := catalog.DriverFor(s.Database) // zero if the run makes the database
	return s.Config.Options(driver.Support(s.Workload))
}

// definition is the scenario's workload; the zero value for an unknown name.
func (s Scenario) definition() definition.Workload {
	w, _ := catalog.WorkloadOf(s.Workload)
	return w
}

// Validate returns the first reason why the scenario cannot run: a *store.OptionError,
// *load.PlanError, *catalog.SchemeError, *cluster.SpecError, *kubernetes.TargetError,
// *fault.ParseError, *fault.ScheduleError or *measure.ThresholdError.
func (s Scenario) Validate() error {
	if _, err := catalog.WorkloadOf(s.Workload); err != nil {
		return err
	}
	if s.ConnectTimeout <= 0 {
		return &store.OptionError{Option: "--connect-timeout", Value: s.ConnectTimeout.String(), Want: "more than 0, such as 10s"}
	}
	if s.Database != "" && s.Cluster != "" && !nodes.IsManifest(s.Cluster) {
		return &store.OptionError{Option: "--cluster", Value: s.Cluster,
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
	plan, err := s.Config.Plan(s.Load)
	if _, rounds := s.Config.(definition.NamesRounds); rounds && err == nil {
		err = work.PlanOfRound(plan, plan.Clients, 1).Validate()
	}
	if err != nil {
		return err
	}
	if _, err := s.thresholds(); err != nil {
		return err
	}
	if !(s.OtherWork >= 0 && s.OtherWork <= 100) {
		return &store.OptionError{Option: "--other-work", Value: strconv.FormatFloat(s.OtherWork, 'g', -1, 64), Want: "more than 0% and at most 100%"}
	}
	if _, is := report.ParsePrice(s.Price); s.Price != "" && !is {
		return &store.OptionError{Option: "--price", Value: s.Price, Want: report.PriceForm}
	}
	if err := s.validateExisting(); err != nil {
		return err
	}
	if !slices.Contains([]string{"", report.JudgePromise, report.JudgeFound, "all"}, s.Judge) {
		return &store.OptionError{Option: "--judge", Value: s.Judge, Want: report.JudgePromise + ", " + report.JudgeFound}
	}
	return s.validateOverhead()
}

func (s Scenario) validateCluster() error {
	all, err := s.faults()
	if s.Cluster == "" && s.Kubernetes == "" && s.Nodes == "" {
		if len(s.Faults) > 0 && (err != nil || !s.backsItselfUp(all)) {
			return &store.OptionError{Option: "--fault", Value: s.Faults[0],
				Want: "with --cluster, --kubernetes or --nodes: faults are done only to servers that assay has started itself, or to pods or machines that you name; backups alone also to an SQLite file"}
		}
	} else if err := s.validateNodes(all); err != nil {
		return err
	}
	if err == nil {
		err = s.validateBackups(all)
	}
	if err != nil {
		return err
	}
	loading, measured := fault.Phases(all)
	for _, f := range loading {
		if a, _ := fault.Lookup(f.Action); a.CutsPower || a.Empties {
			return &store.OptionError{Option: "--fault", Value: f.String(), Want: a.Name + " in the measured part: of loaded rows it is not known when each was acknowledged"}
		}
	}
	if len(loading) > 0 && !s.definition().Reloads {
		return &store.OptionError{Option: "--fault", Value: loading[0].String(), Want: "no fault while loading: the loading of workload " + s.Workload + " does not go on after an error"}
	}
	return errors.Join(fault.CheckSchedule(loading, 0), fault.CheckSchedule(measured, measuredLength(s.Load)))
}

// hosts reads the machines of --nodes; nil for none.
func (s Scenario) hosts() (*fault.Hosts, error) {
	if s.Nodes == "" {
		return nil, nil
	}
	text, err := os.ReadFile(s.Nodes)
	if err != nil {
		return nil, &ScenarioError{Path: s.Nodes, Err: fmt.Errorf("it is the file of --nodes: %w", err)}
	}
	return fault.ParseHosts(s.Nodes, text)
}

// validateNodes checks where the nodes come from, and whether faults have nodes.
func (s Scenario) validateNodes(faults []fault.Fault) error {
	refuse := func(option, value, want string) error {
		return &store.OptionError{Option: option, Value: value, Want: want}
	}
	switch manifest := nodes.IsManifest(s.Cluster); {
	case s.Nodes != "" && (s.Database == "" || s.Cluster != "" || s.Kubernetes != ""):
		return refuse("--nodes", s.Nodes, "with --db, the address of the database whose nodes these are, and without --cluster and --kubernetes")
	case s.Nodes != "":
		hosts, err := s.hosts()
		if err != nil {
			return err
		}
		return hosts.Check(faults)
	case manifest && s.Database == "":
		return refuse("--cluster", s.Cluster, "with --db, the address that the database has once the manifest is applied")
	case s.Kubernetes == "" && manifest && len(s.Faults) > 0:
		return refuse("--fault", s.Faults[0], "with --kubernetes, which says what pods the manifest makes")
	case s.Kubernetes == "" && manifest:
		return nil
	case s.Kubernetes == "":
		spec, err := cluster.ParseSpec(s.Cluster)
		return cmp.Or(err, fault.CheckTargets(faults, spec))
	case s.Cluster != "" && !manifest:
		return refuse("--kubernetes", s.Kubernetes, "without --cluster: one names pods that run, the other starts servers")
	}
	_, err := kubernetes.ParseTarget(s.Kubernetes)
	if err == nil && s.Database == "" {
		err = refuse("--kubernetes", s.Kubernetes, "with --db, the address of the database whose pods these are")
	}
	return err
}

func (s Scenario) thresholds() ([]measure.Threshold, error) {
	var all []measure.Threshold
	for _, text := range s.Thresholds {
		t, err := measure.ParseThreshold(text)
		if err != nil {
			return nil, err
		}
		if t.OfFaults() && len(s.Faults) == 0 {
			return nil, &store.OptionError{Option: "--threshold", Value: text, Want: "with --fault: the run has no faults"}
		}
		all = append(all, t)
	}
	return all, nil
}

const schemeSQLite = "sqlite:"

// Unserved says, as a clause, why the catalog has no support of the workload for the scenario's
// database; empty if it has, or if only the database can tell.
func (s Scenario) Unserved() string {
	address := s.Database
	switch spec, err := cluster.ParseSpec(s.Cluster); {
	case address == "" && s.Cluster == "":
		address = schemeSQLite
	case address == "" && err == nil:
		address = cluster.SchemeOf(spec.Product) + ":"
	}
	driver, err := catalog.DriverFor(address)
	if err != nil {
		return ""
	}
	return driver.Support(s.Workload).Reason
}
