package figures

import (
	"fmt"
	"strings"

	"assay/check"
	"assay/cluster"
	"assay/measure"
	"assay/measure/servers"
	"assay/report"
	"assay/runner/record"
)

// onFaultyDisks reports whether assay itself serves the cluster's disks.
func onFaultyDisks(c *report.Cluster) bool {
	if c == nil {
		return false
	}
	spec, err := cluster.ParseSpec(c.Spec)
	return err == nil && spec.OwnDisks()
}

func (a Asked) enterValidity(r *report.Result, figures measure.Figures, impacts []measure.Impact, faults *record.Log) {
	limits := a.limits()
	v := measure.Judge(figures, measure.Conditions{
		OpenLoop: r.Load.Loop == "open", Unserved: r.Load.Unserved,
		OwnLagP50Millis: r.Client.OwnLag.P50, OwnLagP99Millis: r.Client.OwnLag.P99,
		CPUShare: r.Client.CPUShare, Embedded: r.Database.Embedded, Impacts: impacts,
		AllStarted: allStarted(r.Load), CPUs: r.Client.CPUs, Clients: clientsAtOnce(r),
		SchedulerP99Millis: r.Client.SchedulerP99, Runnable: r.Client.Runnable, OtherWork: otherWork(r.Machine),
	}, limits)
	r.Client.OwnLagShareP50, r.Client.OwnLagShareP99 = nil, nil
	if own := v.OwnShares; own != nil {
		r.Client.OwnLagShareP50, r.Client.OwnLagShareP99 = &own.P50, &own.P99
	}
	undone := append(faults.Unproven(), unprovenLoading(&r.Loading)...)
	v.Refuse(undone...)
	r.Unanswered = nil
	if cut := figures.Scope.CutText(); cut != "" {
		r.Unanswered = append(r.Unanswered, cut)
	}
	r.Unanswered = append(r.Unanswered, undone...)
	if onFaultyDisks(r.Cluster) {
		v.Refuse("the nodes' disks are a file system of assay's own (cluster option disk), whose speed is no disk's")
	}
	if hung := r.Client.Hung; hung > 0 {
		v.Refuse(fmt.Sprintf("clients hung: %s never came back from the last operation", check.Count(hung)))
	}
	r.Measurement = report.Measurement{Verdict: string(v.Grade), Reasons: v.Reasons}
	r.Notes = append(r.Notes, v.Notes...)
	r.Steadiness = nil
	if !limits.NoSteadyState {
		r.Steadiness = &v.Steadiness
	}
	if v.Steadiness.State == measure.Steady {
		r.Notes = append(r.Notes, "steady state: "+v.Steadiness.Text)
	}
}

func clientsAtOnce(r *report.Result) int {
	n := r.Load.Clients
	if len(r.Rounds) > 0 {
		n = 0
	}
	for _, round := range r.Rounds {
		n = max(n, round.Clients)
	}
	return n
}

// allStarted is when the last client starts, in nanoseconds (see load.Plan).
func allStarted(l report.Load) int64 {
	if l.RampPerSecond <= 0 {
		return 0
	}
	return int64(float64(l.Clients-1) / l.RampPerSecond * 1e9)
}

func (a Asked) limits() measure.Limits {
	l := measure.DefaultLimits()
	if a.OtherWork > 0 {
		l.MaxOthers = a.OtherWork / 100
	}
	if limit := a.Workload.Limit; limit != nil {
		limit(&l)
	}
	return l
}

func otherWork(m *report.Machine) measure.OtherWork {
	if m == nil {
		return measure.OtherWork{}
	}
	const named = 3
	var busiest []string
	for _, p := range m.Processes[:min(len(m.Processes), named)] {
		busiest = append(busiest, fmt.Sprintf("%s %.0f %%", p.Name, 100*p.Share))
	}
	return measure.OtherWork{Others: m.Others, Steal: m.Steal, Perhaps: m.Perhaps, Unseen: m.Unseen, Busiest: strings.Join(busiest, ", ")}
}

func unprovenLoading(l *report.Loading) (reasons []string) {
	for i := range l.Faults {
		f := &l.Faults[i]
		switch name := f.Action + " " + f.Target + " while loading"; {
		case f.Skipped:
			reasons = append(reasons, "a fault did nothing: "+name+": "+f.Problem)
		case !f.Proven:
			reasons = append(reasons, fmt.Sprintf("a fault did nothing: %s, at %.1f s of it, is not proven to have taken effect", name, f.InjectedSecond))
		case f.HealedAt.IsZero():
			reasons = append(reasons, fmt.Sprintf("a fault was not healed: %s, at %.1f s of it: %s", name, f.InjectedSecond, f.Problem))
		case f.Away:
			reasons = append(reasons, fmt.Sprintf("a node was not seen to be back after a fault: %s, at %.1f s of it: %s", name, f.InjectedSecond, f.Problem))
		}
	}
	return reasons
}

// EnterServers enters the observations of the servers. An unreadable file loses only this part.
func EnterServers(path string, r *report.Result) {
	r.Servers = nil
	record, err := servers.Read(path)
	if err != nil {
		r.Notes = append(r.Notes, fmt.Sprintf("what the servers were doing is not known: %v", err))
		return
	}
	if record == nil {
		return // of an earlier version, or it was not asked for
	}
	c := servers.Conditions{
		From: r.Series.MeasureStart, To: r.Series.MeasureEnd, OpenLoop: r.Load.Loop == "open", Unserved: r.Load.Unserved,
		Clients: clientsAtOnce(r), TesterShare: r.Client.CPUShare, TesterCPUs: r.Client.CPUs,
	}
	if r.Database.Embedded {
		c.Embedded = r.Database.Product
	}
	if m := r.Machine; m != nil {
		c.Machine = &servers.Machine{CPUs: m.CPUs, Tester: m.Tester, Servers: m.Servers + m.Perhaps, Others: m.Others + m.Unseen, Steal: m.Steal}
	}
	for _, f := range r.Faults {
		if f.Skipped {
			continue
		}
		until := f.HealedSecond
		if until == 0 {
			until = c.To
		}
		c.Faults = append(c.Faults, [2]float64{f.InjectedSecond, max(until, f.InjectedSecond+f.RecoveredAfter/1000)})
	}
	summary := servers.Summarize(record, c)
	r.Servers = &summary
}
