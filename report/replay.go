package report

import (
	"cmp"
	"fmt"

	"assay/check"
)

// Replay is what a replayed recording came to.
type Replay struct {
	// Sessions and RecordedSeconds are those of the recording, and LeftOut what it lacks of the
	// log, by the reason.
	Sessions        int64            `json:"sessions"`
	RecordedSeconds float64          `json:"recorded_seconds"`
	LeftOut         map[string]int64 `json:"left_out"`
	// SameErrors are errors of statements that had failed in the recording too, NewErrors those
	// of others, GoneErrors statements that had failed and did not. Skipped are those of
	// NewErrors that were not sent, since their session was lost.
	SameErrors int64 `json:"same_errors"`
	NewErrors  int64 `json:"new_errors"`
	GoneErrors int64 `json:"gone_errors"`
	Skipped    int64 `json:"skipped"`
	// Statements are without their values, those first that took the most time together.
	Statements []ReplayedStatement `json:"statements"`
	// Errors are those that are new, a bounded number of kinds.
	Errors []ReplayError `json:"errors"`
}

// ReplayedStatement is what one statement's executions came to. Times are in milliseconds, of
// those that were done, from when they were sent; 0 if there are none.
type ReplayedStatement struct {
	Statement   string  `json:"statement"`
	Count       int64   `json:"count"`
	Rows        int64   `json:"rows"`
	RecordedP50 float64 `json:"recorded_p50_ms"`
	RecordedP99 float64 `json:"recorded_p99_ms"`
	P50         float64 `json:"p50_ms"`
	P99         float64 `json:"p99_ms"`
	// Low and High bound the median with 95 %; 0 of few.
	Low          float64 `json:"p50_low_ms"`
	High         float64 `json:"p50_high_ms"`
	TotalSeconds float64 `json:"total_seconds"`
	SameErrors   int64   `json:"same_errors"`
	NewErrors    int64   `json:"new_errors"`
	GoneErrors   int64   `json:"gone_errors"`
}

// ReplayError is an error that the recording does not have.
type ReplayError struct {
	Statement string `json:"statement"`
	Error     string `json:"error"`
	Times     int64  `json:"times"`
	// Example is a statement with its values, where these were asked for.
	Example string `json:"example,omitempty"`
}

// ByTotal orders statements by the time that they took together, the longest first.
func ByTotal(a, b ReplayedStatement) int {
	return cmp.Or(cmp.Compare(b.TotalSeconds, a.TotalSeconds), cmp.Compare(a.Statement, b.Statement))
}

const (
	// mostStatements and mostReplayErrors bound the tables.
	mostStatements   = 25
	mostReplayErrors = 10
)

func replayTables(r *Replay) []Table {
	t := Table{Title: "Statements: recorded (then) and replayed (now)", Head: []string{"statement", "count", "then p50", "now p50", "ratio", "then p99", "now p99", "new errors"}, Wide: []int{5, 6}, Cut: true}
	for _, s := range r.Statements[:min(mostStatements, len(r.Statements))] {
		ratio := "-"
		if s.RecordedP50 > 0 && s.P50 > 0 {
			ratio = fmt.Sprintf("%.2f", s.P50/s.RecordedP50)
		}
		row := []string{s.Statement, check.Count(s.Count)}
		row = append(row, times(s.RecordedP50 > 0, s.RecordedP50)...)
		row = append(append(row, times(s.P50 > 0, s.P50)...), ratio)
		row = append(row, times(s.RecordedP99 > 0, s.RecordedP99)...)
		row = append(append(row, times(s.P99 > 0, s.P99)...), check.Count(s.NewErrors))
		t.Rows = append(t.Rows, row)
	}
	all := []Table{t}
	if len(r.Errors) > 0 {
		e := Table{Title: "Errors that the recording does not have", Head: []string{"statement", "error", "times"}, Cut: true}
		for _, x := range r.Errors[:min(mostReplayErrors, len(r.Errors))] {
			e.Rows = append(e.Rows, []string{cmp.Or(x.Example, x.Statement), x.Error, check.Count(x.Times)})
		}
		all = append(all, e)
	}
	return all
}

func replayLine(r *Replay) string {
	return fmt.Sprintf("%s, recorded over %.1f s; errors: %s as recorded, %s new, %s gone", check.Counted(r.Sessions, "session", "sessions"), r.RecordedSeconds,
		check.CountOrNone(r.SameErrors), check.CountOrNone(r.NewErrors), check.CountOrNone(r.GoneErrors))
}
