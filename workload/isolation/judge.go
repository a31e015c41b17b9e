package isolation

import (
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

// Evidence names the files that a run is judged by.
type Evidence = definition.Evidence

// Judge judges a run by its files alone, so that it can be done again at any
// time. When ctx ends, the search ends, and what was not found by then is
// unknown. A missing or cut state leaves the durability unknown; files that
// are malformed give a *history.FormatError, a model that does not exist a
// *cycle.ModelError.
//
// It reads the history twice and keeps it in memory as cycle.History says,
// with about eight bytes more for each element that was read back.
func Judge(ctx context.Context, config Config, seed uint64, e Evidence) (Judgement, error) {
	name := config.Model
	if name == "" {
		name = e.Promise
	}
	model, err := cycle.ParseModel(name)
	if err != nil {
		return Judgement{}, err
	}
	transactions, err := NewTransactions(config, seed)
	if err != nil {
		return Judgement{}, err
	}
	b := newBooks(transactions, model, e)
	if err := b.read(); err != nil {
		return Judgement{}, err
	}
	j := Judgement{Model: model, Tally: b.tally}
	if has(config.Test, "append", "register") {
		report, smallest := checkCycles(ctx, b.cycle.History(), model, config.Rewrite)
		j.Report, j.Smallest = &report, smallest
		j.Results = append(j.Results, report.Result(), b.kept.result())
	}
	if has(config.Test, "predicate") {
		j.Results = append(j.Results, b.groups.result(model))
	}
	if has(config.Test, "pairs") {
		j.Results = append(j.Results, b.pairs.result(model))
	}
	return j, nil
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
	smallest := cycle.FindSmallest(ctx, h, cycle.Options{}, &report)
	report.Attach(smallest, check.Nanoseconds)
	return report, smallest
}

// has says whether a run of this test does one of these.
func has(test string, which ...string) bool {
	for _, w := range which {
		if test == w || test == "all" {
			return true
		}
	}
	return false
}

func newBooks(t *Transactions, model cycle.Model, e Evidence) *books {
	b := &books{
		transactions: t, evidence: e, clients: map[int]*progress{}, missing: map[int64]int64{},
		rewritten: t.config.Rewrite && !forbidsLostUpdates(model),
	}
	b.kept = durability{model: model, state: &b.state, forgiven: b.rewritten, losses: e.Losses}
	return b
}

// read goes through the files.
func (b *books) read() error {
	if err := b.readState(); err != nil {
		return err
	}
	_, err := history.Read(b.evidence.History, history.Visitor{Op: b.progress, Reservation: b.reserve})
	if err != nil {
		return err
	}
	_, err = history.Read(b.evidence.History, history.Visitor{Op: b.op})
	if err != nil {
		return err
	}
	if err := b.addState(); err != nil {
		return err
	}
	return b.addMissing()
}

func (b *books) readState() error {
	why, err := history.WhyMissing(Replay(b.evidence.State, b.state.list, b.state.register))
	if why != "" {
		b.state = state{missing: why}
	} else {
		b.state.inFlight = b.evidence.InFlight
	}
	b.state.sort()
	return err
}

const lostUpdate = "lost-update"

// onlyLostUpdates is what may be concluded of a run whose appends read a list
// and wrote the whole of it. An update that is lost there takes elements away
// from a list that others have read, and then looks like dirty writes and
// incompatible orders, which a true append would prove and a rewrite does not.
// So nothing is concluded but the lost updates themselves, and of models only
// the weakest that forbid them are ruled out.
func onlyLostUpdates(r cycle.Report) cycle.Report {
	if r.Verdict != check.Violated {
		return r
	}
	named := len(r.Anomalies)
	i := slices.IndexFunc(r.Evidence, func(e cycle.Evidence) bool { return e.Anomaly == lostUpdate })
	if i < 0 || i >= named {
		r.Verdict, r.Reason = check.Unknown, "appends were made by rewriting lists, and what was found does not show how"
		r.Anomalies, r.Evidence, r.Findings, r.Not, r.AlsoNot = nil, r.Evidence[named:], nil, nil, nil
		return r
	}
	r.Anomalies = []string{lostUpdate}
	r.Evidence = append([]cycle.Evidence{r.Evidence[i]}, r.Evidence[named:]...)
	r.Findings, r.AlsoNot = nil, nil
	r.Not = []cycle.Model{cycle.CursorStability, cycle.UpdateAtomic}
	return r
}

// What a model says of the rules that are judged here and not by check/cycle.
// The three agree with its lattice, which a test sees to.

// forbidsSkew says that model forbids write skew over two rows (G2-item).
func forbidsSkew(model cycle.Model) bool {
	return model == cycle.RepeatableRead || model == cycle.UpdateSerializable || serializable(model)
}

// forbidsPhantoms says that model forbids a transaction to count a group
// twice with different results: a cycle with one anti-dependency, by a
// predicate (G-single). Adya's repeatable read (PL-2.99) speaks of items only
// and allows it.
func forbidsPhantoms(model cycle.Model) bool {
	return serializable(model) || slices.Contains([]cycle.Model{
		cycle.ConsistentView, cycle.ForwardConsistentView, cycle.UpdateSerializable,
		cycle.SnapshotIsolation, cycle.SessionSnapshotIsolation, cycle.StrongSnapshotIsolation,
	}, model)
}

// forbidsForks says that under model the snapshots of transactions come one after the
// other, and no more than that: of two transactions, one finds in every group at
// least what the other finds there.
func forbidsForks(model cycle.Model) bool {
	return slices.Contains([]cycle.Model{cycle.SnapshotIsolation, cycle.SessionSnapshotIsolation, cycle.StrongSnapshotIsolation}, model)
}

// forbidsLostUpdates says that under model a transaction that reads a list and
// writes it back overwrites nothing that it did not read.
func forbidsLostUpdates(model cycle.Model) bool {
	return forbidsPhantoms(model) || slices.Contains([]cycle.Model{
		cycle.CursorStability, cycle.RepeatableRead, cycle.UpdateAtomic, cycle.ParallelSnapshotIsolation,
	}, model)
}

func serializable(model cycle.Model) bool {
	return slices.Contains([]cycle.Model{cycle.Serializable, cycle.SessionSerializable, cycle.StrictSerializable}, model)
}

// AllowsLostUpdates says whether a database that promises this model may let
// two transactions read a list and both write it back, so that what one of
// them appended is lost. It returns a *cycle.ModelError for what is not the
// name of a model.
func AllowsLostUpdates(promise string) (bool, error) {
	model, err := cycle.ParseModel(promise)
	if err != nil {
		return false, err
	}
	return !forbidsLostUpdates(model), nil
}
