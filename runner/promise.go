package runner

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"assay/check"
	"assay/cluster"
	"assay/fault"
	"assay/report"
	"assay/store/durability"
	"assay/store/promise"
	"assay/workload/definition"
)

// enterPromise enters, of each check and of all of them, whether what was found is what
// the vendor promises not to happen. evidence is that by which the run was judged.
func enterPromise(ctx context.Context, s Scenario, r *report.Result, judged definition.Judgement, record check.Result, evidence definition.Evidence) error {
	checks := promisedChecks(r, judged, record)
	rulings := &rulings{workload: s.definition(), circumstances: circumstancesOf(r), left: checks, permitted: judged.Permitted, copies: rulingOfCopies(r.Faults), gone: rulingOfGone(r, circumstancesOf(r))}
	if losses := allowedLosses(r); losses != nil && check.Combine(checks) == check.Violated && slices.Contains(lossesJudged(), s.Workload) {
		evidence.Losses = losses
		again, err := s.Config.Judge(ctx, s.Load.Seed, evidence)
		if err != nil {
			return err
		}
		rulings.circumstances.Timed = true
		rulings.left, rulings.lost = again.Results, losses
		if again.Asked != "" {
			rulings.left = again.Promised
		}
	}
	rulings.enter(checks)
	if judged.Asked != "" {
		enterAsked(r, checks)
	}
	r.Promise = promiseOf(r, judged, checks)
	if r.Promise.Kept == nil || *r.Promise.Kept {
		r.Promise.Advice = rulings.advice
	}
	if r.Promise.Kept != nil && *r.Promise.Kept && rulings.lost != nil && rulings.lost.Operations > 0 {
		r.Promise.Detail = strings.TrimPrefix(r.Promise.Detail+"; "+rulings.lost.Text(), "; ")
	}
	return nil
}

// promisedChecks are those that say whether the promise was kept: the checks of the result
// or, where the user asked for another model, those judged against the promise.
func promisedChecks(r *report.Result, judged definition.Judgement, record check.Result) []check.Result {
	if judged.Asked != "" {
		return append(slices.Clone(judged.Promised), record)
	}
	return r.Checks
}

// rulings say of findings whether they are about something that is promised.
type rulings struct {
	workload      definition.Workload
	circumstances promise.Circumstances
	// left are the checks without what was lost as the settings allow, and lost takes
	// account of that; nil if nothing can have been.
	left []check.Result
	lost *definition.Losses
	// permitted says what the isolation level has to do with a user's rule; nil where
	// nobody knows.
	permitted func(check string, c *promise.Circumstances) (promise.Ruling, string)
	// advice is what it says to the user.
	advice string
	// copies is what is known of findings of what was restored, where copies were restored that
	// are no backups; nil where none were.
	copies *promise.Ruling
	// gone is what is known of the loss of everything.
	gone promise.Ruling
}

// enter enters them into checks that are violated.
func (x *rulings) enter(checks []check.Result) {
	for i := range checks {
		c := &checks[i]
		if c.Verdict != check.Violated {
			continue
		}
		var all []promise.Ruling
		var findings []check.Finding
		for _, f := range c.Findings {
			for _, part := range x.parts(c.Name, f) {
				all = append(all, part.ruling)
				findings = append(findings, part.Finding)
			}
		}
		if len(all) == 0 { // convicted without a finding that was counted: in doubt a promise is broken
			all = append(all, x.circumstances.Of(promise.Rules))
		}
		c.Findings, c.Promised = findings, promise.Merge(all).Promised
	}
}

// part is findings of one kind that share a ruling.
type part struct {
	check.Finding
	ruling promise.Ruling
}

func (p part) entered() part {
	p.Promised, p.Source, p.Manual = p.ruling.Promised, p.ruling.Source, p.ruling.Manual
	return p
}

// parts are the findings of a kind: those that are gone once what may be lost is left out,
// and the others.
func (x *rulings) parts(name string, f check.Finding) (all []part) {
	property := x.workload.Property(name, f.Kind)
	if f.Kind == kindEverything {
		property = promise.Durability
	}
	f.Property = string(property)
	left := min(f.Found, x.leftOf(name, f.Kind, f.Found))
	if gone := f.Found - left; gone > 0 {
		p := part{f, x.circumstances.OfLoss()}
		p.Found = gone
		all = append(all, p.entered())
	}
	if left > 0 {
		p := part{f, x.circumstances.Of(property)}
		if name == checkRestored && x.copies != nil {
			p.ruling = *x.copies
		}
		if f.Kind == kindEverything {
			p.ruling = x.gone
		}
		if p.ruling.Promised == nil && property == promise.Invariant && x.permitted != nil && x.byIsolation() {
			p.ruling, x.advice = x.permitted(name, &x.circumstances)
		}
		p.Found = left
		all = append(all, p.entered())
	}
	return all
}

// byIsolation is whether a user's rule would be promised if transactions were as one after
// the other, so that nothing but the isolation level is in question.
func (x *rulings) byIsolation() bool {
	serial := x.circumstances
	serial.Model = "serializable"
	r := serial.Of(promise.Invariant)
	return r.Promised != nil && *r.Promised
}

// leftOf is how many findings of a kind are left. Of a check that has no answer without
// what may be lost, all are.
func (x *rulings) leftOf(name, kind string, found int64) int64 {
	if x.lost == nil {
		return found
	}
	for _, c := range x.left {
		if c.Name != name || c.Verdict == check.Unknown {
			continue
		}
		for _, f := range c.Findings {
			if f.Kind == kind {
				return f.Found
			}
		}
		return 0
	}
	return found
}

// enterAsked enters into the checks of the result, which were judged against the model
// that was asked for, what those say that were judged against the promise.
func enterAsked(r *report.Result, promised []check.Result) {
	for i := range r.Checks {
		c := &r.Checks[i]
		at := slices.IndexFunc(promised, func(p check.Result) bool { return p.Name == c.Name })
		if c.Verdict != check.Violated || at < 0 {
			continue
		}
		switch p := &promised[at]; p.Verdict {
		case check.Violated:
			c.Promised = p.Promised
		case check.Valid:
			no := false
			c.Promised = &no
		}
	}
}

// promiseOf says whether the vendor's promise was kept, by checks whose findings were
// ruled about. If the tester's own record is in doubt, a kept promise is undecided.
func promiseOf(r *report.Result, judged definition.Judgement, checks []check.Result) *report.Promise {
	p := &report.Promise{Model: r.Database.Promise, Asked: judged.Asked}
	var found []promise.Ruling
	for _, c := range checks {
		if c.Verdict == check.Violated {
			found = append(found, rulingsOf(c)...)
		}
	}
	verdict := check.Combine(checks)
	kept := verdict == check.Valid
	switch verdict {
	case check.Valid:
		p.Kept = &kept
	case check.Violated:
		merged := promise.Merge(found)
		p.Source, p.Manual = merged.Source, merged.Manual
		if merged.Promised != nil {
			kept = !*merged.Promised
			p.Kept = &kept
		}
		if kept && slices.ContainsFunc(checks, func(c check.Result) bool { return c.Verdict == check.Unknown }) {
			p.Kept = nil
		}
	}
	p.Detail = undecidedOrBroken(checks, verdict)
	return p
}

// rulingsOf are what was entered of a check's findings.
func rulingsOf(c check.Result) (all []promise.Ruling) {
	for _, f := range c.Findings {
		all = append(all, promise.Ruling{Promised: f.Promised, Source: f.Source, Manual: f.Manual})
	}
	if len(all) == 0 {
		all = append(all, promise.Ruling{Promised: c.Promised})
	}
	return all
}

// undecidedOrBroken describes the checks that decide a verdict other than valid.
func undecidedOrBroken(checks []check.Result, verdict check.Verdict) string {
	var why []string
	for _, c := range checks {
		if verdict != check.Valid && c.Verdict == verdict {
			why = append(why, fmt.Sprintf("%s: %s", c.Name, c.Detail))
		}
	}
	return strings.Join(why, "; ")
}

// circumstancesOf is what decides whether a finding of this run is allowed.
func circumstancesOf(r *report.Result) promise.Circumstances {
	c := promise.Circumstances{Product: r.Database.Product, Version: r.Database.Version, Settings: settingsOf(r), Model: r.Database.Promise, Nodes: nodesOf(r), Happened: eventsOf(r)}
	for table := range r.Data.Rows {
		c.Tables = append(c.Tables, table)
	}
	return c
}

// nodesOf is how many nodes hold data, as far as it is known.
func nodesOf(r *report.Result) int {
	n := dataNodes(r)
	for _, told := range []*int{r.Database.Nodes, r.Database.Replicas} {
		if told != nil && r.Cluster == nil {
			n = max(n, *told)
		}
	}
	return n
}

// acted are the faults that took effect.
func acted(r *report.Result) []report.Fault {
	return slices.DeleteFunc(slices.Clone(r.Faults), func(f report.Fault) bool { return f.Skipped || !f.Proven })
}

func reportedAction(f *report.Fault) fault.Action { return recordedAction(f.Action) }

// recordedAction is the action that a record of a fault names, the zero Action for none.
func recordedAction(text string) fault.Action {
	name, _, _ := strings.Cut(text, "=") // a value may follow, also as a word of its own
	name, _, _ = strings.Cut(name, " ")
	action, _ := fault.Lookup(name)
	return action
}

// onNodes reports whether a fault fell on nodes, and not on servers beside them alone.
func onNodes(f *report.Fault) bool {
	return len(f.Nodes) == 0 || slices.ContainsFunc(f.Nodes, func(name string) bool { return cluster.RoleOf(name) == "" })
}

// eventsOf is what was done to the database while it worked.
func eventsOf(r *report.Result) (e promise.Events) {
	g := guaranteeOf(r)
	for _, f := range acted(r) {
		action := reportedAction(&f)
		kills := action.Kills && onNodes(&f)
		e.Killed, e.PowerCut, e.Divided = e.Killed || kills, e.PowerCut || action.CutsPower, e.Divided || action.Divides
		e.MostKilled = e.MostKilled || kills && 2*withoutProcess(r, &f, g) > nodesOf(r)
		e.Failover = e.Failover || f.TookOver()
	}
	e.Failover = e.Failover || tookOver(r)
	return e
}

// tookOver reports whether a node took over that nobody saw do so; when it did is not known.
func tookOver(r *report.Result) bool { return r.Cluster != nil && r.Cluster.TookOver != "" }

// killTakes is how long after a fault began its processes are certainly gone.
const killTakes = 500 * time.Millisecond

// allowedLosses is what takes account of the operations that may be lost at kills and
// failovers, too, as the settings allow; nil where they allow nothing, or none came.
func allowedLosses(r *report.Result) *definition.Losses {
	g := guaranteeOf(r)
	if !g.Known() {
		return nil
	}
	all := &definition.Losses{Source: g.Source, Event: "the kill or failover"}
	if cuts := lossesOf(r); cuts != nil {
		all.Cuts = cuts.Cuts
	}
	before := len(all.Cuts)
	for _, f := range acted(r) {
		all.Cuts = append(all.Cuts, lossesAt(r, &f, g)...)
	}
	if tookOver(r) && g.Failover != 0 {
		all.Cuts = append(all.Cuts, definition.PowerCut{Until: math.MaxInt64, Allowed: g.Failover})
	}
	if len(all.Cuts) == before {
		return nil
	}
	slices.SortStableFunc(all.Cuts, func(a, b definition.PowerCut) int { return int(min(max(a.At-b.At, -1), 1)) })
	return all
}

// lossesAt are the moments at which a fault of the run may have made the database lose something.
func lossesAt(r *report.Result, f *report.Fault, g durability.Guarantee) (all []definition.PowerCut) {
	nodes := nodesOf(r)
	at, healed := nanoseconds(f.InjectedSecond), int64(math.MaxInt64)
	if f.HealedSecond > f.InjectedSecond {
		healed = nanoseconds(f.HealedSecond)
	}
	if allowed := g.AllowsKilled(withoutProcess(r, f, g), nodes); reportedAction(f).Kills && onNodes(f) && allowed != 0 {
		all = append(all, definition.PowerCut{At: at, Until: min(healed, at+int64(killTakes)), Allowed: allowed})
	}
	if f.TookOver() && nodes > 1 && g.Failover != 0 { // the old one may go on until it can be reached, and is told
		all = append(all, definition.PowerCut{At: at, Until: healed + min(int64(g.Returning), math.MaxInt64-healed), Allowed: g.Failover})
	}
	return all
}

func nanoseconds(seconds float64) int64 { return int64(seconds * 1e9) }
