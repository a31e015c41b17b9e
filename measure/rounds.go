package measure

import (
	"cmp"
	"slices"

	"assay/history"
)

// RoundScope is the extent of one round of a run.
type RoundScope struct {
	Name    string `json:"name"`
	First   int    `json:"first"`
	Clients int    `json:"clients"`
	// Start and End are nanoseconds since the start of the run; End is 0 while the round lasts.
	Start int64 `json:"start"`
	End   int64 `json:"end"`
	// Apart excludes it from the run's own throughput and latency.
	Apart bool `json:"apart,omitempty"`
	// ServerSeconds is the processor time of the run's own cluster during the round, user and
	// system, all processes together; 0 if unknown.
	ServerSeconds float64 `json:"server_cpu_seconds,omitempty"`
}

// RoundFigures are the figures of a round.
type RoundFigures struct {
	RoundScope
	Outcomes           history.Counts
	Seconds, PerSecond float64
	// Service is the service time of committed operations, in a closed loop also their response
	// time.
	Service Latency
	// Tasks are the first committed operations, if asked for, in the order of their starts:
	// seconds since the round's start, and the time taken in milliseconds.
	Tasks [][2]float64
}

const mostTasks = 2000

// Rounds computes the figures of each round. Its memory grows with the number of rounds, not with
// their length. It is not safe for concurrent use.
type Rounds struct {
	rounds []*round
	tasks  bool
	// byClient has the round of each client's number.
	byClient map[int]*round
	stalls   Standstill
}

type round struct {
	RoundScope
	outcomes history.Counts
	service  *distribution
	tasks    [][2]float64
}

// NewRounds returns the figures of these rounds, which share no client, of a run with these stalls.
// tasks asks for RoundFigures.Tasks.
func NewRounds(scopes []RoundScope, stalls Standstill, tasks bool) *Rounds {
	r := &Rounds{byClient: map[int]*round{}, stalls: stalls, tasks: tasks}
	for _, s := range scopes {
		one := &round{RoundScope: s, service: newDistribution(fine)}
		r.rounds = append(r.rounds, one)
		for n := range s.Clients {
			r.byClient[s.First+n] = one
		}
	}
	return r
}

// Add takes an attempt and reports whether its round is Apart.
func (r *Rounds) Add(op *history.Op) (apart bool) {
	one := r.byClient[op.Client]
	if one == nil {
		return false
	}
	if op.Last {
		one.outcomes.Add(op.Final, 1)
		if op.Final == history.Committed && !r.stalls.Distort(op) {
			one.service.record(op.ServiceTime())
			if r.tasks && len(one.tasks) < mostTasks {
				one.tasks = append(one.tasks, [2]float64{float64(op.First-one.Start) / 1e9, float64(op.ServiceTime()) / 1e6})
			}
		}
	}
	return one.Apart
}

// Figures returns the figures so far, round by round.
func (r *Rounds) Figures() []RoundFigures {
	var all []RoundFigures
	for _, one := range r.rounds {
		slices.SortFunc(one.tasks, func(a, b [2]float64) int { return cmp.Compare(a[0], b[0]) })
		f := RoundFigures{RoundScope: one.RoundScope, Outcomes: one.outcomes, Service: one.service.withCurve(), Tasks: one.tasks}
		if f.End > f.Start {
			f.Seconds = float64(f.End-f.Start) / 1e9
			f.PerSecond = float64(f.Outcomes.Committed) / f.Seconds
		}
		all = append(all, f)
	}
	return all
}
