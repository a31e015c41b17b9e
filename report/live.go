package report

import (
	"path/filepath"
	"time"

	"assay/history"
)

// FileLive is in a run's folder until the run ends. A killed run leaves it.
const FileLive = "live.json"

// Live is live.json, by which users watch a run. It is written once a second and bounded: long
// runs have fewer points. No judgement rests on it.
type Live struct {
	// Format is the version of this form, now 1.
	Format   int    `json:"format"`
	Version  string `json:"version"`
	Workload string `json:"workload"`
	// Database is the product and its version or, while unknown, its address without a password.
	// It is empty until the run has started the database itself.
	Database string    `json:"database"`
	Started  time.Time `json:"started"`
	Updated  time.Time `json:"updated"`
	// StageBegan is when Stage, the present activity, began.
	Stage      string    `json:"stage"`
	StageBegan time.Time `json:"stage_began"`
	// Rows of TotalRows of the stage are done; TotalRows is 0 if unknown.
	Rows      int64 `json:"rows"`
	TotalRows int64 `json:"total_rows"`
	// Elapsed is the time of work; 0 before it and -1 after it.
	Elapsed   float64 `json:"elapsed_seconds"`
	Measuring bool    `json:"measuring"`
	Warmup    float64 `json:"warmup_seconds"`
	Duration  float64 `json:"duration_seconds"`
	// Ops is how many operations are planned; 0 if a duration is.
	Ops      uint64         `json:"ops"`
	Clients  int            `json:"clients"`
	Outcomes history.Counts `json:"outcomes"`
	// PerSecond and Latency are over the committed work so far.
	PerSecond float64     `json:"committed_per_second"`
	Latency   Latency     `json:"latency"`
	Points    []LivePoint `json:"points"`
	Faults    []LiveFault `json:"faults"`
	Nodes     []string    `json:"nodes"`
	Notes     []string    `json:"notes"`
}

// LivePoint is one stretch of the work.
type LivePoint struct {
	// Second is its end, since the start of the work.
	Second      float64 `json:"s"`
	PerSecond   float64 `json:"per_second"`
	P50         float64 `json:"p50_ms"`
	P99         float64 `json:"p99_ms"`
	Uncommitted int64   `json:"uncommitted"`
}

// LiveFault is a fault that was injected.
type LiveFault struct {
	Text  string   `json:"text"`
	Nodes []string `json:"nodes"`
	// Injected and Healed are seconds since the start of the work; Healed is -1 until then.
	Injected float64 `json:"injected_s"`
	Healed   float64 `json:"healed_s"`
}

// Left estimates the time until the work ends; false if unknown.
func (l *Live) Left() (time.Duration, bool) {
	var seconds float64
	switch done := float64(l.Outcomes.Total()); {
	case l.Elapsed < 0 || l.Elapsed == 0 && l.Duration == 0:
		return 0, false
	case l.Ops > 0 && done > 0:
		seconds = (float64(l.Ops) - done) * l.Elapsed / done
	case l.Ops == 0 && l.Duration > 0:
		seconds = l.Warmup + l.Duration - l.Elapsed
	default:
		return 0, false
	}
	return time.Duration(max(seconds, 0) * float64(time.Second)), true
}

// Share is the done part of the present stage, 0 to 1; false if unknown.
func (l *Live) Share() (float64, bool) {
	switch left, known := l.Left(); {
	case l.Elapsed > 0 && known:
		return l.Elapsed / (l.Elapsed + left.Seconds()), true
	case l.Elapsed <= 0 && l.TotalRows > 0:
		return min(float64(l.Rows)/float64(l.TotalRows), 1), true
	}
	return 0, false
}

// ReadLive reads a folder's live.json. It returns a *FileError if this version finds none.
func ReadLive(folder string) (*Live, error) {
	var l Live
	if err := ReadFile(filepath.Join(folder, FileLive), "live state", "the run is not being made", &l); err != nil {
		return nil, err
	}
	return &l, nil
}
