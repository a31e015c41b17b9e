package judge

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"assay/check"
	"assay/cluster"
	"assay/fault"
	"assay/report"
	"assay/store/durability"
	"assay/store/promise"
	"assay/workload/definition"
)

// enterPromise gives each check its verdict by the vendor's promise for its findings, and enters
// whether the whole promise was kept.
func (c Case) enterPromise(ctx context.Context, r *report.Result, judged definition.Judgement, record check.Result) error {
	r.Checks = againstPromise(r, judged, record)
	x := &rulings{workload: c.Workload, circumstances: circumstancesOf(r), doubtful: ifAllActed(r), permitted: judged.Permitted, unproven: judged.Unproven, copies: rulingOfCopies(r.Faults), gone: rulingOfGone(r, circumstancesOf(r))}
	if losses := allowedLosses(r); losses != nil && r.Lost == nil && c.Workload.Losses {
		if check.Combine(r.Checks) == check.Violated {
			evidence := c.Evidence
			evidence.Losses = losses
			again, err := c.Rules.Judge(ctx, c.Seed, evidence)
			if err != nil {
				return err
			}
			x.circumstances.Timed = true
			x.left, x.lost = againstPromise(r, again, record), losses
		}
		c.enterLosses(r, losses)
	}
	if r.Seeded == "" {
		x.enter(r.Checks)
	}
	r.Promise = promiseOf(r, judged.Asked)
	if kept := r.Promise.Kept; kept != nil && *kept && len(judged.Promised) > 0 && check.Combine(judged.Promised) == check.Unknown {
		r.Promise.Kept, r.Promise.Detail = nil, "the checks by what the vendor promises have no answer"
	}
	if v := check.Combine(r.Checks); v == check.Allowed || v == check.Unknown {
		r.Promise.Advice = x.advice
	}
	return nil
}

// againstPromise are the checks by the vendor's promise. If the user asked for another model, the
// check by that model stays unless the promise is broken. A miss of only that model is allowed.
func againstPromise(r *report.Result, judged definition.Judgement, record check.Result) []check.Result {
	checks := append(slices.Clone(judged.Results), record)
	if judged.Asked == "" {
		return checks
	}
	for i := range checks {
		at := slices.IndexFunc(judged.Promised, func(p check.Result) bool { return p.Name == checks[i].Name })
		unknown := at < 0 || judged.Promised[at].Verdict == check.Unknown
		switch missed := checks[i].Verdict == check.Violated; {
		case at >= 0 && judged.Promised[at].Verdict == check.Violated:
			if checks[i] = judged.Promised[at]; !missed {
				checks[i].Detail += "; " + judged.Asked + " was asked for, and not broken"
			}
		case missed && !unknown:
			checks[i].Verdict = check.Allowed
			for n := range checks[i].Findings {
				no, f := false, &checks[i].Findings[n]
				f.Promised, f.Source = &no, fmt.Sprintf("%s, which the vendor promises where %s was asked for,", r.Database.Promise, judged.Asked)
			}
		case missed:
			why := "it is not known what the vendor promises"
			if at >= 0 {
				why = "the check by what the vendor promises has no answer"
			}
			for n := range checks[i].Findings {
				checks[i].Findings[n].Source = judged.Asked + " was asked for, and " + why
			}
		}
	}
	return checks
}

type rulings struct {
	workload      definition.Workload
	circumstances promise.Circumstances
	// doubtful are the circumstances if faults acted that nobody saw take effect; nil without such.
	doubtful *promise.Circumstances
	// left are the checks without losses that the settings allow, which lost accounts for; nil
	// if there were none.
	left []check.Result
	lost *definition.Losses
	// permitted says whether the isolation level allows breaking a user's rule; nil if unknown.
	permitted func(check string, c *promise.Circumstances) (promise.Ruling, string)
	advice    string
	// copies rules on what was restored from copies that are no backups; nil if none were.
	copies *promise.Ruling
	// gone rules on the loss of everything. unproven is Judgement.Unproven.
	gone     promise.Ruling
	unproven string
}

// enter gives the checks with findings their rulings and verdict: violated for a broken promise,
// otherwise unknown if a ruling is, otherwise allowed.
func (x *rulings) enter(checks []check.Result) {
	for i := range checks {
		c := &checks[i]
		if c.Verdict != check.Violated && c.Verdict != check.Allowed {
			continue
		}
		var findings []check.Finding
		for _, f := range c.Findings {
			findings = append(findings, x.parts(c.Name, f)...)
		}
		merged := promise.Merge(rulingsOf(findings))
		if len(findings) == 0 { // no counted finding: in doubt, a promise is broken
			merged = x.circumstances.Of(promise.Rules)
		}
		c.Findings, c.Promised = findings, merged.Promised
		switch {
		case merged.Promised == nil:
			c.Verdict = check.Unknown
		case *merged.Promised:
			c.Verdict = check.Violated
		default:
			c.Verdict = check.Allowed
		}
		x.describe(c)
	}
}

// describe names the settings and the page for findings that are allowed or not known.
func (x *rulings) describe(c *check.Result) {
	if x.lost != nil && x.lost.Operations > 0 && slices.ContainsFunc(c.Findings, func(f check.Finding) bool { return promise.Property(f.Property).Loss() }) {
		c.Detail += "; " + x.lost.Text()
	}
	for _, f := range c.Findings {
		if f.Source != "" {
			c.Detail += "; " + f.Ruled()
		}
	}
}

// parts splits the findings of a kind into allowed losses and others.
func (x *rulings) parts(name string, f check.Finding) (all []check.Finding) {
	property := x.workload.Property(name, f.Kind)
	if f.Kind == kindEverything {
		property = promise.Durability
	}
	f.Property = string(property)
	part := func(found int64, r promise.Ruling) {
		if p := f; found > 0 {
			p.Found, p.Promised, p.Source, p.Manual = found, r.Promised, r.Source, r.Manual
			all = append(all, p)
		}
	}
	left := min(f.Found, x.leftOf(name, f))
	part(f.Found-left, x.circumstances.OfLoss())
	part(left, x.of(name, property, f))
	return all
}

// of rules on findings about a property.
func (x *rulings) of(name string, property promise.Property, f check.Finding) promise.Ruling {
	switch {
	case x.unproven != "":
		return promise.Ruling{Source: x.unproven}
	case f.Source != "" && f.Promised == nil: // another model was asked for
		return promise.Ruling{Source: f.Source}
	case f.Promised != nil: // the check itself does not rule it out
		r := x.circumstances.OfLevel(property)
		r.Source = cmp.Or(f.Source, r.Source)
		return r
	case f.Kind == kindEverything:
		return x.gone
	case name == checkRestored && x.copies != nil:
		return *x.copies
	}
	r := x.circumstances.Of(property)
	if x.doubtful != nil && r.Promised != nil && *r.Promised {
		if d := x.doubtful.Of(property); d.Promised == nil || !*d.Promised {
			return promise.Ruling{Source: "a fault was not seen to take effect, and may have; " + d.Source, Manual: d.Manual}
		}
	}
	if broken := r.Promised != nil && *r.Promised; !broken && property == promise.Invariant && x.permitted != nil && x.byIsolation() {
		r, x.advice = x.permitted(name, &x.circumstances)
	}
	return r
}

// byIsolation reports whether serializable transactions would promise a user's rule, so that only
// the isolation level is in question.
func (x *rulings) byIsolation() bool {
	serial := x.circumstances
	serial.Model = "serializable"
	r := serial.Of(promise.Invariant)
	return r.Promised != nil && *r.Promised
}

// leftOf counts the findings of a kind without allowed losses. If the check then has no answer, all
// are left.
func (x *rulings) leftOf(name string, f check.Finding) int64 {
	if x.lost == nil {
		return f.Found
	}
	for _, c := range x.left {
		if c.Name != name || c.Verdict == check.Unknown {
			continue
		}
		for _, left := range c.Findings {
			if left.Kind == f.Kind && (left.Promised == nil) == (f.Promised == nil) {
				return left.Found
			}
		}
		return 0
	}
	return f.Found
}

// promiseOf says whether the vendor's promise was kept, by ruled checks. Seeded bugs say nothing
// about a vendor.
func promiseOf(r *report.Result, asked string) *report.Promise {
	p := &report.Promise{Model: r.Database.Promise, Asked: asked}
	verdict := check.Combine(r.Checks)
	kept := verdict == check.Valid || verdict == check.Allowed
	if kept || verdict == check.Violated {
		p.Kept = &kept
	}
	var found []check.Finding
	var why []string
	for _, c := range r.Checks {
		if c.Verdict == verdict && verdict != check.Valid {
			found = append(found, c.Findings...)
			why = append(why, c.Name+": "+c.Detail)
		}
	}
	if kept && asked != "" && p.Model == "" {
		p.Kept, why = nil, []string{"which model the vendor promises is not known"}
	}
	if r.Seeded != "" {
		p.Kept, p.Source = nil, "bugs were seeded on purpose ("+r.Seeded+")"
	} else if verdict != check.Violated && len(found) > 0 {
		merged := promise.Merge(rulingsOf(found))
		p.Source, p.Manual = merged.Source, merged.Manual
	}
	p.Detail = strings.Join(why, "; ")
	return p
}

func rulingsOf(findings []check.Finding) (all []promise.Ruling) {
	for _, f := range findings {
		all = append(all, promise.Ruling{Promised: f.Promised, Source: f.Source, Manual: f.Manual})
	}
	return all
}

// circumstancesOf is what decides whether findings of this run are allowed.
func circumstancesOf(r *report.Result) promise.Circumstances {
	c := promise.Circumstances{Product: r.Database.Product, Version: r.Database.Version, Settings: settingsOf(r), Model: r.Database.Promise, Nodes: nodesOf(r), Happened: eventsOf(r)}
	for table := range r.Data.Rows {
		c.Tables = append(c.Tables, table)
	}
	return c
}

// ifAllActed are the circumstances if all faults had been seen to take effect; nil if they were.
func ifAllActed(r *report.Result) *promise.Circumstances {
	all := *r
	all.Faults = slices.Clone(r.Faults)
	for i := range all.Faults {
		all.Faults[i].Proven = true
	}
	if len(acted(&all)) == len(acted(r)) {
		return nil
	}
	c := circumstancesOf(&all)
	return &c
}

func nodesOf(r *report.Result) int {
	n := dataNodes(r)
	for _, told := range []*int{r.Database.Nodes, r.Database.Replicas} {
		if told != nil && r.Cluster == nil {
			n = max(n, *told)
		}
	}
	return n
}

// acted are the faults that were seen to take effect, at least by a server that was killed for one.
func acted(r *report.Result) []report.Fault {
	return slices.DeleteFunc(slices.Clone(r.Faults), func(f report.Fault) bool { return f.Skipped || !f.Proven && f.KilledAt == nil })
}

// onNodes reports whether there are nodes among what a fault hit, not only servers beside them.
func onNodes(hit []string) bool {
	return len(hit) == 0 || slices.ContainsFunc(hit, func(name string) bool { return cluster.RoleOf(name) == "" })
}

func eventsOf(r *report.Result) (e promise.Events) {
	g := guaranteeOf(r)
	for _, f := range acted(r) {
		e = e.With(faultOf(r, &f, g), g, nodesOf(r))
	}
	e.Failover = e.Failover || tookOver(r)
	return e
}

// kills reports whether a fault killed processes, be it since they did not end in order in time.
func kills(f *report.Fault) bool { return fault.Recorded(f.Action).Kills || f.KilledAt != nil }

// faultOf is what decides about losses by a fault.
func faultOf(r *report.Result, f *report.Fault, g durability.Guarantee) promise.Fault {
	about := fault.Recorded(f.Action)
	killed, _ := withoutOrder(f)
	of := promise.Fault{At: nanoseconds(f.InjectedSecond), Healed: nanoseconds(f.HealedSecond), Kills: kills(f) && onNodes(killed), Ends: about.Ends && onNodes(f.Nodes), CutsPower: about.CutsPower,
		Divides: about.Divides, StandsStill: about.StandsStill, HitPrimary: slices.Contains(f.Nodes, f.Primary), TookOver: f.TookOver(),
		NoProcess: withoutProcess(r, f, g), Away: away(r, f)}
	if f.KilledAt != nil {
		of.KilledAt = int64(f.KilledAt.Sub(r.Started))
	}
	if f.CutAt != nil {
		of.CutAt, of.NoPower = int64(f.CutAt.Sub(r.Started)), withoutPower(r, f, g)
	}
	return of
}

// tookOver reports whether a node took over unseen, at an unknown time.
func tookOver(r *report.Result) bool { return r.Cluster != nil && r.Cluster.TookOver != "" }

// allowedLosses accounts for operations lost at power cuts, and at kills and failovers that lose
// something by the settings; nil if there were none.
func allowedLosses(r *report.Result) *definition.Losses {
	g := guaranteeOf(r)
	all := &definition.Losses{Source: cmp.Or(g.Source, r.Database.Product)}
	for _, f := range acted(r) {
		all.Cuts = append(all.Cuts, faultOf(r, &f, g).Moments(g, nodesOf(r))...)
	}
	if tookOver(r) && g.Failover != 0 {
		all.Cuts = append(all.Cuts, promise.Moment{Until: math.MaxInt64, Allowed: g.Failover})
	}
	switch {
	case len(all.Cuts) == 0:
		return nil
	case len(all.Cuts) > len(powerCuts(r)):
		all.Event = "the kill or failover"
		if slices.ContainsFunc(acted(r), func(f report.Fault) bool { return fault.Recorded(f.Action).Empties }) {
			all.Event = "the replacement, kill or failover"
		}
	}
	slices.SortStableFunc(all.Cuts, func(a, b promise.Moment) int { return cmp.Compare(a.At, b.At) })
	return all
}

func nanoseconds(seconds float64) int64 { return int64(seconds * 1e9) }
