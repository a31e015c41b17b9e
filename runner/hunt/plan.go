// Package hunt searches for what breaks a database's promises. It draws plans (load, isolation
// level, faults with times or events), runs them briefly on one cluster, keeps plans that reach
// something new, and shrinks what it finds to one command.
//
// It must not know any product, workload or fault by its name.
package hunt

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml"

	"assay/cluster"
	"assay/fault"
	"assay/internal/yamlfile"
	"assay/load"
	"assay/runner"
	"assay/runner/catalog"
	"assay/store"
	"assay/workload/definition"
)

// Plan is one run of a hunt, as data: the same plan asks for the same run.
type Plan struct {
	// Cluster is the one of several --cluster that the plan runs on; empty for the first.
	Cluster  string `yaml:"cluster,omitempty" json:"cluster,omitempty"`
	Workload string `yaml:"workload" json:"workload"`
	Seed     uint64 `yaml:"seed" json:"seed"`
	Clients  int    `yaml:"clients" json:"clients"`
	// Rate is in arrivals a second; 0 for the workload's default.
	Rate      float64           `yaml:"rate,omitempty" json:"rate,omitempty"`
	Duration  time.Duration     `yaml:"duration" json:"duration_ns"`
	Isolation string            `yaml:"isolation,omitempty" json:"isolation,omitempty"`
	Options   []string          `yaml:"options,omitempty" json:"options,omitempty"`
	Flags     map[string]string `yaml:"flags,omitempty" json:"flags,omitempty"`
	Faults    []string          `yaml:"faults,omitempty" json:"faults,omitempty"`
}

// ParseClusters reads specs of the same servers with other options, at least one. The error is a
// *cluster.SpecError.
func ParseClusters(texts []string) (all []cluster.Spec, err error) {
	if len(texts) == 0 {
		texts = []string{""}
	}
	for _, text := range texts {
		s, err := cluster.ParseSpec(text)
		if err != nil {
			return nil, err
		}
		if all = append(all, s); !s.Alike(all[0]) {
			return nil, &cluster.SpecError{Spec: text, Part: "other servers, limits, networks or disks than " + all[0].String(), Want: "the same with other options"}
		}
	}
	return all, nil
}

// Parse reads the file of a plan for one of these clusters. The error is a
// *yamlfile.Error.
func Parse(path string, text []byte, of ...cluster.Spec) (Plan, error) {
	p := Plan{Clients: 8, Duration: 10 * time.Second}
	if err := yamlfile.Decode(path, text, &p); err != nil {
		return Plan{}, err
	}
	on, known := p.alternative(of)
	if !known {
		return Plan{}, yamlfile.Refuse(path, text, "cluster", 0, fmt.Sprintf("no --cluster is %s; want %s", p.Cluster, of[0]))
	}
	key, err := "workload", Serves(on, p.Workload)
	if err == nil {
		key, err = p.check(on)
	}
	if err == nil {
		return p, nil
	}
	within := 0
	if wrong, is := errors.AsType[*fault.ParseError](err); is {
		within = wrong.Position - 1
	}
	return Plan{}, yamlfile.Refuse(path, text, key, within, err.Error())
}

// alternative is the spec that the plan runs on.
func (p Plan) alternative(of []cluster.Spec) (on cluster.Spec, known bool) {
	if p.Cluster == "" {
		return of[0], true
	}
	i := slices.IndexFunc(of, func(s cluster.Spec) bool { return s.String() == p.Cluster })
	return of[max(i, 0)], i >= 0
}

// check returns the key of the first part that this cluster cannot run. The cluster must serve
// the workload.
func (p Plan) check(on cluster.Spec) (key string, err error) {
	if p.Duration <= 0 {
		return "duration", errors.New("it is above 0, such as 10s")
	}
	for i, text := range p.Faults {
		f, err := fault.Parse(text)
		if err == nil {
			err = errors.Join(fault.CheckTargets([]fault.Fault{f}, on), fault.CheckSchedule([]fault.Fault{f}, p.Duration))
		}
		if need := fault.WithMeans(on, []fault.Fault{f}); err == nil && need.String() != on.String() {
			err = fmt.Errorf("it takes --cluster %s", need)
		}
		if err != nil {
			return fmt.Sprintf("faults[%d]", i), err
		}
	}
	s, key, err := p.scenario(on)
	if err != nil {
		return key, err
	}
	s.Plan()
	return keyOf(s.Validate())
}

// Serves returns an error if the cluster's database does not serve the workload.
func Serves(on cluster.Spec, workload string) error {
	if _, err := catalog.WorkloadOf(workload); err != nil {
		return err
	}
	driver, err := catalog.DriverFor(cluster.SchemeOf(on.Product) + ":")
	if err != nil {
		return err
	}
	if support := driver.Support(workload); support.Open == nil {
		return support.Refused()
	}
	return nil
}

// Choices are the options that plans draw, each a list of alternatives: the given options, with |
// between alternatives, and for several nodes also the driver's, except those that are given.
func Choices(on cluster.Spec, given []string) (all [][]string, err error) {
	driver, err := catalog.DriverFor(cluster.SchemeOf(on.Product) + ":")
	if err != nil {
		return nil, err
	}
	named := map[string]bool{}
	add := func(alternatives []string) {
		all = append(all, alternatives)
		for i, o := range alternatives {
			alternatives[i] = strings.TrimSpace(o)
			name, _, _ := strings.Cut(alternatives[i], "=")
			named[name] = name != ""
		}
	}
	for _, text := range given {
		add(strings.Split(text, "|"))
	}
	for _, alternatives := range driver.Choices {
		name, _, _ := strings.Cut(alternatives[len(alternatives)-1], "=")
		if on.Nodes > 1 && !named[name] {
			add(alternatives)
		}
	}
	return all, nil
}

func keyOf(err error) (string, error) {
	option := "faults"
	if wrong, is := errors.AsType[*load.PlanError](err); is {
		option = wrong.Option
	} else if wrong, is := errors.AsType[*store.OptionError](err); is {
		option = wrong.Option
	}
	name := strings.TrimPrefix(option, "--")
	switch name {
	case "clients", "rate", "duration", "isolation", "faults":
		return name, err
	case "option":
		return "options", err
	case "fault":
		return "faults", err
	}
	return "flags." + name, err
}

// Scenario is the plan's run on this cluster.
func (p Plan) Scenario(on cluster.Spec) (runner.Scenario, error) {
	s, _, err := p.scenario(on)
	return s, err
}

func (p Plan) scenario(on cluster.Spec) (s runner.Scenario, key string, err error) {
	w, err := catalog.WorkloadOf(p.Workload)
	if err != nil {
		return s, "workload", err
	}
	s = runner.Defaults(w)
	s.Cluster, s.Isolation, s.Options, s.Faults = on.String(), p.Isolation, slices.Clone(p.Options), slices.Clone(p.Faults)
	s.Load.Clients, s.Load.Duration, s.Load.Warmup, s.Load.Seed = p.Clients, p.Duration, 0, p.Seed
	if p.Rate != 0 {
		s.Load.Rate = p.Rate
		if s.Load.Arrivals == load.Closed {
			s.Load.Arrivals = load.Poisson
		}
	}
	for _, name := range slices.Sorted(maps.Keys(p.Flags)) {
		if err := set(s.Config, name, p.Flags[name]); err != nil {
			return s, "flags." + name, err
		}
	}
	return s, "", nil
}

func set(c definition.Config, name, text string) (err error) {
	f, known := definition.Lookup(c, name)
	switch v := f.Value.(type) {
	case *string:
		*v = text
	case *int:
		*v, err = strconv.Atoi(text)
	case *int64:
		*v, err = strconv.ParseInt(text, 10, 64)
	case *float64:
		*v, err = strconv.ParseFloat(text, 64)
	case *bool:
		*v, err = strconv.ParseBool(text)
	case interface{ Set(string) error }:
		err = v.Set(text)
	}
	if !known {
		return errors.New("the workload has no such flag")
	}
	return err
}

// Words are assay's arguments for the run.
func (p Plan) Words(on cluster.Spec) []string {
	words := []string{"run", p.Workload, "--cluster", on.String(), "--clients", strconv.Itoa(p.Clients)}
	if p.Rate != 0 {
		words = append(words, "--rate", strconv.FormatFloat(p.Rate, 'g', -1, 64))
	}
	words = append(words, "--duration", p.Duration.String(), "--warmup", "0s")
	if p.Isolation != "" {
		words = append(words, "--isolation", p.Isolation)
	}
	for _, o := range p.Options {
		words = append(words, "--option", o)
	}
	for _, name := range slices.Sorted(maps.Keys(p.Flags)) {
		words = append(words, "--"+name+"="+p.Flags[name])
	}
	for _, f := range p.Faults {
		words = append(words, "--fault", f)
	}
	return append(words, "--seed", strconv.FormatUint(p.Seed, 10))
}

// Text is the plan's file.
func (p Plan) Text() []byte {
	text, _ := yaml.Marshal(p) // which has nothing that cannot be written
	return text
}

func (p Plan) clone() Plan {
	p.Options, p.Flags, p.Faults = slices.Clone(p.Options), maps.Clone(p.Flags), slices.Clone(p.Faults)
	return p
}
