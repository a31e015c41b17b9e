package compare

import (
	"io"

	"assay/check"
	"assay/report"
)

// baseline is a group of runs in one file, small enough to be kept beside the tested source.
type baseline struct {
	Format int    `json:"baseline_format"`
	Name   string `json:"name"`
	Runs   []Run  `json:"runs"`
}

// WriteBaseline leaves out the course of the runs over time and the checks' evidence.
func WriteBaseline(w io.Writer, g Group) error {
	b := baseline{Format: report.Format, Name: g.Name}
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
	return report.Indented(w, b, " ", "baseline")
}

func readBaseline(path string) ([]Group, error) {
	var b baseline
	if err := report.ReadFile(path, "baseline", "assay compare --keep FILE writes a baseline", &b); err != nil {
		return nil, err
	}
	if len(b.Runs) == 0 {
		return nil, &report.FileError{Path: path, Problem: "holds no run of a baseline; assay compare --keep FILE writes one"}
	}
	for _, run := range b.Runs {
		if run.Result == nil || run.Result.Workload == "" {
			return nil, &report.FileError{Path: path, Problem: "was altered: a run of this baseline has no result"}
		}
	}
	return []Group{{Name: b.Name, Runs: b.Runs}}, nil
}
