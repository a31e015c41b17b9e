package report

import (
	"path/filepath"
	"time"

	"assay/check"
)

// Head is the part of a result.json that a list of runs needs.
type Head struct {
	Version     string        `json:"version"`
	Workload    string        `json:"workload"`
	Started     time.Time     `json:"started"`
	Ended       time.Time     `json:"ended"`
	Verdict     check.Verdict `json:"verdict"`
	Measurement Measurement   `json:"measurement"`
	Throughput  struct {
		PerSecond float64 `json:"committed_per_second"`
	} `json:"throughput"`
	Latency struct {
		Count int64   `json:"count"`
		P50   float64 `json:"p50_ms"`
		P99   float64 `json:"p99_ms"`
	} `json:"latency"`
	Database struct {
		Product string `json:"product"`
		Version string `json:"version"`
	} `json:"database"`
	Load struct {
		Clients int `json:"clients"`
	} `json:"load"`
	Cluster *struct {
		Spec string `json:"spec"`
	} `json:"cluster"`
	Rounds []struct{} `json:"rounds"`
	Faults []struct{} `json:"faults"`
}

// ReadHead reads the head of the result.json in a folder, with the errors of ReadJSON.
func ReadHead(folder string) (*Head, error) {
	path := filepath.Join(folder, FileResult)
	var h Head
	if err := readFile(path, "result", missingResult, &h); err != nil {
		return nil, err
	}
	if h.Workload == "" {
		return nil, &FileError{path, "is not a result of assay: it names no workload", nil}
	}
	return &h, nil
}
