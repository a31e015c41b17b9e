package runner

import (
	"errors"
	"strings"
	"testing"
	"time"

	"assay/check"
	"assay/history"
	"assay/measure/servers"
	"assay/report"
	"assay/store"
	"assay/workload/bank"
	"assay/workload/churn"
	"assay/workload/entity"
)

// TestTheNullStoreIsJudgedByNothing: a run is measured and recorded, and no check ever judges it.
func TestTheNullStoreIsJudgedByNothing(t *testing.T) {
	for _, w := range []string{bank.Name, entity.Name} {
		s := Defaults(workloadOf(w))
		s.Database, s.Load.Seed, s.Load.Ops, s.Load.Warmup, s.Load.Duration = nullAddress, 7, 500, 0, 0
		out := carryOut(t, s)
		for _, when := range []string{"run", "judged again"} {
			r := out.Result
			if r.Verdict != check.Unknown || r.Measured.Committed != 500 || len(r.Checks) != 2 ||
				!strings.Contains(r.Checks[0].Detail, "keeps nothing") || r.Checks[1].Verdict != check.Valid || r.Data.Kept != "" {
				t.Errorf("%s, %s: %v, %+v, %+v", w, when, r.Verdict, r.Measured, r.Checks)
			}
			out = recheck(t, out.Folder)
		}
	}
}

// TestOverhead: assay's own cost is measured at the run's pace and kept.
func TestOverhead(t *testing.T) {
	s := Defaults(bank.Definition())
	s.Database, s.Overhead, s.Load.Seed = "mem://", true, 7
	s.Load.Rate, s.Load.Arrivals, s.Load.Warmup, s.Load.Duration = 500, "uniform", 0, time.Second
	out := carryOut(t, s)
	o := out.Result.Overhead
	if o == nil || o.Rate < 1 || o.Rate > 600 || o.P50 <= 0 || o.P99 < o.P50 || o.CPU <= 0 || o.RunCPU <= 0 || o.Seconds <= 0 {
		t.Fatalf("%+v, notes %q", o, out.Result.Notes)
	}
	if again := recheck(t, out.Folder).Result; again.Overhead == nil || *again.Overhead != *o {
		t.Errorf("judged again: %+v", again)
	}
}

// TestProcessorTimeOfServers is known for all servers or none. For an embedded database it is
// assay's time beyond its own.
func TestProcessorTimeOfServers(t *testing.T) {
	use := 0.25
	known, unknown := servers.NodeSummary{Node: servers.Node{CPUs: 2}, CPUMean: &use}, servers.NodeSummary{Node: servers.Node{CPUs: 2}}
	tester := unknown
	tester.Tester = true
	fast := report.Throughput{PerSecond: 1000}
	for name, c := range map[string]struct {
		of   report.Result
		want float64 // microseconds; 0 is not known
	}{
		"two servers":       {report.Result{Throughput: fast, Servers: &servers.Summary{Nodes: []servers.NodeSummary{known, tester, known}}}, 1000},
		"one is not known":  {report.Result{Throughput: fast, Servers: &servers.Summary{Nodes: []servers.NodeSummary{known, unknown}}}, 0},
		"no server":         {report.Result{Throughput: fast, Servers: &servers.Summary{Nodes: []servers.NodeSummary{tester}}}, 0},
		"nobody looked":     {report.Result{Throughput: fast}, 0},
		"nothing committed": {report.Result{Servers: &servers.Summary{Nodes: []servers.NodeSummary{known}}}, 0},
		"embedded": {report.Result{Database: report.Database{Embedded: true}, Measured: history.Counts{Committed: 50, Failed: 50},
			Overhead: &report.Overhead{CPU: 10, RunCPU: 60}}, 100},
		"embedded, and assay's own was not measured": {report.Result{Database: report.Database{Embedded: true}, Measured: history.Counts{Committed: 50}}, 0},
	} {
		if got, is := c.of.ServerProcessor(); is != (c.want > 0) || is && got != c.want {
			t.Errorf("%s: %v, %v", name, got, is)
		}
	}
}

func TestOverheadThatCannotBeMeasured(t *testing.T) {
	s := Defaults(churn.Definition())
	s.Overhead = true
	if err := s.Validate(); !errors.As(err, new(*store.OptionError)) || !strings.Contains(err.Error(), "the null store answers transfers") {
		t.Errorf("%v", err)
	}
}
