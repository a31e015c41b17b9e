package hunt

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"assay/check"
	"assay/runner"
)

// State is all that a hunt knows and needs to go on: hunt.json.
type State struct {
	Format  int       `json:"format"`
	Version string    `json:"version"`
	Started time.Time `json:"started"`
	// Cluster to First are what was asked for.
	Cluster   string     `json:"cluster"`
	Others    []string   `json:"other_clusters,omitempty"`
	Workloads []string   `json:"workloads"`
	Options   [][]string `json:"options,omitempty"`
	Goals     []Goal     `json:"goals"`
	Seed      uint64     `json:"seed"`
	Random    bool       `json:"random,omitempty"`
	// First is nil if the first plan is drawn.
	First *Plan `json:"first,omitempty"`

	// Longest bounds a plan's length.
	Longest time.Duration `json:"longest_ns,omitempty"`
	// FailoverWait is how long plans that take the primary away wait for another.
	FailoverWait FailoverWait `json:"failover_wait"`

	// Formed counts the plans that go through workloads without faults, and through pairs of
	// faults, in turn.
	Formed int `json:"formed,omitempty"`

	// Plans counts the runs. LoadSeconds is the time of their load, Seconds of the whole
	// search with starting servers.
	Plans       int            `json:"plans"`
	LoadSeconds float64        `json:"load_s"`
	Seconds     float64        `json:"search_s"`
	Verdicts    map[string]int `json:"verdicts"`
	Clusters    int            `json:"clusters"`
	States      []string       `json:"states"`
	Faults      []string       `json:"faults,omitempty"` // the kinds that plans can have
	Coverage    Coverage       `json:"coverage"`
	Corpus      []Kept         `json:"corpus"`
	Findings    []Finding      `json:"findings"`
	Interrupted bool           `json:"interrupted,omitempty"`
}

// Kept is a plan that reached something new.
type Kept struct {
	Plan Plan `json:"plan"`
	// Fresh is how much was new, Varied how often the plan was varied since.
	Fresh  int `json:"fresh"`
	Varied int `json:"varied"`
	// Seconds is the time of the run, with healing.
	Seconds float64 `json:"run_s"`
}

// Finding is something that the hunt was looking for.
type Finding struct {
	Goal    string        `json:"goal"`
	Key     string        `json:"key"`
	Text    string        `json:"text"`
	Verdict check.Verdict `json:"verdict"`
	// At is the number of the first plan that found it, After the seconds of search before,
	// Folder the run's folder, and Seen the number of plans that found it.
	At     int     `json:"plan_number"`
	After  float64 `json:"after_s"`
	Folder string  `json:"folder"`
	Seen   int     `json:"seen"`
	Plan   Plan    `json:"plan"`
	// Shrunk means that nothing more can be left out of Plan, or that the time for it is over.
	// Tries is the number of runs that took.
	Shrunk bool `json:"shrunk"`
	Tries  int  `json:"shrink_runs"`
	// History is the smallest history that shows it; empty if none is known.
	History string `json:"history,omitempty"`
	// Command runs Plan on a new cluster. Found of Of such runs, of RunSeconds each, found it;
	// Low and High bound its probability.
	Command    string  `json:"command"`
	Found      int     `json:"found"`
	Of         int     `json:"of"`
	RunSeconds float64 `json:"run_s"`
	// Undecided more runs had no verdict.
	Undecided int     `json:"undecided,omitempty"`
	Low       float64 `json:"low"`
	High      float64 `json:"high"`
}

// is reports whether a hit is the finding. Earlier versions left the kind out of the key of a broken
// promise.
func (f Finding) is(h hit) bool {
	return f.Key == h.key || f.Goal == GoalViolation && h.goal == f.Goal && h.kind != "" && f.Key == strings.TrimSuffix(h.key, " "+h.kind)
}

// Read reads the state of a hunt from its folder. Errors are *runner.FolderError.
func Read(folder string) (*State, error) {
	text, err := os.ReadFile(filepath.Join(folder, FileState))
	if err != nil {
		return nil, &runner.FolderError{Path: folder, Reason: "holds no hunt", Err: err}
	}
	var s State
	if err := json.Unmarshal(text, &s); err != nil {
		return nil, &runner.FolderError{Path: folder, Reason: "holds a hunt that cannot be read", Err: err}
	}
	if s.Format != 1 {
		return nil, &runner.FolderError{Path: folder, Reason: fmt.Sprintf("holds a hunt of format %d, and this assay reads 1", s.Format)}
	}
	if s.Longest == 0 { // of an earlier version
		s.Longest = mostWait
	}
	for i := range s.Findings {
		// Earlier versions gave a loss that the manual allows the key of one that it does not.
		if f := &s.Findings[i]; f.Goal == GoalLoss && f.Verdict == check.Allowed && !strings.HasSuffix(f.Key, allowed) {
			f.Key += allowed
		}
	}
	return &s, nil
}
