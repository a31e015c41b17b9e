package report

import (
	"fmt"
	"path/filepath"
	"time"
)

// FileSeries is in the folder of a series of runs.
const FileSeries = "series.json"

const (
	FileStudy       = "study.yaml"
	FileArticle     = "study.html"
	FileArticleText = "study.md"
	FolderCharts    = "charts"
	FileRuns        = "runs.csv"
)

// RunSeries is series.json: several runs of one workload that belong together. Fields are added,
// never renamed.
type RunSeries struct {
	// Format is the version of this form, now 1.
	Format   int       `json:"format"`
	Version  string    `json:"version"`
	Workload string    `json:"workload"`
	Started  time.Time `json:"started"`
	// Seed is of the first repeat; repeat n has Seed+n-1, in every configuration.
	Seed    uint64 `json:"seed"`
	Repeats int    `json:"repeats"`
	// Common is what all runs share, as one text. A series continues only with the same text.
	Common string `json:"common"`
	// Configurations are compared with each other; an only one has no values.
	Configurations []Configuration `json:"configurations"`
	// Runs are in the order in which they are made: each configuration once, then each again.
	Runs []SeriesRun `json:"runs"`
}

// Configuration is one combination of the values that vary in a series.
type Configuration struct {
	// Name is unique in the series, such as "clients=8, option=w=1".
	Name   string    `json:"name"`
	Values []Setting `json:"values"`
}

// SeriesRun is one run of a series.
type SeriesRun struct {
	// Folder is within the folder of the series.
	Folder        string `json:"folder"`
	Configuration string `json:"configuration"`
	Repeat        int    `json:"repeat"`
	Seed          uint64 `json:"seed"`
	// State is StateWaiting, StateDone (there is a result, whatever its verdict) or StateFailed.
	State string `json:"state"`
	// Seconds includes judging.
	Seconds float64 `json:"seconds,omitempty"`
	// Again counts repetitions for an invalid measurement.
	Again int `json:"again,omitempty"`
	// Exit is how assay would have ended with this run alone.
	Exit    *Exit  `json:"exit,omitempty"`
	Problem string `json:"problem,omitempty"`
}

const (
	StateWaiting = "waiting"
	StateDone    = "done"
	StateFailed  = "failed"
)

// Count returns how many runs are in a state.
func (s *RunSeries) Count(state string) (n int) {
	for _, r := range s.Runs {
		if r.State == state {
			n++
		}
	}
	return n
}

// ReadSeries reads the series.json of a folder. It returns a *FileError if there is none that
// this version reads, or it is too large.
func ReadSeries(folder string) (*RunSeries, error) {
	path := filepath.Join(folder, FileSeries)
	var s RunSeries
	if err := ReadFile(path, "series", "name the folder of a series", &s); err != nil {
		return nil, err
	}
	if s.Workload == "" || len(s.Configurations) == 0 {
		return nil, &FileError{path, "is not a series of assay: it names no workload or no configuration", nil}
	}
	for _, r := range s.Runs {
		if !filepath.IsLocal(r.Folder) {
			return nil, &FileError{path, fmt.Sprintf("was altered: the folder %q of a run is not within the series", r.Folder), nil}
		}
	}
	return &s, nil
}
