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

// Judgement is what the traces of one run say.
type Judgement struct {
	// Results are, by what the run did: "isolation" and "durability" for lists
	// and registers, "predicate" for groups, "pairs" for pairs.
	Results []check.Result
	// Report is all that check/cycle found; nil for a run without lists and
	// registers.
	Report *cycle.Report
	// Smallest are the smallest parts of the history that show what Report found.
	Smallest []cycle.Smallest
	// Model is what the run was judged against.
	Model cycle.Model
	// Tally counts the operations by what they ended as. Unknown ones may be more
	// than the history has: those without a record of which an element was read.
	Tally history.Counts
}

// Judge judges a run by its files alone, so that it can be done again at any
// time. When ctx ends, the search ends, and what was not found by then is
// unknown. A missing or cut state leaves the durability unknown; files that
// are malformed give a *history.FormatError, a model that does not exist a
// *cycle.ModelError.
//
// It reads the history twice and keeps it in memory as cycle.History says,
// with about eight bytes more for each element that was read back.
func Judge(ctx context.Context, config Config, seed uint64, e definition.Evidence) (Judgement, error) {
	model, err := cycle.ParseModel(cmp.Or(config.Model, e.Promise))
	if err != nil {
		return Judgement{}, err
	}
	transactions, err := NewTransactions(config, seed)
	if err != nil {
		return Judgement{}, err
	}
	j := newJudge(transactions, model, e)
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

// checkCycles holds the history against the model. If something contradicts it, reads of what
// transactions without an answer had shown, and is gone, are told apart from the rest.
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

// checkCycles holds the history against the model. Where the tester rewrote what
// others appended, only lost updates count.
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

// onlyLostUpdates is what may be concluded of a run whose appends read a list
// and wrote the whole of it. An update that is lost there takes elements away
// from a list that others have read, and then looks like dirty writes and
// incompatible orders, which a true append would prove and a rewrite does not.
// So nothing is concluded but the lost updates themselves, and that a transaction does not
// see what it wrote; and of models only the weakest that forbid these are ruled out.
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

// What a model forbids of the rules that are judged here and not by check/cycle.

// forbidsSkew reports whether model forbids write skew over two rows (G2-item).
func forbidsSkew(model cycle.Model) bool {
	return model.Includes(cycle.RepeatableRead) || model.Includes(cycle.UpdateSerializable)
}

// forbidsPhantoms reports whether model forbids a transaction to count a group
// twice with different results: a cycle with one anti-dependency, by a
// predicate (G-single). Adya's repeatable read (PL-2.99) speaks of items only
// and allows it, and so does parallel snapshot isolation.
func forbidsPhantoms(model cycle.Model) bool {
	return model == cycle.ConsistentView || model.Includes(cycle.ForwardConsistentView) || model == cycle.SnapshotReads
}

// forbidsForks reports whether under model the snapshots of transactions come one after
// the other, and no more than that: of two transactions, one finds in every group at
// least what the other finds there.
func forbidsForks(model cycle.Model) bool {
	return model == cycle.SnapshotReads || model.Includes(cycle.SnapshotIsolation) && !serializable(model)
}

// forbidsLostUpdates reports whether under model a transaction that reads a list and
// writes it back overwrites nothing that it did not read.
func forbidsLostUpdates(model cycle.Model) bool {
	return model.Includes(cycle.CursorStability) || model.Includes(cycle.UpdateAtomic)
}

func serializable(model cycle.Model) bool { return model.Includes(cycle.Serializable) }

// AllowsLostUpdates reports whether a database that promises this model may let
// two transactions read a list and both write it back, so that what one of
// them appended is lost. It returns a *cycle.ModelError for what is not the
// name of a model.
func AllowsLostUpdates(promise string) (bool, error) {
	model, err := cycle.ParseModel(promise)
	return err == nil && !forbidsLostUpdates(model), err
}
