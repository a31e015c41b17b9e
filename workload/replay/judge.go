package replay

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"slices"

	"github.com/HdrHistogram/hdrhistogram-go"

	"assay/check"
	"assay/history"
	"assay/report"
	"assay/workload/definition"
)

// judge holds what was replayed against the recording.
type judge struct {
	evidence   definition.Evidence
	counts     history.Counts
	statements map[int64]*pace
	same       int64 // errors as in the recording
	fresh      int64 // errors that it does not have
	gone       int64 // its errors that did not come again
	skipped    int64
}

// pace is what the executions of one statement came to, in microseconds.
type pace struct {
	count, done, same, fresh, gone int64
	rows                           int64
	recorded, replayed             *hdrhistogram.Histogram
}

func newPace() *pace {
	const hour = 3_600_000_000
	return &pace{recorded: hdrhistogram.New(1, hour, 2), replayed: hdrhistogram.New(1, hour, 2)}
}

// Judge implements definition.Config.
func (c *Config) Judge(_ context.Context, _ uint64, e definition.Evidence) (definition.Judgement, error) {
	j := &judge{evidence: e, statements: map[int64]*pace{}}
	ending, err := history.Read(e.History, history.Visitor{Op: j.op})
	if err != nil {
		return definition.Judgement{}, err
	}
	s, known, err := readState(e.State)
	if err != nil {
		return definition.Judgement{}, err
	}
	out := definition.Judgement{Counts: j.counts, Results: []check.Result{j.result(ending.Whole)}}
	out.Replay = j.section(s)
	out.Notes = c.notes(s, known, j)
	return out, nil
}

func readState(path string) (s state, known bool, err error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return s, false, nil
	}
	if err == nil {
		if json.Unmarshal(text, &s) != nil {
			return s, false, &history.FormatError{Path: path, Reason: "it is not what a replay keeps"}
		}
	}
	return s, err == nil, err
}

func (j *judge) op(op *history.Op) error {
	j.counts.Add(op.Final, 1)
	if op.Kind == KindConnect {
		return nil
	}
	if len(op.Values) != values {
		return j.evidence.Malformed(op)
	}
	p := j.statements[op.Values[0]]
	if p == nil {
		p = newPace()
		j.statements[op.Values[0]] = p
	}
	p.count++
	failed, before := op.Final != history.Committed, op.Values[2] == 1
	switch {
	case op.Error == ClassSkipped:
		j.skipped++
		p.fresh++
	case failed && before:
		p.same++
	case failed:
		p.fresh++
	case before:
		p.gone++
	}
	if failed {
		return nil
	}
	p.done++
	if took := op.Values[1]; took >= 0 && !before {
		_ = p.recorded.RecordValue(within(took))
	}
	p.rows += max(op.Values[3], 0)
	_ = p.replayed.RecordValue(within(op.End - op.Start))
	return nil
}

// within is a time of nanoseconds in microseconds, within a histogram's bounds.
func within(ns int64) int64 { return min(max(ns/1000, 1), 3_600_000_000) }

func (j *judge) result(whole bool) check.Result {
	for _, p := range j.statements {
		j.same, j.fresh, j.gone = j.same+p.same, j.fresh+p.fresh, j.gone+p.gone
	}
	r := check.Result{Name: CheckOutcomes, Verdict: check.Valid}
	r.Detail = fmt.Sprintf("%s ended as in the recording", check.Counted(j.counts.Total()-j.fresh-j.gone, "operation", "operations"))
	switch {
	case j.fresh+j.gone > 0:
		r.Verdict = check.Unknown
		r.Detail += fmt.Sprintf("; %s that had not, and %s that had: no promise is judged by that",
			check.Counted(j.fresh, "statement failed", "statements failed"), check.Counted(j.gone, "statement did not fail", "statements did not fail"))
	case !whole:
		r.Verdict, r.Detail = check.Unknown, "the run did not end"
	case j.counts.Committed+j.counts.Rejected == 0:
		r.Verdict, r.Detail = check.Unknown, "nothing was replayed"
	}
	return r
}

// section is the report's.
func (j *judge) section(s state) *report.Replay {
	out := &report.Replay{Sessions: s.Head.Sessions, RecordedSeconds: s.Head.Seconds, LeftOut: s.Head.LeftOut, SameErrors: j.same, NewErrors: j.fresh, GoneErrors: j.gone, Skipped: j.skipped,
		Statements: []report.ReplayedStatement{}, Errors: []report.ReplayError{}}
	name := func(n int64) string {
		if n >= 0 && n < int64(len(s.Statements)) {
			return s.Statements[n]
		}
		return fmt.Sprintf("statement %d", n)
	}
	for n, p := range j.statements {
		of := report.ReplayedStatement{Statement: name(n), Count: p.count, Rows: p.rows, SameErrors: p.same, NewErrors: p.fresh, GoneErrors: p.gone}
		of.RecordedP50, of.RecordedP99 = quantile(p.recorded, 50), quantile(p.recorded, 99)
		of.P50, of.P99 = quantile(p.replayed, 50), quantile(p.replayed, 99)
		if n := p.replayed.TotalCount(); n >= leastForInterval {
			// The ranks between which the median lies with 95 %, by the binomial law's normal form.
			spread := 98 / math.Sqrt(float64(n))
			of.Low, of.High = quantile(p.replayed, 50-spread), quantile(p.replayed, 50+spread)
		}
		of.TotalSeconds = p.replayed.Mean() * float64(p.replayed.TotalCount()) / 1e6
		out.Statements = append(out.Statements, of)
	}
	slices.SortFunc(out.Statements, report.ByTotal)
	for _, f := range s.Errors {
		out.Errors = append(out.Errors, report.ReplayError{Statement: name(int64(f.Statement)), Error: f.Error, Times: f.Times, Example: f.Example})
	}
	return out
}

// leastForInterval is from how many executions on a median has an interval.
const leastForInterval = 30

func quantile(h *hdrhistogram.Histogram, q float64) float64 {
	if h.TotalCount() == 0 {
		return 0
	}
	return float64(h.ValueAtQuantile(q)) / 1000
}

func (c *Config) notes(s state, known bool, j *judge) (notes []string) {
	if !known {
		notes = append(notes, "what was replayed is known by numbers alone: the run did not end")
	}
	if s.Head.Timed == 0 && known {
		notes = append(notes, "the recording has no durations, as none of a general query log has")
	}
	notes = append(notes, "recorded times are the server's own, replayed ones those that a client sees: the way there and back is in these alone; the logs that are read have no numbers of rows")
	if c.Speed == SpeedMax {
		notes = append(notes, "at speed max a session's statements keep their order, and transactions that did not overlap in the recording follow one another; the order of statements within transactions that overlapped is not kept")
	} else {
		notes = append(notes, "sessions keep their own order and their times; nothing keeps the order between sessions where one is late")
	}
	if j.skipped > 0 {
		notes = append(notes, check.Counted(j.skipped, "statement was", "statements were")+" not sent, whose session was lost within the transaction")
	}
	return notes
}
