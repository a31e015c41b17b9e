// Package report describes what a run found: as result.json, as a summary for the terminal, as
// Markdown, and as one HTML page that works offline. It is given finished figures and verdicts
// and adds none.
//
// It must not import any driver, any workload's package or the load engine. Package servers,
// whose figures it shows, brings package workload with it.
package report

import (
	"time"

	"assay/check"
	"assay/history"
	"assay/measure"
	"assay/measure/pressure"
	"assay/measure/servers"
)

// Result is the content of result.json. Fields are added, never renamed. schema.json in this
// package describes it.
type Result struct {
	// Format is the version of this form, now 1.
	Format  int    `json:"format"`
	Version string `json:"version"`
	// Rules is the version of the verdict's rules (check.Rules); 0 for runs before 2.
	Rules    int    `json:"rules,omitempty"`
	Workload string `json:"workload"`
	// Run identifies the run, also in assay's mark in the database.
	Run     string    `json:"run"`
	Started time.Time `json:"started"`
	Ended   time.Time `json:"ended"`
	// Seed is a number here, and decimal text in YAML and on the command line.
	Seed uint64 `json:"seed"`
	// Seeded lists bugs seeded on purpose: then nothing here says anything about the product.
	Seeded string `json:"seeded,omitempty"`
	// Verdict combines the checks: violated dominates unknown dominates allowed dominates valid.
	Verdict check.Verdict  `json:"verdict"`
	Checks  []check.Result `json:"checks"`
	// NotApplicable are checks without a subject in this run. The verdict ignores them.
	NotApplicable []check.NotApplicable `json:"not_applicable,omitempty"`
	// Unasked says that nothing should be judged. An unknown verdict is then no failure.
	Unasked string   `json:"unasked,omitempty"`
	Promise *Promise `json:"promise,omitempty"`
	// Conviction is null unless a promise was broken.
	Conviction *Conviction `json:"conviction,omitempty"`
	// Judge is JudgeFound if any finding, even an allowed one, decides the exit code.
	Judge string `json:"judge,omitempty"`
	// Durability is nil for an unknown product. Lost is nil if nothing was lost and no power was cut,
	// and if it is not known whether something was.
	Durability *Durability `json:"durability,omitempty"`
	Lost       *Lost       `json:"lost,omitempty"`
	// Exit follows from the rest and is set when the result is written.
	Exit *Exit `json:"exit,omitempty"`

	// Unanswered is what was asked for and not done, such as a fault not proven to take effect.
	Unanswered []string `json:"unanswered,omitempty"`

	Measurement Measurement `json:"measurement"`
	// Strict makes an invalid measurement decide the exit code.
	Strict bool `json:"strict,omitempty"`
	// Steadiness is null if it was not judged, as in earlier versions.
	Steadiness *Steadiness `json:"steadiness,omitempty"`
	Throughput Throughput  `json:"throughput"`
	// Latency counts from the due time, ServiceTime from the first attempt. Both are over the
	// committed operations that were due in the measured part.
	Latency     Latency `json:"latency"`
	ServiceTime Latency `json:"service_time"`
	// Uncommitted is the response time of all other measured operations, hangs included.
	Uncommitted Latency `json:"latency_uncommitted"`
	// Corrected estimates the response time of operations that keep the clients' usual pace while
	// the database stalls; see Correction. It is null in an open loop, in rounds, and if nothing
	// committed.
	Corrected  *Latency       `json:"latency_corrected,omitempty"`
	Correction *Correction    `json:"latency_correction,omitempty"`
	Outcomes   history.Counts `json:"outcomes"`
	Measured   history.Counts `json:"outcomes_measured"`
	// Errors counts attempts by error class, most frequent first.
	Errors  []ErrorCount `json:"errors"`
	Retries Retries      `json:"retries"`
	Series  Series       `json:"series"`
	// Merged is Series in longer intervals for the charts, if those of Series hold too few
	// operations to tell percentiles from the maximum; otherwise null.
	Merged *Series `json:"series_merged,omitempty"`

	// Ramp is null unless clients began one after the other in the measured part.
	Ramp *Ramp `json:"ramp,omitempty"`

	Database Database  `json:"database"`
	Data     Data      `json:"data"`
	Load     Load      `json:"load"`
	Options  []Setting `json:"options"`
	Loading  Loading   `json:"loading"`
	// Rounds are empty unless the run is worked in several.
	Rounds []Round `json:"rounds,omitempty"`
	Faults []Fault `json:"faults"`
	WorkloadFigures
	// Cluster is null if assay started no servers and was attached to no pods.
	Cluster    *Cluster    `json:"cluster,omitempty"`
	Thresholds []Threshold `json:"thresholds"`
	Client     Client      `json:"client"`
	// Machine is null if other use of assay's machine is unknown.
	Machine  *Machine         `json:"machine,omitempty"`
	Servers  *servers.Summary `json:"servers,omitempty"`
	Notes    []string         `json:"notes"`
	Kinds    []Kind           `json:"kinds,omitempty"`
	Cost     *Cost            `json:"cost,omitempty"`
	Overhead *Overhead        `json:"overhead,omitempty"`
	// Agents are empty if this process did the work.
	Agents []Agent `json:"agents,omitempty"`
	// RunNotes are the run's own Notes. Judging again keeps them and remakes the others.
	RunNotes []string `json:"run_notes,omitempty"`
}

// Figures of package measure, as they are.
type (
	Throughput = measure.Throughput
	Latency    = measure.Latency
	ErrorCount = measure.ErrorCount
	Series     = measure.Series
	Steadiness = measure.Steadiness
	Threshold  = measure.ThresholdResult
)

// Machine is what worked on assay's machine during the measured part.
type Machine = pressure.Usage

// Retries counts the work of the retry policy.
type Retries struct {
	Policy      string `json:"policy"`
	MaxAttempts int    `json:"max_attempts"`
	// Attempts includes first ones.
	Attempts int64 `json:"attempts"`
	Retried  int64 `json:"operations_retried"`
	Settled  int64 `json:"operations_committed_by_retry"`
}

// Setting is a name and a value.
type Setting struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// ValueOf returns the value of a setting; empty if there is none.
func ValueOf(all []Setting, name string) string {
	for _, s := range all {
		if s.Name == name {
			return s.Value
		}
	}
	return ""
}

// Database is what was tested.
type Database struct {
	Product  string    `json:"product"`
	Version  string    `json:"version"`
	Address  string    `json:"address"`
	Settings []Setting `json:"settings"`
	// Changed are the server's non-default settings; nil if it does not tell.
	Changed []Setting `json:"changed_settings,omitzero"`
	// Null means unknown.
	Nodes         *int     `json:"nodes"`
	Shards        *int     `json:"shards"`
	Replicas      *int     `json:"replicas"`
	Arbiters      *int     `json:"arbiters"`
	CPUsPerNode   *float64 `json:"vcpu_per_node"`
	MemoryPerNode *int64   `json:"ram_bytes_per_node"`
	DiskPerNode   *int64   `json:"disk_bytes_per_node"`
	// SharedCPUs and SharedMemory mean that all nodes share the machine's figures above.
	SharedCPUs   bool `json:"vcpu_shared,omitempty"`
	SharedMemory bool `json:"ram_shared,omitempty"`
	Embedded     bool `json:"embedded"`
	// Promise is the model promised at the isolation level in force, where the workload asks.
	Promise string `json:"promised_model,omitempty"`
}

// Known returns nil for 0, which means unknown.
func Known[T int | int64 | float64](v T) *T {
	if v == 0 {
		return nil
	}
	return &v
}

// Data is what the data takes on disk.
type Data struct {
	// Bytes is tables and indexes by the database's count; the parts may be unknown (0).
	Bytes   int64            `json:"bytes"`
	Tables  int64            `json:"tables_bytes"`
	Indexes int64            `json:"indexes_bytes"`
	Rows    map[string]int64 `json:"rows"`
	// Measured says what Bytes counts if it is not space on disk.
	Measured string `json:"measured,omitempty"`
	// Loaded is Bytes after loading and before the work; nil if unknown.
	Loaded *int64 `json:"loaded_bytes,omitempty"`
	// Kept says where the data still is, empty if it was dropped.
	Kept string `json:"kept,omitempty"`
}

// Load is the work that was asked for.
type Load struct {
	Clients         int     `json:"clients"`
	Loop            string  `json:"loop"` // "closed" or "open"
	Arrivals        string  `json:"arrivals"`
	Rate            float64 `json:"rate_per_second"`
	WarmupSeconds   float64 `json:"warmup_s"`
	DurationSeconds float64 `json:"duration_s"`
	Ops             uint64  `json:"ops"`
	// Rounds names the rounds of a run worked in several, which has no length or warm-up.
	Rounds         []string `json:"rounds,omitempty"`
	RampPerSecond  float64  `json:"ramp_clients_per_second"`
	TimeoutSeconds float64  `json:"timeout_s"`
	// Late is how late operations started after their due time, for any reason; open loop only.
	Late Latency `json:"schedule_lag"`
	// Unserved counts due arrivals that never started; open loop only.
	Unserved int64 `json:"arrivals_unserved"`
}

// Loading is how the opening state was made.
type Loading struct {
	Rows      int64   `json:"rows"`
	Seconds   float64 `json:"seconds"`
	PerSecond float64 `json:"rows_per_second"`
	// Again counts batches loaded more than once. Faults were injected during loading; their
	// seconds count from its start.
	Again  int64   `json:"reloaded_batches,omitempty"`
	Faults []Fault `json:"faults,omitempty"`
}

// Fault is one injected fault. Times of -1 are unknown or never came.
type Fault struct {
	Action string `json:"action"`
	// Target is as asked for; Nodes are the nodes that it hit.
	Target string `json:"target"`
	// Asked is the whole fault as asked for, with added defaults of when and how long. Runs of
	// earlier versions lack it.
	Asked string `json:"asked,omitempty"`
	// Source says where the fault is from, such as a Chaos Mesh file; empty if given directly.
	Source         string    `json:"source,omitempty"`
	Nodes          []string  `json:"nodes"`
	InjectedAt     time.Time `json:"injected_at"`
	HealedAt       time.Time `json:"healed_at"`
	InjectedSecond float64   `json:"injected_s"`
	HealedSecond   float64   `json:"healed_s"`
	// InjectedMeasured is InjectedSecond counted from the start of the measured part, as faults
	// are asked for; nil if unknown.
	InjectedMeasured *float64 `json:"injected_measured_s,omitempty"`
	// CutAt is when the power was cut; nil for other faults.
	CutAt *time.Time `json:"cut_at,omitempty"`
	// KilledAt is when a server first had to be killed that was to end in order; nil if none had to.
	KilledAt *time.Time `json:"killed_at,omitempty"`
	// Killed are all such servers. Results of earlier versions lack them.
	Killed []string `json:"killed_nodes,omitempty"`
	// RecoveredAfter is from injection to the first commit after the longest time without one.
	RecoveredAfter float64 `json:"recovered_after_ms"`
	// Proven is true if the fault was seen to take effect, as Proof describes.
	Proven  bool   `json:"proven"`
	Proof   string `json:"proof"`
	Healing string `json:"healing"`
	Problem string `json:"problem,omitempty"`
	// Away is true if its nodes were not seen to be back after it had ended.
	Away    bool `json:"away,omitempty"`
	Skipped bool `json:"skipped,omitempty"`
	// Primary took writes when the fault began; empty if none did or unknown.
	Primary string `json:"primary,omitempty"`
	// NewPrimary took writes NewPrimaryAfter the injection; it may be the old one. It is empty if
	// none came or the fault did not concern the primary.
	NewPrimary      string  `json:"new_primary,omitempty"`
	NewPrimaryAfter float64 `json:"new_primary_after_ms,omitempty"`
	// PrimaryStayed took writes before and after the fault, and no other node meanwhile, though
	// the fault hit it, or who decides, without silencing it; empty otherwise.
	PrimaryStayed string `json:"primary_stayed,omitempty"`
	// WriteOutage and ReadOutage are the longest times, overlapping the fault, from a success to
	// the next. WritesAway and ReadsAway are true if the run's end cut the outage, which is then
	// a lower bound.
	WriteOutage float64 `json:"write_outage_ms"`
	WritesAway  bool    `json:"writes_away,omitempty"`
	ReadOutage  float64 `json:"read_outage_ms"`
	ReadsAway   bool    `json:"reads_away,omitempty"`
	// LongestCall is the longest single attempt meanwhile; a lower bound if the run's end cut it.
	LongestCall    float64      `json:"longest_call_ms"`
	LongestCallCut bool         `json:"longest_call_cut,omitempty"`
	Errors         []ErrorCount `json:"errors"`
	// Backup is nil unless the fault is a backup or a restore.
	Backup *Backup `json:"backup,omitempty"`
}

// Client is how assay itself fared.
type Client struct {
	// CPUShare is assay's share of its processors, 0 to 1, when measured; -1 if unknown.
	CPUShare float64 `json:"cpu_share"`
	CPUs     int     `json:"cpus"`
	// PeakMemory is assay's largest resident size; 0 if unknown.
	PeakMemory int64 `json:"peak_memory_bytes"`
	// SchedulerP99 is the 99th percentile of how long ready goroutines waited for a processor.
	SchedulerP99 float64 `json:"scheduler_p99_ms"`
	// Runnable is the mean number of goroutines waiting for a processor in the measured part.
	Runnable float64 `json:"waiting_for_processor,omitempty"`
	// OwnLag is how late operations started although a client was free.
	OwnLag Latency `json:"own_lag"`
	// OwnLagShareP50 and OwnLagShareP99 are percentiles of OwnLag divided by those of the
	// response time, 0 to 1; nil in a closed loop.
	OwnLagShareP50 *float64 `json:"own_lag_share_p50,omitempty"`
	OwnLagShareP99 *float64 `json:"own_lag_share_p99,omitempty"`
	// Stalls are the first MaxStalls times when assay did not run, StalledSeconds their total.
	Stalls         []ClientStall `json:"stalls,omitempty"`
	StalledSeconds float64       `json:"stalled_s,omitempty"`
	// ConnectMillis is how long all sessions took to open before the start.
	ConnectMillis float64 `json:"connect_ms"`
	Hung          int     `json:"clients_hung,omitempty"`
	// Counted was counted in the run and must equal the history; nil if the run was killed.
	Counted *Counted `json:"counted,omitempty"`
}

// MaxStalls bounds Client.Stalls.
const MaxStalls = 100

// ClientStall is a time in which assay, or the whole machine, did not run.
type ClientStall struct {
	At      float64 `json:"at_s"`
	Seconds float64 `json:"seconds"`
	// Busy is true if assay's own work kept the processors.
	Busy bool `json:"busy,omitempty"`
}

// Counted is all operations and attempts of a run.
type Counted struct {
	Outcomes history.Counts `json:"outcomes"`
	Attempts int64          `json:"attempts"`
}
