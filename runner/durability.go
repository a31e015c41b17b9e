package runner

import (
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

// enterDurability enters what an acknowledgement is worth, and whether that was tried.
func enterDurability(r *report.Result) {
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

// cutsPower reports whether nodes are to lose their power, and with it all rows, maybe:
// on servers of the run's own, which nobody else empties.
func (s Scenario) cutsPower() bool {
	faults, err := s.faults() // checked before the run
	return err == nil && slices.ContainsFunc(faults, func(f fault.Fault) bool {
		a, _ := fault.Lookup(f.Action)
		return a.CutsPower
	})
}

// powerCuts are the faults of the run by which nodes lost their power.
func powerCuts(r *report.Result) (all []report.Fault) {
	for _, f := range r.Faults {
		if reportedAction(&f).CutsPower && f.CutAt != nil && f.Proven {
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
	return down(r, now.InjectedAt, now.InjectedAt.Add(killTakes), g.AllKilled, func(a fault.Action) bool { return a.CutsPower || a.Kills })
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
		if ends(reportedAction(&f)) && !began.After(to) && (window < 0 || still) {
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
