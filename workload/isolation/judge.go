package isolation

import (
	"cmp"
	"context"
	"slices"

	"assay/check"
	"assay/check/cycle"
	"assay/history"
	"assay/workload/definition"
)

// Judgement is the judgement of a run.
type Judgement struct {
	// Results are "isolation" and "durability" for lists and registers, "predicate" for groups,
	// and "pairs".
	Results []check.Result
	// Report is check/cycle's; nil for a run without lists and registers.
	Report *cycle.Report
	// Smallest are the smallest parts of the history that show Report's findings.
	Smallest []cycle.Smallest
	// Model is what the run was judged against.
	Model cycle.Model
	// Tally.Unknown includes operations without a record, if an element of theirs was read.
	Tally history.Counts
}

// Judge judges a run by its files alone. When ctx ends, the search ends and the rest is unknown.
// A missing or cut state leaves the durability unknown. Malformed files give a
// *history.FormatError, an unknown model a *cycle.ModelError.
//
// It reads the history twice and keeps a cycle.History and some eight bytes per element of the
// state.
func Judge(ctx context.Context, config Config, seed uint64, e definition.Evidence) (Judgement, error) {
	model, err := cycle.ParseModel(cmp.Or(config.Model, e.Promise))
	if err != nil {
		return Judgement{}, err
	}
	j := newJudge(NewTransactions(config, seed), model, e)
	if err := j.read(); err != nil {
		return Judgement{}, err
	}
	out := Judgement{Model: model, Tally: j.tally}
	if config.does("append", "register") {
		result, err := out.checkCycles(ctx, j, config.Rewrite)
		if err != nil {
			return Judgement{}, err
		}
		out.Results = append(out.Results, result, j.durability.result())
	}
	if config.does("predicate") {
		out.Results = append(out.Results, j.phantoms.result(model))
	}
	if config.does("pairs") {
		out.Results = append(out.Results, j.skews.result(model))
	}
	return out, nil
}

// checkCycles judges the history by the model, and reports gone reads apart from the rest.
func (out *Judgement) checkCycles(ctx context.Context, j *judge, rewrites bool) (check.Result, error) {
	report, smallest := checkCycles(ctx, j.cycle.History(), out.Model, rewrites)
	var gone []check.Evidence
	if report.Verdict == check.Violated && !rewrites {
		apart, err := withoutGoneReads(j.transactions, out.Model, j.evidence)
		if err != nil {
			return check.Result{}, err
		}
		if gone = apart.goneReads.found; len(gone) > 0 {
			report, smallest = checkCycles(ctx, apart.cycle.History(), out.Model, rewrites)
		}
	}
	if err := j.addStatements(smallest); err != nil {
		return check.Result{}, err
	}
	out.Report, out.Smallest = &report, smallest
	result := report.Result()
	for _, e := range gone {
		result.Add(e)
	}
	return result, nil
}

// checkCycles judges a history. If the tester rewrote lists, only lost updates count.
func checkCycles(ctx context.Context, h *cycle.History, model cycle.Model, rewrites bool) (cycle.Report, []cycle.Smallest) {
	report := cycle.Check(ctx, h, model, cycle.Options{})
	if rewrites {
		report = onlyLostUpdates(report)
	}
	if report.Verdict != check.Violated {
		return report, nil
	}
	ctx, cancel := context.WithTimeout(ctx, cycle.SmallestTime)
	defer cancel()
	smallest := cycle.FindSmallest(ctx, h, cycle.Options{}, &report, check.Nanoseconds)
	report.Attach(smallest)
	return report, smallest
}

const (
	lostUpdate      = "lost-update"
	ownWriteNotSeen = "own-write-not-seen"
)

// onlyLostUpdates reduces the report of a run whose appends rewrote lists. A lost update takes
// elements away that others have read. That looks like dirty writes and incompatible orders,
// which only true appends would prove. What remains are lost updates, transactions that miss
// their own writes, and the weakest models that forbid these.
func onlyLostUpdates(r cycle.Report) cycle.Report {
	if r.Verdict != check.Violated {
		return r
	}
	named := len(r.Anomalies)
	var kept []cycle.Evidence
	for _, e := range r.Evidence[:named] {
		if e.Anomaly == lostUpdate || e.Anomaly == ownWriteNotSeen {
			kept = append(kept, e)
		}
	}
	if len(kept) == 0 {
		r.Verdict, r.Reason = check.Unknown, "appends were made by rewriting lists, and what was found does not show how"
		r.Anomalies, r.Evidence, r.Findings, r.Not, r.AlsoNot = nil, r.Evidence[named:], nil, nil, nil
		return r
	}
	r.Not = []cycle.Model{cycle.CursorStability, cycle.UpdateAtomic}
	r.Anomalies = nil
	for _, e := range kept {
		if r.Anomalies = append(r.Anomalies, e.Anomaly); e.Anomaly == ownWriteNotSeen {
			r.Not = []cycle.Model{cycle.ReadUncommitted}
		}
	}
	slices.Sort(r.Anomalies)
	r.Evidence = append(kept, r.Evidence[named:]...)
	r.Findings, r.AlsoNot = nil, nil
	return r
}

// forbidsSkew reports whether a model forbids write skew over two rows (G2-item).
func forbidsSkew(model cycle.Model) bool {
	return model.Includes(cycle.RepeatableRead) || model.Includes(cycle.UpdateSerializable)
}

// forbidsPhantoms reports whether a model forbids different counts of a group in one
// transaction: a cycle with one anti-dependency by a predicate (G-single). Adya's repeatable
// read (PL-2.99), which concerns items alone, and parallel snapshot isolation allow it.
func forbidsPhantoms(model cycle.Model) bool {
	return model == cycle.ConsistentView || model.Includes(cycle.ForwardConsistentView) || model == cycle.SnapshotReads
}

// forbidsForks reports whether a model orders snapshots, but nothing more: of two transactions,
// one finds in every group at least the rows that the other finds.
func forbidsForks(model cycle.Model) bool {
	return model == cycle.SnapshotReads || model.Includes(cycle.SnapshotIsolation) && !serializable(model)
}

// forbidsLostUpdates reports whether a rewritten list must be the list that was read.
func forbidsLostUpdates(model cycle.Model) bool {
	return model.Includes(cycle.CursorStability) || model.Includes(cycle.UpdateAtomic)
}

func serializable(model cycle.Model) bool { return model.Includes(cycle.Serializable) }

// AllowsLostUpdates reports whether a model lets two transactions read a list and both rewrite
// it, losing an append. An unknown model gives a *cycle.ModelError.
func AllowsLostUpdates(promise string) (bool, error) {
	model, err := cycle.ParseModel(promise)
	return err == nil && !forbidsLostUpdates(model), err
}
