package runner

import (
	"time"

	"assay/cluster"
	"assay/load"
	"assay/runner/catalog"
	"assay/workload/definition"
)

// Estimate is roughly what a run takes. It may be wrong by a factor of three, since the speed
// of the database is unknown.
type Estimate struct {
	Time time.Duration
	// Kept stays in the run's folder, in bytes. While is what the run's servers take until
	// it ends.
	Kept, While int64
	// Check is the part of Time that the check takes at the end, and Memory what it uses, in
	// bytes; 0 if unknown.
	Check  time.Duration
	Memory int64
	// Agent is what each agent keeps on its disk until its history is taken; 0 without agents.
	Agent int64
}

// Measured in the 165 runs of studies/bank.yaml and the 60 of studies/bulkupdates.yaml, on a
// machine of two processors.
const (
	assumedPerSecond  = 2000    // operations of a closed loop
	assumedLoading    = 100_000 // rows
	assumedWorked     = 100_000 // rows, in rounds
	bytesPerOperation = 40      // of history
	bytesPerRow       = 40      // of the state that was read back
	bytesPerRun       = 400 << 10
	rowOverhead       = 4 // copies of a row's bytes in indexes, pages and logs
	endingTime        = time.Second
	assumedJudged     = 500_000   // operations a second
	assumedReread     = 1_000_000 // rows a second, of the state that was read back
)

// Estimate estimates the run with this number of agents, which may be 0.
func (s Scenario) Estimate(agents int) Estimate {
	s.Plan()
	var v definition.Volume
	if sized, is := s.Config.(definition.Sized); is {
		v = sized.Volume()
	}
	e := Estimate{Time: endingTime + time.Duration(float64(v.Rows)/assumedLoading*1e9)}
	rate := s.Load.Rate
	if s.Load.Arrivals == load.Closed {
		rate = assumedPerSecond
	}
	operations := float64(s.Load.Ops)
	switch {
	case v.Worked > 0:
		e.Time += time.Duration(float64(v.Worked) / assumedWorked * 1e9)
	case s.Load.Ops > 0:
		e.Time += s.Load.Warmup + time.Duration(operations/rate*1e9)
	default:
		working := s.Load.Warmup + s.Load.Duration
		operations = rate * working.Seconds()
		e.Time += working
	}
	e.Kept = bytesPerRun + int64(operations)*bytesPerOperation + v.Rows*bytesPerRow
	if agents > 0 { // the agents' histories stay beside the merged one
		e.Kept += int64(operations) * bytesPerOperation
		e.Agent = int64(operations) * bytesPerOperation / int64(agents)
	}
	if v.JudgeRow > 0 {
		e.Check = time.Duration((operations/assumedJudged + float64(v.Rows)/assumedReread) * 1e9)
		e.Memory = int64(operations)*v.JudgeOperation + v.Rows*v.JudgeRow
		e.Time += e.Check
	}
	rows := (v.Rows + int64(operations*v.Inserts)) * v.RowBytes * rowOverhead
	spec, err := cluster.ParseSpec(s.Cluster)
	if err != nil { // there is none: an embedded database's file stays
		if driver, err := catalog.DriverFor(s.Database); s.Database == "" || err == nil && driver.Name == "sqlite" {
			e.Kept += rows
		} else {
			e.While = rows
		}
		return e
	}
	nodes := spec.Nodes + spec.Arbiters
	each := cluster.FootprintOf(spec.Product)
	e.Time += time.Duration(nodes)*each.Start + endingTime
	e.While = int64(nodes)*each.Empty + int64(spec.Nodes)*rows
	return e
}

// Plus is the estimate for e and then x this many times.
func (e Estimate) Plus(x Estimate, times int) Estimate {
	return Estimate{
		Time: e.Time + x.Time*time.Duration(times), Kept: e.Kept + x.Kept*int64(times), While: max(e.While, x.While),
		Check: max(e.Check, x.Check), Memory: max(e.Memory, x.Memory), Agent: max(e.Agent, x.Agent),
	}
}
