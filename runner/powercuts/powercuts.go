// Package powercuts tries the durability settings of a database. For each, it makes a run with a
// power cut, and reports what was lost of the acknowledged operations.
//
// It must not know how a run is carried out or judged.
package powercuts

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"assay/check"
	"assay/cluster"
	"assay/fault"
	"assay/report"
	"assay/runner"
	"assay/runner/catalog"
	"assay/store"
	"assay/workload/availability"
	"assay/workload/bank"
	"assay/workload/entity"
)

// Trials are the settings to try.
type Trials struct {
	// Cluster is the servers to start, such as postgres:3, without the settings tried.
	Cluster string
	// Settings are names; none for all settings.
	Settings []string
	// Duration is the length of each run; 0 for the usual time until the product is back.
	Duration time.Duration
	Seed     uint64
}

// Trial is the result of one setting and one power cut.
type Trial struct {
	// Setting is the setting's name, Cut the target of the power cut.
	Setting string `json:"setting"`
	Cut     string `json:"cut"`
	// Durability is what the manual promises, Lost what was lost.
	Durability *report.Durability `json:"durability"`
	Lost       *report.Lost       `json:"lost"`
	// Acknowledged counts the operations of the whole run.
	Acknowledged int64 `json:"acknowledged"`
	// Recovered is the time from the cut to the next commit, in milliseconds; -1 if none came.
	Recovered float64 `json:"recovered_after_ms"`
	// Verdict is valid, violated or unknown. Why explains it if it is not valid.
	Verdict string `json:"verdict"`
	Why     string `json:"why,omitempty"`
	// Folder is the run's folder, if it was kept.
	Folder string `json:"folder,omitempty"`
}

// setting is one way to have a product acknowledge.
type setting struct {
	name string
	// cluster is added to the spec, options to the address.
	cluster string
	options []string
}

// settingsOf are a product's settings that are worth trying, the strongest first.
func settingsOf(product string) []setting {
	switch product {
	case "postgres":
		return []setting{
			{name: "synchronous_commit=on", options: []string{"synchronous_commit=on"}},
			{name: "synchronous_commit=off", options: []string{"synchronous_commit=off"}},
			{name: "fsync=off", cluster: "fsync=off"},
		}
	case "mariadb", "mysql":
		return []setting{{name: "flush=1", cluster: "flush=1"}, {name: "flush=2", cluster: "flush=2"}, {name: "flush=0", cluster: "flush=0"}}
	case "mongodb":
		return []setting{
			{name: "w=majority"},
			{name: "w=1,journal=true", options: []string{"w=1", "journal=true"}},
			{name: "w=1,journal=false", options: []string{"w=1", "journal=false"}},
		}
	case "sqlite":
		var all []setting
		for _, pair := range []string{"wal full", "wal normal", "wal off", "delete extra", "delete full", "delete off"} {
			journal, synchronous, _ := strings.Cut(pair, " ")
			asked := "journal=" + journal + ",synchronous=" + synchronous
			all = append(all, setting{name: asked, cluster: asked})
		}
		return all
	case "redis", "redis-cluster":
		return []setting{{name: "appendfsync=always", cluster: "appendfsync=always"}, {name: "appendfsync=everysec", cluster: "appendfsync=everysec"}, {name: "appendfsync=no", cluster: "appendfsync=no"}}
	case "cassandra":
		return []setting{{name: "commitlog=batch", cluster: "commitlog=batch"}, {name: "commitlog=periodic", cluster: "commitlog=periodic"}}
	case "etcd": // it has no other
		return []setting{{name: "default"}}
	}
	return nil
}

// The power is cut when the work is at full speed, and soon comes back, so that the run sees the
// recovery.
const (
	trialWarmup = 500 * time.Millisecond
	trialCut    = 2 * time.Second
	trialAway   = 300 * time.Millisecond
)

// trialLength is long enough for the servers to come back.
func trialLength(spec cluster.Spec) time.Duration {
	switch {
	case spec.Product == "cassandra":
		return 25 * time.Second
	case spec.Product == "mysql" && spec.Nodes > 1: // a group leaves a member out after 21 seconds
		return 35 * time.Second
	case spec.Product == "mongodb": // it elects a primary after ten seconds without one
		return 15 * time.Second
	case spec.Nodes > 1:
		return 10 * time.Second
	}
	return 6 * time.Second
}

// Try cuts, under each setting, the power of one node and then of all nodes, each in its own run,
// and gives each trial when it is known. Without a folder in the options it removes the runs'
// folders. A first run that fails ends the trials; a later one gives a trial without a verdict. A
// broken promise is no error.
func Try(ctx context.Context, s Trials, o runner.Options, give func(Trial)) error {
	spec, err := cluster.ParseSpec(s.Cluster)
	if err != nil {
		return err
	}
	settings, err := s.chosen(spec.Product)
	if err != nil {
		return err
	}
	if err := cluster.CheckDisk(ctx, cmp.Or(spec.Disk, cluster.DiskImage), spec.FS); err != nil {
		return err
	}
	out, temporary := o.Out, o.Out == ""
	if temporary {
		if out, err = os.MkdirTemp("", "assay-durability-"); err != nil {
			return fmt.Errorf("make a folder for the runs: %w", err)
		}
		defer os.RemoveAll(out)
	}
	number := 0
	for _, by := range settings {
		for _, target := range trialTargets(spec) {
			number++
			options := o
			options.Out = filepath.Join(out, fmt.Sprintf("%d-%s", number, target))
			trial, err := tryOne(ctx, s, by, target, options)
			if err != nil && (number == 1 || ctx.Err() != nil) {
				return fmt.Errorf("%s, %s: %w", by.name, target, err)
			}
			if err != nil { // the other trials are still useful
				trial = Trial{Setting: by.name, Cut: target, Recovered: -1, Verdict: check.Unknown.String(), Why: err.Error()}
			}
			if temporary {
				trial.Folder = ""
			}
			give(trial)
		}
	}
	return nil
}

func (s Trials) chosen(product string) (some []setting, err error) {
	all := settingsOf(product)
	if len(all) == 0 {
		return nil, &store.OptionError{Option: "--cluster", Value: s.Cluster, Want: "a product whose settings assay can try, such as postgres:3"}
	}
	if len(s.Settings) == 0 {
		return all, nil
	}
	var names []string
	for _, a := range all {
		names = append(names, a.name)
	}
	for _, name := range s.Settings {
		i := slices.Index(names, name)
		if i < 0 {
			return nil, &store.OptionError{Option: "--setting", Value: name, Want: fmt.Sprintf("one of %q", names)}
		}
		some = append(some, all[i])
	}
	return some, nil
}

// trialTargets are one node and, if there are several, all nodes.
func trialTargets(spec cluster.Spec) []string {
	one := fault.TargetPrimary
	if spec.Product == "mariadb" || spec.Product == "cassandra" {
		one = "n1"
	}
	if spec.Nodes == 1 {
		return []string{one}
	}
	return []string{one, fault.TargetAll}
}

func tryOne(ctx context.Context, s Trials, by setting, target string, o runner.Options) (Trial, error) {
	run, err := s.scenario(by, target)
	if err != nil {
		return Trial{}, err
	}
	out, err := runner.Run(ctx, run, o)
	if err != nil {
		return Trial{}, err
	}
	trial := trialOf(out.Result)
	trial.Setting, trial.Cut, trial.Folder = by.name, target, out.Folder
	return trial, nil
}

// trialOf is what a run shows. Without a cut it shows nothing of durability, but a promise that it
// broke stays broken.
func trialOf(r *report.Result) Trial {
	trial := Trial{Durability: r.Durability, Lost: r.Lost, Acknowledged: r.Outcomes.Committed, Recovered: -1, Verdict: r.Verdict.String()}
	if r.Verdict != check.Valid {
		trial.Why = firstProblem(r)
	}
	if i := slices.IndexFunc(r.Faults, func(f report.Fault) bool { return f.CutAt != nil && f.Proven }); i >= 0 {
		trial.Recovered = r.Faults[i].RecoveredAfter
		return trial
	}
	uncut := "the power was not cut"
	for _, f := range r.Faults {
		if why := strings.Trim(f.Proof+"; "+f.Problem, "; "); why != "" {
			uncut += ": " + why
		}
	}
	if r.Verdict == check.Violated {
		trial.Why += "; " + uncut
	} else {
		trial.Verdict, trial.Why = check.Unknown.String(), uncut
	}
	return trial
}

func firstProblem(r *report.Result) string {
	for _, c := range r.Checks {
		if c.Verdict == r.Verdict {
			return c.Name + ": " + c.Detail
		}
	}
	return ""
}

// trialWorkload is bank or, for a product that does not serve it, another workload.
func trialWorkload(product string) string {
	switch product {
	case "cassandra":
		return availability.Name
	case "sqlite": // its process offers nothing else
		return entity.Name
	}
	return bank.Name
}

func (s Trials) scenario(by setting, target string) (runner.Scenario, error) {
	text := s.Cluster
	if by.cluster != "" {
		text += "," + by.cluster
	}
	spec, err := cluster.ParseSpec(text)
	if err != nil {
		return runner.Scenario{}, err
	}
	w, err := catalog.WorkloadOf(trialWorkload(spec.Product))
	if err != nil {
		return runner.Scenario{}, err
	}
	run := runner.Defaults(w)
	run.Cluster, run.Options = text, by.options
	run.Faults = []string{fmt.Sprintf("power-cut %s at %v for %v", target, trialCut, trialAway)}
	l := &run.Load
	l.Warmup, l.Duration, l.Timeout, l.Seed = trialWarmup, cmp.Or(s.Duration, trialLength(spec)), 2*time.Second, s.Seed
	if l.Rate == 0 {
		l.Clients = 8
	} else {
		const perSecond = 200
		l.Rate = perSecond
	}
	run.NoServerStats = true
	return run, run.Validate()
}
