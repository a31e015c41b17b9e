// Package report describes what a run found: as result.json for programs, as a
// summary for the terminal, as Markdown, and as one HTML page that works
// offline. It is given finished figures and verdicts and adds none.
//
// It must not import any driver, any workload's package or the load engine. Package
// servers, whose figures it shows, brings package workload with it.
package report

import (
	"time"

	"assay/check"
	"assay/history"
	"assay/measure"
	"assay/measure/pressure"
	"assay/measure/servers"
)

// Result is what result.json holds. Its form is fixed: fields are added, never
// renamed. schema.json in this package describes it.
type Result struct {
	// Format is the version of this form, now 1.
	Format  int    `json:"format"`
	Version string `json:"version"`
	// Rules is the number of the rules of the verdict (check.Rules); 0 is of runs before 2.
	Rules    int    `json:"rules,omitempty"`
	Workload string `json:"workload"`
	// Run identifies the run; the database holds it in assay's mark.
	Run string `json:"run"`
	// Started and Ended enclose the whole run, in UTC.
	Started time.Time `json:"started"`
	Ended   time.Time `json:"ended"`
	// Seed is decimal text in YAML and on the command line, a number here.
	Seed uint64 `json:"seed"`
	// Seeded are the bugs that the database was opened with on purpose, so that nothing here
	// says anything about the product; empty otherwise.
	Seeded string `json:"seeded,omitempty"`
	// Verdict combines the checks: violated dominates unknown dominates allowed dominates valid.
	Verdict check.Verdict  `json:"verdict"`
	Checks  []check.Result `json:"checks"`
	// NotApplicable are the workload's checks that the run's options leave without a
	// subject. The verdict does not rest on them.
	NotApplicable []check.NotApplicable `json:"not_applicable,omitempty"`
	// Unasked says that nothing was asked to be judged; the verdict is unknown then, and nobody
	// misses it.
	Unasked string `json:"unasked,omitempty"`
	// Promise is nil of a run that was not judged.
	Promise *Promise `json:"promise,omitempty"`
	// Conviction is what speaks for a broken promise; null where none was broken.
	Conviction *Conviction `json:"conviction,omitempty"`
	// Judge is JudgeFound if the exit code follows whatever was found, also what is allowed.
	Judge string `json:"judge,omitempty"`
	// Durability is nil where nothing is known of the product, Lost without power cuts.
	Durability *Durability `json:"durability,omitempty"`
	Lost       *Lost       `json:"lost,omitempty"`
	// Exit follows from the rest; writing a result sets it.
	Exit *Exit `json:"exit,omitempty"`

	// Unanswered is what was asked for and not done: a run that was cut, a fault that is
	// not proven to have taken effect.
	Unanswered []string `json:"unanswered,omitempty"`

	Measurement Measurement `json:"measurement"`
	// Strict is true if an invalid measurement is to be an exit code by itself.
	Strict bool `json:"strict,omitempty"`
	// Steadiness is null in results of versions that did not keep it, and where nobody
	// looked for a steady state.
	Steadiness *Steadiness `json:"steadiness,omitempty"`
	Throughput Throughput  `json:"throughput"`
	// Latency is response time from due, ServiceTime from the first attempt's
	// start; both over the committed operations that were due in the measured
	// part.
	Latency     Latency `json:"latency"`
	ServiceTime Latency `json:"service_time"`
	// Uncommitted is the response time of all operations of the measured part
	// that did not commit, so that a hang is never left out.
	Uncommitted Latency `json:"latency_uncommitted"`
	// Corrected estimates the response time of operations that come at the
	// clients' usual pace also while the database stalls, and Correction describes how;
	// null in an open loop, in rounds, and where nothing was committed.
	Corrected  *Latency    `json:"latency_corrected,omitempty"`
	Correction *Correction `json:"latency_correction,omitempty"`
	// Outcomes counts every operation of the run, warm-up included.
	Outcomes history.Counts `json:"outcomes"`
	// Measured counts the operations of the measured part.
	Measured history.Counts `json:"outcomes_measured"`
	// Errors counts attempts by error class, most frequent first.
	Errors  []ErrorCount `json:"errors"`
	Retries Retries      `json:"retries"`
	// Series is the run over time, Intervals of equal length.
	Series Series `json:"series"`
	// Merged is the Series in longer intervals, for the charts: the intervals
	// of Series hold so few operations that their percentiles cannot be told from their
	// maximum. It is null where they hold enough.
	Merged *Series `json:"series_merged,omitempty"`

	// Ramp is null of a run whose clients did not begin one after the other within the measured
	// part.
	Ramp *Ramp `json:"ramp,omitempty"`

	Database Database  `json:"database"`
	Data     Data      `json:"data"`
	Load     Load      `json:"load"`
	Options  []Setting `json:"options"`
	Loading  Loading   `json:"loading"`
	// Rounds are the stretches of a run that is worked in several; empty in
	// others.
	Rounds []Round `json:"rounds,omitempty"`
	Faults []Fault `json:"faults"`
	WorkloadFigures
	// Cluster is null where assay started no servers and was attached to no pods.
	Cluster    *Cluster    `json:"cluster,omitempty"`
	Thresholds []Threshold `json:"thresholds"`
	Client     Client      `json:"client"`
	// Machine is null where it is not known what else worked on assay's machine.
	Machine *Machine `json:"machine,omitempty"`
	// Servers is what the servers were doing; null where nobody looked.
	Servers *servers.Summary `json:"servers,omitempty"`
	// Notes are remarks for the reader that make nothing invalid.
	Notes []string `json:"notes"`
	// Kinds are the kinds of operations, where there are several.
	Kinds []Kind `json:"kinds,omitempty"`
	// Cost is what the nodes cost; nil if nobody said a price.
	Cost *Cost `json:"cost,omitempty"`
	// Overhead is what assay itself took; nil if it was not measured.
	Overhead *Overhead `json:"overhead,omitempty"`
	// Agents are the processes that did the work; empty where this process did.
	Agents []Agent `json:"agents,omitempty"`
	// RunNotes are the Notes that the run itself made. They are kept
	// when it is judged again; the others are made anew.
	RunNotes []string `json:"run_notes,omitempty"`
}

// What package measure finds is kept as it is.
type (
	Throughput = measure.Throughput
	Latency    = measure.Latency
	ErrorCount = measure.ErrorCount
	Series     = measure.Series
	Steadiness = measure.Steadiness
	Threshold  = measure.ThresholdResult
)

// Machine is what worked on assay's machine over the measured part.
type Machine = pressure.Usage

// Retries is what the retry policy did.
type Retries struct {
	Policy      string `json:"policy"`
	MaxAttempts int    `json:"max_attempts"`
	// Attempts is all attempts, first ones included.
	Attempts int64 `json:"attempts"`
	// Retried is how many operations needed more than one.
	Retried int64 `json:"operations_retried"`
	// Settled is how many of those were committed in the end.
	Settled int64 `json:"operations_committed_by_retry"`
}

// Setting is one name and value, kept in order.
type Setting struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// ValueOf is the value of the setting of this name; empty if there is none.
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
	Product string `json:"product"`
	Version string `json:"version"`
	// Address is without any password.
	Address  string    `json:"address"`
	Settings []Setting `json:"settings"`
	// Changed are the server's settings that are not its defaults; nil if it does not tell.
	Changed []Setting `json:"changed_settings,omitzero"`
	// What is known of the machines; null where nobody knows.
	Nodes         *int     `json:"nodes"`
	Shards        *int     `json:"shards"`
	Replicas      *int     `json:"replicas"`
	Arbiters      *int     `json:"arbiters"`
	CPUsPerNode   *float64 `json:"vcpu_per_node"`
	MemoryPerNode *int64   `json:"ram_bytes_per_node"`
	DiskPerNode   *int64   `json:"disk_bytes_per_node"`
	// SharedCPUs and SharedMemory are true if the nodes are on one machine and
	// what stands above is that machine's, for all of them together.
	SharedCPUs   bool `json:"vcpu_shared,omitempty"`
	SharedMemory bool `json:"ram_shared,omitempty"`
	// Embedded is true if the database ran inside the assay process.
	Embedded bool `json:"embedded"`
	// Promise is the consistency model that the isolation level in force
	// promises, where the workload asks for it.
	Promise string `json:"promised_model,omitempty"`
}

// Data is what the data takes on disk.
type Data struct {
	// Bytes is tables and indexes as the database counts them; the parts are
	// 0 where it cannot tell them apart.
	Bytes   int64 `json:"bytes"`
	Tables  int64 `json:"tables_bytes"`
	Indexes int64 `json:"indexes_bytes"`
	// Rows counts rows by the name of their table.
	Rows map[string]int64 `json:"rows"`
	// Measured describes what Bytes is where it is not the use of the disk; empty
	// where it is.
	Measured string `json:"measured,omitempty"`
	// Loaded is Bytes as they were once the rows were loaded and before the work;
	// nil where nobody asked.
	Loaded *int64 `json:"loaded_bytes,omitempty"`
	// Kept describes where the data still is, empty if it was dropped.
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
	// Rounds are the names of the rounds of a run that is worked in several, in
	// their order; such a run has neither a length nor a warm-up.
	Rounds         []string `json:"rounds,omitempty"`
	RampPerSecond  float64  `json:"ramp_clients_per_second"`
	TimeoutSeconds float64  `json:"timeout_s"`
	// Late is how late operations started behind their due time for
	// whatever reason; open loop only.
	Late Latency `json:"schedule_lag"`
	// Unserved counts arrivals that were due and never started; open loop.
	Unserved int64 `json:"arrivals_unserved"`
}

// Loading is how the opening state was made.
type Loading struct {
	Rows      int64   `json:"rows"`
	Seconds   float64 `json:"seconds"`
	PerSecond float64 `json:"rows_per_second"`
	// Again is how many batches were loaded more than once. Faults are those that were
	// injected meanwhile; their seconds count from the start of loading.
	Again  int64   `json:"reloaded_batches,omitempty"`
	Faults []Fault `json:"faults,omitempty"`
}

// Fault is one fault that was injected. Times of -1 are not known or never came.
type Fault struct {
	Action string `json:"action"`
	// Target is as asked for; Nodes are those that it fell on.
	Target string `json:"target"`
	// Asked is the whole fault as it was asked for, with when and how long, which are said
	// where nobody has. Empty of runs by earlier versions.
	Asked string `json:"asked,omitempty"`
	// Source says where the fault is from, such as a file of Chaos Mesh; empty if it was
	// written as it is.
	Source         string    `json:"source,omitempty"`
	Nodes          []string  `json:"nodes"`
	InjectedAt     time.Time `json:"injected_at"`
	HealedAt       time.Time `json:"healed_at"`
	InjectedSecond float64   `json:"injected_s"`
	HealedSecond   float64   `json:"healed_s"`
	// InjectedMeasured is InjectedSecond on the clock by which faults are asked
	// for: since the start of the measured part. Nil where that is not known.
	InjectedMeasured *float64 `json:"injected_measured_s,omitempty"`
	// CutAt is when the power was cut; nil of other faults.
	CutAt *time.Time `json:"cut_at,omitempty"`
	// RecoveredAfter is from injection to the first commit after the longest
	// time without one.
	RecoveredAfter float64 `json:"recovered_after_ms"`
	// Proven is true if the fault was seen to take effect, Proof describes how.
	Proven bool   `json:"proven"`
	Proof  string `json:"proof"`
	// Healing describes how it was seen to have ended.
	Healing string `json:"healing"`
	// Problem is what went wrong with the fault itself, or why it was skipped.
	Problem string `json:"problem,omitempty"`
	Skipped bool   `json:"skipped,omitempty"`
	// Primary took writes when the fault began; empty if nobody did or that is not known.
	Primary string `json:"primary,omitempty"`
	// NewPrimary took writes NewPrimaryAfter the injection, another node or the same one once
	// it was back; empty if the primary was not concerned, or none came.
	NewPrimary      string  `json:"new_primary,omitempty"`
	NewPrimaryAfter float64 `json:"new_primary_after_ms,omitempty"`
	// PrimaryStayed took writes before the fault and when it was healed, and no other node in
	// between, though the fault hit it, or those who decide, without silencing it; empty else.
	PrimaryStayed string `json:"primary_stayed,omitempty"`
	// WriteOutage and ReadOutage are the longest times without a success that
	// overlap the fault: from the last success before to the first after.
	// WritesAway and ReadsAway are true if none came any more: the run's end cut the outage,
	// which lasted at least so long.
	WriteOutage float64 `json:"write_outage_ms"`
	WritesAway  bool    `json:"writes_away,omitempty"`
	ReadOutage  float64 `json:"read_outage_ms"`
	ReadsAway   bool    `json:"reads_away,omitempty"`
	// LongestCall is the longest single attempt under way meanwhile; at least so long if the
	// run's end cut it.
	LongestCall    float64 `json:"longest_call_ms"`
	LongestCallCut bool    `json:"longest_call_cut,omitempty"`
	// Errors are the attempts meanwhile that did not commit.
	Errors []ErrorCount `json:"errors"`
	// Backup is what a backup or a restore made; nil of other faults.
	Backup *Backup `json:"backup,omitempty"`
}

// Client is how the tester itself fared.
type Client struct {
	// CPUShare is assay's own use of the processors it may use, 0 to 1, over
	// the measured part; -1 if it could not be measured.
	CPUShare float64 `json:"cpu_share"`
	CPUs     int     `json:"cpus"`
	// PeakMemory is the largest resident size of assay, in bytes; 0 unknown.
	PeakMemory int64 `json:"peak_memory_bytes"`
	// SchedulerP99 is how long goroutines that could run had to wait for a
	// processor, 99th percentile, in milliseconds.
	SchedulerP99 float64 `json:"scheduler_p99_ms"`
	// Runnable is how many goroutines waited for a processor at a time, on
	// average over the measured part.
	Runnable float64 `json:"waiting_for_processor,omitempty"`
	// OwnLag is how late operations started although a client was free.
	OwnLag Latency `json:"own_lag"`
	// OwnLagShareP50 and OwnLagShareP99 are, of an open loop, percentiles of
	// OwnLag divided by percentiles of the response time, 0 to 1; nil in a closed loop.
	OwnLagShareP50 *float64 `json:"own_lag_share_p50,omitempty"`
	OwnLagShareP99 *float64 `json:"own_lag_share_p99,omitempty"`
	// Stalls are the times in which assay did not run, the first MaxStalls of them, and
	// StalledSeconds how long they were together.
	Stalls         []ClientStall `json:"stalls,omitempty"`
	StalledSeconds float64       `json:"stalled_s,omitempty"`
	// ConnectMillis is how long all sessions took to open before the start.
	ConnectMillis float64 `json:"connect_ms"`
	// Hung is how many clients never came back from their last operation.
	Hung int `json:"clients_hung,omitempty"`
	// Counted is what was counted while the run went on, which the history must
	// agree with; nil if the run was killed.
	Counted *Counted `json:"counted,omitempty"`
}

// MaxStalls bounds Client.Stalls.
const MaxStalls = 100

// ClientStall is a time in which assay did not run: it was stopped, or the machine stood still.
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
