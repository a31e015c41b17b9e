package judge

import (
	"cmp"
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

// guaranteeOf is what the database promises by the settings that it has reported.
func guaranteeOf(r *report.Result) durability.Guarantee {
	return durability.Of(r.Database.Product, settingsOf(r))
}

// settingsOf are those that the database has reported.
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
		Class: g.Text(), Window: milliseconds(g.AllNodes), OneNode: milliseconds(g.OneNode), Source: g.Source, Manual: durability.Cite(g.Manual, r.Database.Product, r.Database.Version),
		Tried: len(powerCuts(r)) > 0,
	}
}

// enterTried enters that durability was tried where something that was acknowledged is lost,
// whatever did that.
func enterTried(r *report.Result) {
	lost := func(c check.Result) bool {
		return slices.ContainsFunc(c.Findings, func(f check.Finding) bool { return f.Property == string(promise.Durability) })
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

// powerCuts are the faults of the run by which nodes lost their power.
func powerCuts(r *report.Result) (all []report.Fault) {
	for _, f := range r.Faults {
		if fault.Recorded(f.Action).CutsPower && f.CutAt != nil && f.Proven {
			all = append(all, f)
		}
	}
	slices.SortFunc(all, func(a, b report.Fault) int { return a.CutAt.Compare(*b.CutAt) })
	return all
}

// withoutPower counts the nodes that had no power when one more cut came, and with them those
// without a process, if that loses as much.
func withoutPower(r *report.Result, now *report.Fault, g durability.Guarantee) int {
	return down(r, *now.CutAt, *now.CutAt, g.AllNodes, func(a fault.Action) bool { return a.CutsPower || a.Kills && g.AllKilled != 0 })
}

// withoutProcess counts the nodes whose servers were ended when one more kill came.
func withoutProcess(r *report.Result, now *report.Fault, g durability.Guarantee) int {
	return down(r, now.InjectedAt, now.InjectedAt.Add(promise.KillTakes), g.AllKilled, func(a fault.Action) bool { return a.CutsPower || a.Kills })
}

// away counts the nodes that were away when one more fault came, since a node had come without
// its data and did not have all of it yet: it counts as away until then, like those that faults of
// any other kind had in their hands. It is 0 where none had come so.
func away(r *report.Result, now *report.Fault) int {
	count := func(of func(fault.Action) bool) int {
		return down(r, now.InjectedAt, now.InjectedAt.Add(promise.KillTakes), 0, of)
	}
	if fault.Recorded(now.Action).BacksUp || count(func(a fault.Action) bool { return a.Empties }) == 0 {
		return 0
	}
	return count(func(a fault.Action) bool { return !a.BacksUp })
}

// down counts the nodes that faults of a kind had ended at some time between two, or so short
// before that what they had acknowledged may not have been elsewhere yet. Arbiters and servers
// beside the nodes hold nothing.
func down(r *report.Result, from, to time.Time, window time.Duration, ends func(fault.Action) bool) int {
	var nodes []string
	for _, f := range acted(r) {
		began := f.InjectedAt
		if f.CutAt != nil {
			began = *f.CutAt
		}
		still := f.HealedSecond == 0 || f.HealedAt.After(from.Add(-window))
		if ends(fault.Recorded(f.Action)) && !began.After(to) && (window < 0 || still) {
			nodes = append(nodes, f.Nodes...)
		}
	}
	nodes = slices.DeleteFunc(nodes, func(name string) bool {
		return cluster.RoleOf(name) != "" || r.Cluster != nil &&
			slices.ContainsFunc(r.Cluster.Nodes, func(n report.ClusterNode) bool { return n.Name == name && n.Arbiter })
	})
	slices.Sort(nodes)
	return len(slices.Compact(nodes))
}

// dataNodes is how many nodes of the cluster hold data.
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

// enterLosses enters what was lost at the run's events, if the database was read.
func enterLosses(r *report.Result, l *definition.Losses, read bool) {
	if !read || l.Operations == 0 && len(powerCuts(r)) == 0 {
		return
	}
	r.Lost = &report.Lost{Operations: l.Operations, Beyond: l.Beyond, Text: l.Text()}
	if l.Operations > l.Untimed {
		r.Lost.Newest, r.Lost.Oldest = milliseconds(l.Newest), milliseconds(l.Oldest)
	}
}

// kindEverything is the kind of the finding of a run of which nothing is left, after a fault of
// assay's on servers of assay's.
const kindEverything = "acknowledged operations lost"

// lostByFaults reports whether faults of the run may have made the database lose what it had:
// what acted ended its processes or cut its power, and nothing damaged its files.
func lostByFaults(r *report.Result) bool {
	all := acted(r)
	has := func(is func(report.Fault) bool) bool { return slices.ContainsFunc(all, is) }
	return has(func(f report.Fault) bool {
		a := fault.Recorded(f.Action)
		return (a.Kills || a.CutsPower || a.Divides || f.TookOver()) && onNodes(&f)
	}) && !has(func(f report.Fault) bool { return fault.Recorded(f.Action).FailsDisk })
}

// enterGone enters that all that was acknowledged is lost, in place of checks that have
// nothing to look at, if faults did that. what is empty where not everything is gone.
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

// rulingOfGone is what is known of the loss of everything.
func rulingOfGone(r *report.Result, c promise.Circumstances) promise.Ruling {
	if r.Lost != nil && r.Lost.Beyond == 0 {
		return c.OfLoss()
	}
	c.Timed = true // there is nothing that may have been acknowledged at another time
	return c.Of(promise.Durability)
}
