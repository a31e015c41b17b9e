package runner

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/goccy/go-yaml"

	"assay/check"
	"assay/history"
	"assay/measure"
	"assay/report"
	"assay/runner/judge"
	"assay/store"
)

const resultFormat = 1

// begin returns the result of a run that has just begun. Its verdict is unknown, so that a
// killed run leaves the truth.
func begin(s Scenario, mark store.Marker, started time.Time) *report.Result {
	loop := "closed"
	if s.Load.Rate > 0 {
		loop = "open"
	}
	judgedBy := ""
	if s.Judge != "" && s.Judge != report.JudgePromise {
		judgedBy = report.JudgeFound
	}
	return &report.Result{
		Judge: judgedBy, Format: resultFormat, Version: mark.Version, Rules: check.Rules, Workload: s.Workload, Run: mark.Run,
		Started: started.UTC(), Ended: started.UTC(), Seed: s.Load.Seed, Verdict: check.Unknown,
		Measurement: report.Measurement{Verdict: invalid, Reasons: []string{"the run has not ended, or was killed"}},
		Load: report.Load{
			Clients: s.Load.Clients, Loop: loop, Arrivals: string(s.Load.Arrivals), Rate: s.Load.Rate,
			WarmupSeconds: s.Load.Warmup.Seconds(), DurationSeconds: measuredLength(s.Load).Seconds(), Ops: s.Load.Ops,
			RampPerSecond: s.Load.Ramp, TimeoutSeconds: s.Load.Timeout.Seconds(),
		},
		Retries: report.Retries{Policy: string(s.Load.Retry), MaxAttempts: s.Load.MaxAttempts},
		Options: s.settings(),
		Client:  report.Client{CPUShare: -1},
	}
}

const invalid = string(measure.Invalid)

func describe(r *report.Result, p store.Product, address, promise string) {
	d := &r.Database
	d.Product, d.Version, d.Address = p.Name, p.Version, store.Redact(address)
	d.Embedded, d.Promise = p.Embedded, promise
	for _, s := range p.Settings {
		d.Settings = append(d.Settings, report.Setting(s))
	}
	if p.Changed != nil {
		d.Changed = []report.Setting{}
	}
	for _, s := range p.Changed {
		d.Changed = append(d.Changed, report.Setting(s))
	}
	judge.EnterDurability(r)
	t := p.Topology
	d.Nodes, d.Shards, d.Replicas = report.Known(t.Nodes), report.Known(t.Shards), report.Known(t.Replicas)
	d.CPUsPerNode, d.MemoryPerNode, d.DiskPerNode = report.Known(float64(t.CPUsPerNode)), report.Known(t.MemoryPerNode), report.Known(t.DiskBytesPerNode)
	if t.Nodes > 0 {
		d.Arbiters = &t.Arbiters // 0 is a known number if the nodes are known
	}
}

func writeResult(folder string, r *report.Result) error {
	var text bytes.Buffer
	if err := report.WriteJSON(&text, r); err != nil {
		return err
	}
	return history.WriteFile(filepath.Join(folder, FileResult), text.Bytes())
}

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
	return history.WriteFile(path, page.Bytes())
}

// readEnvironment returns the environment in the order of its fields; nil if it was not kept.
func readEnvironment(folder string) (settings []report.Setting) {
	text, err := os.ReadFile(filepath.Join(folder, FileEnvironment))
	var all yaml.MapSlice // JSON is YAML, and MapSlice keeps the order
	if err != nil || yaml.Unmarshal(text, &all) != nil {
		return nil
	}
	for _, x := range all {
		settings = append(settings, report.Setting{Name: strings.ReplaceAll(fmt.Sprint(x.Key), "_", " "), Value: fmt.Sprint(x.Value)})
	}
	return settings
}
