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

// Export writes a saved run as a history that other checkers read, if its workload has such a
// form (definition.Exporting). Every attempt is an operation of its own. A folder that holds no
// run, or nothing that can be written so, gives an *report.InputError. It returns what it has
// left out, in words; nothing if that is empty.
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

// ExportOptions says how a run is written.
type ExportOptions struct {
	Format exchange.Format
	// Test is "append" or "register": which transactions of a run of all tests of
	// workload isolation are written. Empty means those over lists.
	Test string
}

type export struct {
	folder string
	state  string
	run    definition.Exported
	// clients is how many there were, end when the last of their attempts ended.
	clients, end int64
	// left counts the attempts of other kinds, by kind; nil while nothing is counted.
	left map[uint8]int64
	out  exchange.Operation
}

// newExport begins the export of a run; test is ExportOptions.Test.
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

// to writes the whole history, and returns what it has left out.
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
	// One process more, for the last read.
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

// leftOut says what the run has that is not written, in the order of the kinds.
func (e *export) leftOut() string {
	var parts []string
	for _, kind := range slices.Sorted(maps.Keys(e.left)) {
		_, other := e.run.Has(kind)
		parts = append(parts, check.Count(e.left[kind])+" "+other)
	}
	return strings.Join(parts, "; ")
}

// add takes the next operation of an export.
type add = func(*exchange.Operation) error

// extremes hands on what was loaded, the first operation that may have taken effect, and the
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

// write hands on one attempt.
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

// opening writes what was loaded as a read before all operations, if the history needs it.
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

// last writes what was read back at the end as one operation after all others.
// A run that was not read back has none.
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

// ExportTable writes a saved run of any workload as a table: every attempt of every
// operation in the order in which they ended, or with series the run over time as the
// report shows it. A folder that holds no run, or nothing that can be written so, gives
// an *report.InputError.
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
