package runner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"assay/check"
	"assay/history"
	"assay/report"
	"assay/runner/histories"
	"assay/runner/judge"
	"assay/workload"
)

const (
	mostOperationsTold = 6
	mostFaultsDrawn    = 4
)

// BugReport writes up the gravest finding of a run's folder for the database's vendor. It
// returns a *NothingError if nothing was found; other errors are of the folder's files. If the
// run found no smallest history, BugReport searches for at most timeout.
func BugReport(ctx context.Context, folder string, timeout time.Duration) (report.Document, error) {
	s, r, err := readRun(folder)
	if err != nil {
		return report.Document{}, err
	}
	c, finding := gravest(r)
	if c.Found == 0 {
		return report.Document{}, nothing(folder, r.Verdict, strings.Join(report.ExitOf(r).Reasons, "; "))
	}
	b := report.Bug{Result: r, Check: c, Finding: finding, Causes: judge.Causes(r), Environment: readEnvironment(folder)}
	if r.Conviction != nil {
		b.Causes = append(b.Causes, slices.DeleteFunc(slices.Clone(r.Conviction.Causes), func(x report.Cause) bool {
			return slices.ContainsFunc(b.Causes, func(y report.Cause) bool { return x.Name == y.Name })
		})...)
		r.Conviction = judge.Conviction(r, s.Isolation, 0)
	}
	scenario, err := os.ReadFile(filepath.Join(folder, FileScenario))
	if err != nil {
		return report.Document{}, err
	}
	b.Scenario = string(scenario)
	if b.Finding.Smallest == nil {
		if b.Finding.Smallest, err = searchSmallest(ctx, folder, timeout); err != nil {
			return report.Document{}, err
		}
	}
	started, told, err := toldOperations(folder, finding)
	if err != nil {
		return report.Document{}, err
	}
	if b.Finding.Smallest == nil {
		b.Finding.Smallest = besideFaults(r, told)
	}
	if x := b.Finding.Smallest; x != nil && len(x.Operations) > 0 && !started.IsZero() {
		var moments []span
		for _, o := range x.Operations {
			from, to := started.Add(time.Duration(o.Invoke)), started.Add(time.Duration(max(o.Invoke, o.Complete)))
			if o.Process == report.LaneOfFaults { // a server logs a fault when it begins and ends
				moments = append(moments, span{from, from}, span{to, to})
				continue
			}
			moments = append(moments, span{from, to})
		}
		b.Moment = moments[0].from.UTC().Format("2006-01-02 15:04:05.000 UTC")
		b.Logs, err = linesAround(filepath.Join(folder, folderLogs), moments)
	}
	return b.Document(), err
}

// gravest returns the worst check and its finding with the smallest history.
func gravest(r *report.Result) (worst check.Result, best check.Evidence) {
	for _, v := range []check.Verdict{check.Violated, check.Unknown, check.Allowed} {
		for _, c := range r.Checks {
			if c.Verdict == v && c.Found > 0 && worst.Found == 0 {
				worst = c
			}
		}
	}
	size := func(e check.Evidence) int {
		if e.Smallest == nil {
			return 1 << 30
		}
		return len(e.Smallest.Operations)
	}
	for i, e := range worst.Evidence {
		if i == 0 || size(e) < size(best) {
			best = e
		}
	}
	if best.Text == "" {
		best.Text = worst.Detail
	}
	return worst, best
}

func searchSmallest(ctx context.Context, folder string, timeout time.Duration) (*check.Excerpt, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	_, found, err := reduceRun(ctx, folder, &ReproOptions{Options: histories.Options{Timeout: timeout}})
	if none := (*NothingError)(nil); errors.As(err, &none) {
		return nil, nil
	}
	if best := histories.Best(found); best != nil {
		return &best.Excerpt, err
	}
	return nil, err
}

// toldOperations reads from the history the operations that a finding names, and when the run
// started. Both are empty if there is no history.
func toldOperations(folder string, e check.Evidence) (started time.Time, all []check.Operation, err error) {
	type key struct {
		client int
		seq    uint64
	}
	var keys []key
	if client, named := e.Fields["client"]; named {
		seq, is := e.Fields["operation"]
		if !is {
			seq, is = e.Fields["seq"]
		}
		if is {
			keys = append(keys, key{int(client), uint64(seq)})
		}
	}
	for _, name := range []string{"id", "other_id", "missing_id"} {
		id, named := e.Fields[name]
		if client, seq, ok := workload.SplitOperationID(id); named && ok && strings.Contains(e.Text, fmt.Sprintf("client %d, operation %d", client, seq)) {
			keys = append(keys, key{client, seq})
		}
	}
	_, err = history.Read(filepath.Join(folder, FileHistory), history.Visitor{
		Bare:   true,
		Header: func(h history.Header) error { started = time.Unix(0, h.Started); return nil },
		Op: func(o *history.Op) error {
			if k := (key{o.Client, o.Seq}); slices.Contains(keys, k) && len(all) < mostOperationsTold {
				all = append(all, check.Operation{Name: fmt.Sprintf("operation %d", o.Seq), ID: workload.OperationID(o.Client, o.Seq), Process: int64(o.Client),
					Invoke: o.Start, Complete: o.End, Outcome: strings.TrimSpace(o.Outcome.String() + " " + o.Error), Attempt: o.Attempt})
			}
			return nil
		},
	})
	if errors.Is(err, os.ErrNotExist) {
		err = nil
	}
	return started, all, err
}

// besideFaults shows the operations and the faults nearest to them; nil if there is neither.
func besideFaults(r *report.Result, told []check.Operation) *check.Excerpt {
	var faults []check.Operation
	for _, f := range r.Faults {
		if name := strings.TrimSpace(f.Action + " " + strings.Join(f.Nodes, ", ")); !f.Skipped {
			begun := int64(f.InjectedSecond * 1e9)
			if f.CutAt != nil { // until then the nodes may still have acknowledged
				begun += int64(f.CutAt.Sub(f.InjectedAt))
			}
			faults = append(faults, check.Operation{Name: name, Process: report.LaneOfFaults,
				Invoke: begun, Complete: max(-1, int64(f.HealedSecond*1e9)), Outcome: name + " healed"})
		}
	}
	if len(told) > 0 {
		far := func(o check.Operation) int64 { return max(o.Invoke-told[0].Invoke, told[0].Invoke-o.Invoke) }
		slices.SortStableFunc(faults, func(a, b check.Operation) int { return int(far(a)/1e6 - far(b)/1e6) })
	}
	all := append(slices.Clone(told), faults[:min(len(faults), mostFaultsDrawn)]...)
	if len(all) == 0 {
		return nil
	}
	slices.SortStableFunc(all, func(a, b check.Operation) int { return int(a.Invoke/1e3 - b.Invoke/1e3) })
	return &check.Excerpt{Operations: all, Of: r.Outcomes.Total(), Clock: check.Nanoseconds}
}
