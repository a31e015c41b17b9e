package figures

import (
	"encoding/json"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"assay/history"
	"assay/internal/expect"
	"assay/load"
	"assay/measure"
	"assay/report"
	"assay/runner/record"
)

// written is a history of two clients with ten operations a second for ten seconds, and these
// events.
func written(t *testing.T, events ...history.Event) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "history.bin")
	w, err := history.Create(path, history.Header{Run: "one", Workload: "any", Version: "test", Started: 1})
	expect.NoError(t, err)
	expect.NoError(t, w.Mark(history.Event{Name: history.EventMeasureStart}))
	for seq := range uint64(100) {
		for client := range 2 {
			at := int64(seq) * 1e8
			op := history.Op{Client: client, Seq: seq, Attempt: 1, Last: true, Outcome: history.Committed, Final: history.Committed, Due: at, First: at, Start: at, End: at + 1e6}
			if client == 1 && seq%10 == 0 {
				op.Outcome, op.Final, op.Error = history.Failed, history.Failed, "deadlock"
			}
			expect.NoError(t, w.Record(&op))
		}
	}
	for _, e := range append(events, history.Event{At: 10e9, Name: history.EventMeasureEnd}) {
		expect.NoError(t, w.Mark(e))
	}
	expect.NoError(t, w.Close())
	return path
}

// TestARunIsReckonedUp from its history alone, twice the same.
func TestARunIsReckonedUp(t *testing.T) {
	fault, err := json.Marshal(record.Fault{Number: 1, Action: "kill", Target: "n1", Nodes: []string{"n1"}, Injected: 3e9, Healed: 4e9})
	expect.NoError(t, err)
	said, err := json.Marshal(history.FirstError{Class: "deadlock", Text: "the whole text"})
	expect.NoError(t, err)
	path := written(t, history.Event{At: 4e9, Name: record.EventFault, Detail: string(fault)}, history.Event{At: 1, Name: history.EventFirstError, Detail: string(said)})
	missed, err := measure.ParseThreshold("p99<1us")
	expect.NoError(t, err)
	asked := Asked{Load: load.Defaults(), Faults: true, Thresholds: []measure.Threshold{missed}}
	var results []report.Result
	for range 2 {
		r := report.Result{Load: report.Load{Clients: 2, Loop: "closed"}, Client: report.Client{CPUShare: -1}}
		figures, err := asked.Enter(&r, History{Path: path})
		expect.NoError(t, err)
		if want := (history.Counts{Committed: 190, Failed: 10}); r.Outcomes != want || figures.Outcomes != want {
			t.Errorf("%+v", r.Outcomes)
		}
		if len(r.Faults) != 1 || r.Faults[0].InjectedSecond != 3 || r.Faults[0].HealedSecond != 4 || len(r.Errors) != 1 || r.Errors[0].First != "the whole text" {
			t.Errorf("faults %+v, errors %+v", r.Faults, r.Errors)
		}
		if len(r.Thresholds) != 1 || r.Thresholds[0].Kept {
			t.Errorf("thresholds %+v", r.Thresholds)
		}
		if reasons := strings.Join(r.Measurement.Reasons, "\n"); !strings.Contains(reasons, "kill n1 at 3.0 s is not proven") || len(r.Unanswered) != 1 {
			t.Errorf("a fault that nobody saw: %s, %q", reasons, r.Unanswered)
		}
		results = append(results, r)
	}
	if !reflect.DeepEqual(results[0], results[1]) {
		t.Errorf("they differ:\n%+v\n%+v", results[0], results[1])
	}
}

// TestAHistoryThatWasCut: its figures say so, with the reason if it is known.
func TestAHistoryThatWasCut(t *testing.T) {
	path := written(t)
	for why, h := range map[string]History{
		"assay or its machine was stopped":            {Path: path, Cut: true},
		"its history could not be written to the end": {Path: path, Cut: true, Unrecorded: true},
		"it was ended before its time":                {Path: written(t, history.Event{At: 10e9, Name: history.EventCut, Detail: "it was ended before its time"})},
	} {
		r := report.Result{Client: report.Client{CPUShare: -1}}
		_, err := Asked{Load: load.Defaults()}.Enter(&r, h)
		expect.NoError(t, err)
		if len(r.Unanswered) == 0 || !strings.Contains(r.Unanswered[0], why) {
			t.Errorf("%s: %q", why, r.Unanswered)
		}
	}
	if _, err := (Asked{}).Enter(&report.Result{}, History{Path: filepath.Join(t.TempDir(), "none")}); err == nil {
		t.Error("a history that is not there has figures")
	}
}

// TestArrivalsThatNeverStarted: what was served of an open loop took 1 ms; the rest waited for up
// to a tenth of a second until the end.
func TestArrivalsThatNeverStarted(t *testing.T) {
	fault, err := json.Marshal(record.Fault{Number: 1, Action: "kill", Target: "n1", Nodes: []string{"n1"}, Injected: 3e9, Healed: 4e9, Proven: true})
	expect.NoError(t, err)
	path := written(t, history.Event{At: 4e9, Name: record.EventFault, Detail: string(fault)})
	short, err := measure.ParseThreshold("p95<10ms")
	expect.NoError(t, err)
	for unserved, kept := range map[int64]bool{0: true, 50: false} {
		for name, processes := range map[string][]report.Agent{"one process": nil, "two agents": {{Clients: 1}, {Clients: 1}}} {
			asked := Asked{Load: load.Defaults(), Faults: true, Thresholds: []measure.Threshold{short}}
			r := report.Result{Load: report.Load{Clients: 2, Loop: "open", Unserved: unserved}, Client: report.Client{CPUShare: -1}, Agents: processes}
			f, err := asked.Enter(&r, History{Path: path})
			expect.NoError(t, err)
			if r.Thresholds[0].Kept != kept || f.Arrivals.Unserved != unserved {
				t.Errorf("%d unserved of %s: %+v, %d counted", unserved, name, r.Thresholds, f.Arrivals.Unserved)
			}
		}
	}
}
