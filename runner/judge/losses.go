package judge

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"assay/check"
	"assay/cluster"
	"assay/fault"
	"assay/report"
	"assay/store/durability"
	"assay/store/promise"
	"assay/workload/definition"
)

// guaranteeOf is the database's promise for its reported settings.
func guaranteeOf(r *report.Result) durability.Guarantee {
	return durability.Of(r.Database.Product, settingsOf(r))
}

func settingsOf(r *report.Result) (settings []durability.Setting) {
	for _, s := range r.Database.Settings {
		settings = append(settings, durability.Setting(s))
	}
	return settings
}

// EnterDurability enters what an acknowledgement is worth, and whether that was tried.
func EnterDurability(r *report.Result) {
	g := guaranteeOf(r)
	if !g.Known() {
		r.Durability = nil
		return
	}
	r.Durability = &report.Durability{
		Class: g.Text(), Window: milliseconds(g.AllNodes), OneNode: milliseconds(g.OneNode), Source: g.Source, Manual: durability.Cite(g.Manual, r.Database.Product, r.Database.Version, settingsOf(r)),
		Tried: len(powerCuts(r)) > 0,
	}
}

// enterTried enters that durability was tried if something acknowledged is lost, for any reason.
func enterTried(r *report.Result) {
	lost := func(c check.Result) bool {
		return slices.ContainsFunc(c.Findings, func(f check.Finding) bool { return promise.Property(f.Property).Loss() })
	}
	if r.Durability != nil && slices.ContainsFunc(r.Checks, lost) {
		r.Durability.Tried = true
	}
}

// milliseconds is nil for a time without a bound.
func milliseconds(d time.Duration) *float64 {
	if d < 0 {
		return nil
	}
	ms := float64(d.Microseconds()) / 1000
	return &ms
}

func powerCuts(r *report.Result) (all []report.Fault) {
	for _, f := range r.Faults {
		if fault.Recorded(f.Action).CutsPower && f.CutAt != nil && f.Proven {
			all = append(all, f)
		}
	}
	slices.SortFunc(all, func(a, b report.Fault) int { return a.CutAt.Compare(*b.CutAt) })
	return all
}

// withoutPower counts the nodes without power at a cut. Nodes without a process count too if that
// loses data.
func withoutPower(r *report.Result, now *report.Fault, g durability.Guarantee) int {
	return down(r, *now.CutAt, *now.CutAt, g.AllNodes, func(f *report.Fault) ([]string, time.Time) {
		if fault.Recorded(f.Action).CutsPower || g.AllKilled != 0 {
			return withoutOrder(f)
		}
		return nil, time.Time{}
	})
}

func withoutProcess(r *report.Result, now *report.Fault, g durability.Guarantee) int {
	at, until := now.InjectedAt, now.InjectedAt.Add(promise.KillTakes)
	if now.KilledAt != nil {
		if at, until = *now.KilledAt, now.KilledAt.Add(promise.KillTakes); now.HealedAt.After(until) {
			until = now.HealedAt // more of them may be killed, one after the other
		}
	}
	return down(r, at, until, g.AllKilled, withoutOrder)
}

// withoutOrder are the nodes whose processes a fault ended otherwise than in order, and since when. Of
// a fault that ends them in order, they are those that had to be killed. Results of earlier versions do
// not name these; it may have been all.
func withoutOrder(f *report.Fault) ([]string, time.Time) {
	about := fault.Recorded(f.Action)
	switch {
	case about.Kills || about.CutsPower:
		return f.Nodes, began(f)
	case f.KilledAt == nil:
		return nil, time.Time{}
	case len(f.Killed) == 0:
		return f.Nodes, *f.KilledAt
	}
	return f.Killed, *f.KilledAt
}

func began(f *report.Fault) time.Time {
	if f.CutAt != nil {
		return *f.CutAt
	}
	return f.InjectedAt
}

// away counts the nodes that were away at a fault if a node had returned without its data. Such a
// node counts as away until it has all data, and so do nodes under any other fault. It is 0 if no
// node had returned so.
func away(r *report.Result, now *report.Fault) int {
	count := func(of func(fault.Action) bool) int {
		return down(r, now.InjectedAt, now.InjectedAt.Add(promise.KillTakes), 0, func(f *report.Fault) ([]string, time.Time) {
			if of(fault.Recorded(f.Action)) {
				return f.Nodes, began(f)
			}
			return nil, time.Time{}
		})
	}
	if fault.Recorded(now.Action).BacksUp || count(func(a fault.Action) bool { return a.Empties }) == 0 {
		return 0
	}
	return count(func(a fault.Action) bool { return !a.BacksUp })
}

// down counts the nodes that faults had ended, each those that ended returns since the moment that it
// returns, at some time between from and to. It also counts nodes that ended within window before, whose
// acknowledged data may not have been elsewhere yet. Arbiters and servers beside the nodes hold nothing.
func down(r *report.Result, from, to time.Time, window time.Duration, ended func(*report.Fault) ([]string, time.Time)) int {
	var nodes []string
	for _, f := range acted(r) {
		gone, since := ended(&f)
		still := f.HealedSecond == 0 || f.HealedAt.After(from.Add(-window))
		if !since.After(to) && (window < 0 || still) {
			nodes = append(nodes, gone...)
		}
	}
	nodes = slices.DeleteFunc(nodes, func(name string) bool {
		return cluster.RoleOf(name) != "" || r.Cluster != nil &&
			slices.ContainsFunc(r.Cluster.Nodes, func(n report.ClusterNode) bool { return n.Name == name && n.Arbiter })
	})
	slices.Sort(nodes)
	return len(slices.Compact(nodes))
}

func dataNodes(r *report.Result) (n int) {
	if r.Cluster == nil {
		return 1
	}
	for _, node := range r.Cluster.Nodes {
		if !node.Arbiter {
			n++
		}
	}
	return n
}

// enterLosses enters what was lost at the run's events, if the database was read. It enters that
// nothing was lost only if a power was cut and every check that finds losses has an answer.
func (c Case) enterLosses(r *report.Result, l *definition.Losses) {
	if c.NotRead != "" || l.Operations == 0 && (len(powerCuts(r)) == 0 || c.lossesOpen(r.Checks)) {
		return
	}
	r.Lost = &report.Lost{Operations: l.Operations, Beyond: l.Beyond, Text: l.Text()}
	if l.Operations > l.Untimed {
		r.Lost.Newest, r.Lost.Oldest = milliseconds(l.Newest), milliseconds(l.Oldest)
	}
}

// lossesOpen reports whether a check without an answer could have found that something acknowledged
// is lost. Checks that are not the workload's could: they are about what was recorded and read.
func (c Case) lossesOpen(checks []check.Result) bool {
	return slices.ContainsFunc(checks, func(r check.Result) bool {
		if r.Verdict != check.Unknown {
			return false
		}
		at := slices.IndexFunc(c.Workload.Checks, func(of definition.Check) bool { return of.Name == r.Name })
		if at < 0 {
			return true
		}
		of := &c.Workload.Checks[at]
		return of.Tests == promise.Durability || slices.Contains(slices.Collect(maps.Values(of.Kinds)), promise.Durability)
	})
}

// kindEverything is the finding that nothing is left of a run after faults on assay's own servers.
const kindEverything = "acknowledged operations lost"

// lostByFaults reports whether faults may have made the database lose its data: they ended its
// processes, in order or not, or cut the power, and damaged no files.
func lostByFaults(r *report.Result) bool {
	all := acted(r)
	has := func(is func(report.Fault) bool) bool { return slices.ContainsFunc(all, is) }
	return has(func(f report.Fault) bool {
		a := fault.Recorded(f.Action)
		return (kills(&f) || a.Ends || a.CutsPower || a.Divides || f.TookOver()) && onNodes(f.Nodes)
	}) && !has(func(f report.Fault) bool { return fault.Recorded(f.Action).FailsDisk })
}

// enterGone replaces the checks by the loss of everything, if faults
// caused that. what is empty if not everything is gone.
func enterGone(r *report.Result, judged *definition.Judgement, what string) {
	if what == "" || r.Outcomes.Committed == 0 || !lostByFaults(r) {
		return
	}
	l := cmp.Or(allowedLosses(r), &definition.Losses{Source: cmp.Or(guaranteeOf(r).Source, r.Database.Product)})
	text := l.Everything(r.Outcomes.Committed)
	r.Lost = &report.Lost{Operations: l.Operations, Beyond: l.Beyond, Text: text}
	found := check.Result{Name: report.CheckDurability, Verdict: check.Violated, Detail: what + "; " + text, Found: l.Operations,
		Findings: []check.Finding{{Kind: kindEverything, Found: l.Operations}}}
	for _, c := range judged.Results {
		r.NotApplicable = append(r.NotApplicable, check.NotApplicable{Name: c.Name, Reason: "nothing is left of the run to be judged"})
	}
	judged.Results = []check.Result{found}
	if judged.Asked != "" {
		judged.Promised = judged.Results
	}
}

func rulingOfGone(r *report.Result, c promise.Circumstances) promise.Ruling {
	if r.Lost != nil && r.Lost.Beyond == 0 {
		return c.OfLoss()
	}
	c.Timed = true // no operation can have been acknowledged at another time
	return c.Of(promise.Durability)
}
