package compare

import (
	"encoding/json"
	"fmt"
	"io"
	"os"

	"assay/check"
	"assay/report"
)

// baseline is a group of runs in one file, small enough to be kept beside the tested source.
type baseline struct {
	Format int    `json:"baseline_format"`
	Name   string `json:"name"`
	Runs   []Run  `json:"runs"`
}

const baselineFormat = 1

const maxBaseline = 64 << 20

// WriteBaseline leaves out the course of the runs over time and the checks' evidence.
func WriteBaseline(w io.Writer, g Group) error {
	b := baseline{Format: baselineFormat, Name: g.Name}
	for _, run := range g.Runs {
		r := *run.Result
		r.Series, r.Merged = report.Series{}, nil
		r.Checks = nil
		for _, c := range run.Result.Checks {
			r.Checks = append(r.Checks, check.Result{Name: c.Name, Verdict: c.Verdict, Detail: c.Detail, Found: c.Found})
		}
		run.Result = &r
		b.Runs = append(b.Runs, run)
	}
	return writeJSON(w, b, " ", "baseline")
}

func readBaseline(path string) ([]Group, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, &report.FileError{Path: path, Problem: "cannot be read: " + err.Error(), Err: err}
	}
	defer file.Close() // nothing was written; an error here loses nothing
	text, err := io.ReadAll(io.LimitReader(file, maxBaseline+1))
	if err != nil {
		return nil, &report.FileError{Path: path, Problem: "cannot be read: " + err.Error(), Err: err}
	}
	var b baseline
	switch err := json.Unmarshal(text, &b); {
	case len(text) > maxBaseline:
		return nil, &report.FileError{Path: path, Problem: "is too large to be a baseline"}
	case err != nil:
		return nil, &report.FileError{Path: path, Problem: "is neither a folder nor a baseline: " + err.Error(), Err: err}
	case b.Format != baselineFormat:
		return nil, &report.FileError{Path: path, Problem: fmt.Sprintf("is no baseline of format %d, which this assay reads; assay compare --keep FILE writes one", baselineFormat)}
	case len(b.Runs) == 0:
		return nil, &report.FileError{Path: path, Problem: "is a baseline without a run"}
	}
	for _, run := range b.Runs {
		if run.Result == nil || run.Result.Workload == "" {
			return nil, &report.FileError{Path: path, Problem: "was altered: a run of this baseline has no result"}
		}
	}
	return []Group{{Name: b.Name, Runs: b.Runs}}, nil
}
