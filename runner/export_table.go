package runner

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"

	"assay/history"
	"assay/report"
	"assay/table"
)

// ExportTable writes a saved run of any workload as a table: every attempt of every
// operation in the order in which they ended, or with series the run over time as the
// report shows it. A folder that holds no run, or nothing that can be written so, gives
// an *InputError.
func ExportTable(folder string, w io.Writer, format table.Format, series bool) error {
	s, result, err := readRun(folder)
	if err != nil {
		return err
	}
	if series {
		return exportSeries(folder, &result.Series, w, format)
	}
	out, err := table.NewWriter[attemptRow](w, format)
	if err != nil {
		return err
	}
	kinds := s.operationNames()
	var row attemptRow
	_, err = history.Read(filepath.Join(folder, FileHistory), history.Visitor{AsMeasured: true, Op: func(op *history.Op) error {
		row = attemptRow{
			Client: int64(op.Client), Operation: int64(op.Seq), Attempt: int64(op.Attempt), Last: op.Last,
			Kind: cmp.Or(kinds[op.Kind], fmt.Sprintf("kind %d", op.Kind)), Outcome: op.Outcome.String(), Error: op.Error,
			Due: op.Due, First: op.First, Start: op.Start, End: op.End,
		}
		if op.Last {
			row.Final = op.Final.String()
		}
		return out.Add(&row)
	}})
	if errors.Is(err, fs.ErrNotExist) {
		return &InputError{Path: folder, Err: errors.New("was cut before its work began; there is nothing to export")}
	}
	if err != nil {
		return err
	}
	return out.Close()
}

// attemptRow is one attempt of an operation. Times are nanoseconds since the start of
// the run; see history.Op.
type attemptRow struct {
	Client    int64  `json:"client" parquet:"client"`
	Operation int64  `json:"operation" parquet:"operation"`
	Attempt   int64  `json:"attempt" parquet:"attempt"`
	Last      bool   `json:"last" parquet:"last"`
	Kind      string `json:"kind" parquet:"kind,dict"`
	Outcome   string `json:"outcome" parquet:"outcome,dict"`
	// Final is the outcome of the operation, empty before its last attempt.
	Final string `json:"final" parquet:"final,dict"`
	Error string `json:"error" parquet:"error,dict"`
	Due   int64  `json:"due_ns" parquet:"due_ns"`
	First int64  `json:"first_ns" parquet:"first_ns"`
	Start int64  `json:"start_ns" parquet:"start_ns"`
	End   int64  `json:"end_ns" parquet:"end_ns"`
}

// seriesRow is one interval of a run; see report.Series.
type seriesRow struct {
	Start     float64 `json:"start_s" parquet:"start_s"`
	Seconds   float64 `json:"interval_seconds" parquet:"interval_seconds"`
	Measured  bool    `json:"measured" parquet:"measured"`
	Committed int64   `json:"committed" parquet:"committed"`
	Rejected  int64   `json:"rejected" parquet:"rejected"`
	Failed    int64   `json:"failed" parquet:"failed"`
	Unknown   int64   `json:"unknown" parquet:"unknown"`
	// Response times of what was committed; nothing where nothing was.
	P50 *float64 `json:"p50_ms" parquet:"p50_ms,optional"`
	P95 *float64 `json:"p95_ms" parquet:"p95_ms,optional"`
	P99 *float64 `json:"p99_ms" parquet:"p99_ms,optional"`
	Max *float64 `json:"max_ms" parquet:"max_ms,optional"`
}

func exportSeries(folder string, s *report.Series, w io.Writer, format table.Format) error {
	if len(s.Start) == 0 {
		return &InputError{Path: folder, Err: errors.New("has no series, since its work was not measured; export its operations")}
	}
	out, err := table.NewWriter[seriesRow](w, format)
	if err != nil {
		return err
	}
	present := func(ms float64) *float64 {
		if ms < 0 {
			return nil
		}
		return &ms
	}
	for i, start := range s.Start {
		row := seriesRow{
			Start: start, Seconds: s.IntervalSeconds, Measured: start >= s.MeasureStart && start < s.MeasureEnd,
			Committed: s.Committed[i], Rejected: s.Rejected[i], Failed: s.Failed[i], Unknown: s.Unknown[i],
			P50: present(s.P50[i]), P95: present(s.P95[i]), P99: present(s.P99[i]), Max: present(s.Max[i]),
		}
		if err := out.Add(&row); err != nil {
			return err
		}
	}
	return out.Close()
}
