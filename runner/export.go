package runner

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"assay/check"
	"assay/history"
	"assay/history/exchange"
	"assay/internal/table"
	"assay/report"
	"assay/workload/definition"
)

// Export writes a saved run as a history for other checkers, every attempt as an operation of
// its own. leftOut says in words what it left out; empty for nothing. It returns a
// *report.InputError if the folder holds no run, or a run of a workload without
// definition.Exporting.
func Export(folder string, w io.Writer, o ExportOptions) (leftOut string, err error) {
	s, _, err := readRun(folder)
	if err != nil {
		return "", err
	}
	e, err := newExport(folder, s, o.Test)
	if err != nil {
		return "", err
	}
	return e.to(w, o.Format)
}

// ExportOptions says how Export writes a run.
type ExportOptions struct {
	Format exchange.Format
	// Test chooses transactions of workload isolation: "append" (over lists) or "register".
	// Empty means append for a run of all tests.
	Test string
}

type export struct {
	folder string
	state  string
	run    definition.Exported
	// clients is the number of clients; their last attempt ended at end.
	clients, end int64
	// left counts the attempts that are not written, by kind; nil stops counting.
	left map[uint8]int64
	out  exchange.Operation
}

func newExport(folder string, s Scenario, test string) (*export, error) {
	exporting, is := s.Config.(definition.Exporting)
	if !is {
		return nil, &report.InputError{Path: folder, Err: fmt.Errorf("holds a run of workload %s, for which other tools have no form", s.Workload)}
	}
	run, err := exporting.Export(s.Load.Seed, test)
	if err != nil {
		return nil, &report.InputError{Path: folder, Err: err}
	}
	return &export{folder: folder, state: filepath.Join(folder, s.definition().State), run: run, left: map[uint8]int64{}}, nil
}

func (e *export) to(w io.Writer, format exchange.Format) (leftOut string, err error) {
	var span exchange.Span
	span.See(0, 1) // the opening
	err = e.each(func(op *history.Op) error {
		span.See(op.Start, op.End)
		e.clients, e.end = max(e.clients, int64(op.Client)+1), max(e.end, op.End)
		return nil
	})
	if err != nil {
		return "", err
	}
	leftOut, e.left = e.leftOut(), nil // the next pass would count them again
	// The last read has a process of its own.
	out, err := exchange.NewWriter(w, exchange.Output{Format: format, Processes: e.clients + 1, Window: span.Window()})
	if err != nil {
		return "", err
	}
	if err = e.opening(out.Add); err == nil {
		err = e.each(func(op *history.Op) error { return e.write(out.Add, op) })
	}
	if err == nil {
		err = e.last(out.Add)
	}
	return leftOut, errors.Join(err, out.Close())
}

func (e *export) leftOut() string {
	var parts []string
	for _, kind := range slices.Sorted(maps.Keys(e.left)) {
		_, other := e.run.Has(kind)
		parts = append(parts, check.Count(e.left[kind])+" "+other)
	}
	return strings.Join(parts, "; ")
}

type add = func(*exchange.Operation) error

// extremes gives the opening state, the first operation that may have taken effect, and the
// last read.
func (e *export) extremes(to add) error {
	if err := e.opening(to); err != nil {
		return err
	}
	moved := false
	err := e.each(func(op *history.Op) error {
		e.clients, e.end = max(e.clients, int64(op.Client)+1), max(e.end, op.End)
		if moved || op.Outcome != history.Committed && op.Outcome != history.Unknown {
			return nil
		}
		moved = true
		return e.write(to, op)
	})
	if err != nil {
		return err
	}
	return e.last(to)
}

func (e *export) each(visit func(*history.Op) error) error {
	_, err := history.Read(filepath.Join(e.folder, FileHistory), history.Visitor{Op: func(op *history.Op) error {
		if is, _ := e.run.Has(op.Kind); !is {
			if e.left != nil {
				e.left[op.Kind]++
			}
			return nil
		}
		return visit(op)
	}})
	if errors.Is(err, fs.ErrNotExist) {
		return &report.InputError{Path: e.folder, Err: errors.New("was cut before its work began; there is nothing to export")}
	}
	return err
}

func (e *export) write(to add, op *history.Op) error {
	e.out = exchange.Operation{
		Index: exchange.NoIndex, Process: int64(op.Client), Outcome: op.Outcome,
		Invoke: op.Start, Complete: op.End, InvokeTime: op.Start, CompleteTime: op.End, Txn: e.out.Txn[:0],
	}
	if op.Outcome == history.Rejected { // other tools know three outcomes; it had no effect
		e.out.Outcome = history.Failed
	}
	if err := e.run.Attempt(op, &e.out); err != nil {
		return &history.FormatError{Path: filepath.Join(e.folder, FileHistory), Reason: err.Error()}
	}
	return to(&e.out)
}

// opening writes the loaded state as a read before all operations, if the history needs it.
func (e *export) opening(to add) error {
	out := exchange.Operation{
		Index: exchange.NoIndex, Process: e.clients, Outcome: history.Committed,
		Invoke: 0, Complete: 1, InvokeTime: 0, CompleteTime: 1,
	}
	if !e.run.Opening(&out) {
		return nil
	}
	return to(&out)
}

// last writes the state that was read back as a read after all operations, if there is one.
func (e *export) last(to add) error {
	out := exchange.Operation{
		Index: exchange.NoIndex, Process: e.clients, Outcome: history.Committed,
		Invoke: e.end + 1, Complete: e.end + 2, InvokeTime: e.end + 1, CompleteTime: e.end + 2,
	}
	err := e.run.Last(e.state, &out)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil || len(out.Accounts)+len(out.Txn) == 0 {
		return err
	}
	return to(&out)
}

// ExportTable writes a saved run as a table: all attempts in the order in which they ended or,
// with series, the report's figures over time. It returns a *report.InputError if the folder
// holds no run, or the run cannot be written so.
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
		return &report.InputError{Path: folder, Err: errors.New("was cut before its work began; there is nothing to export")}
	}
	if err != nil {
		return err
	}
	return out.Close()
}

// attemptRow is one attempt. Times are nanoseconds since the start of the run; see history.Op.
type attemptRow struct {
	Client    int64  `json:"client" parquet:"client"`
	Operation int64  `json:"operation" parquet:"operation"`
	Attempt   int64  `json:"attempt" parquet:"attempt"`
	Last      bool   `json:"last" parquet:"last"`
	Kind      string `json:"kind" parquet:"kind,dict"`
	Outcome   string `json:"outcome" parquet:"outcome,dict"`
	// Final is the operation's outcome; empty before its last attempt.
	Final string `json:"final" parquet:"final,dict"`
	Error string `json:"error" parquet:"error,dict"`
	Due   int64  `json:"due_ns" parquet:"due_ns"`
	First int64  `json:"first_ns" parquet:"first_ns"`
	Start int64  `json:"start_ns" parquet:"start_ns"`
	End   int64  `json:"end_ns" parquet:"end_ns"`
}

// seriesRow is one interval of report.Series.
type seriesRow struct {
	Start     float64 `json:"start_s" parquet:"start_s"`
	Seconds   float64 `json:"interval_seconds" parquet:"interval_seconds"`
	Measured  bool    `json:"measured" parquet:"measured"`
	Committed int64   `json:"committed" parquet:"committed"`
	Rejected  int64   `json:"rejected" parquet:"rejected"`
	Failed    int64   `json:"failed" parquet:"failed"`
	Unknown   int64   `json:"unknown" parquet:"unknown"`
	// Response times are of committed operations; nil if there were none.
	P50 *float64 `json:"p50_ms" parquet:"p50_ms,optional"`
	P95 *float64 `json:"p95_ms" parquet:"p95_ms,optional"`
	P99 *float64 `json:"p99_ms" parquet:"p99_ms,optional"`
	Max *float64 `json:"max_ms" parquet:"max_ms,optional"`
}

func exportSeries(folder string, s *report.Series, w io.Writer, format table.Format) error {
	if len(s.Start) == 0 {
		return &report.InputError{Path: folder, Err: errors.New("has no series, since its work was not measured; export its operations")}
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
