package measure

import (
	"cmp"
	"slices"

	"assay/history"
)

// RoundScope is the extent of one round of a run that is worked in several.
type RoundScope struct {
	Name string `json:"name"`
	// First is the number of its first client, Clients how many there are.
	First   int `json:"first"`
	Clients int `json:"clients"`
	// Start and End are nanoseconds since the start of the run; End is 0 while
	// it goes on.
	Start int64 `json:"start"`
	End   int64 `json:"end"`
	// Apart keeps it out of the run's own throughput and latency.
	Apart bool `json:"apart,omitempty"`
	// ServerSeconds is the processor time that the servers of the run's own
	// cluster used meanwhile, user and system, all processes together; 0 if it is
	// not known.
	ServerSeconds float64 `json:"server_cpu_seconds,omitempty"`
}

// RoundFigures are what a round comes to.
type RoundFigures struct {
	RoundScope
	Outcomes history.Counts
	// Seconds is the round's length, PerSecond its committed operations divided
	// by that.
	Seconds, PerSecond float64
	// Service is the time of each committed operation; in a closed loop that is
	// its response time too.
	Service Latency
	// Tasks are the first committed operations, if they were asked for, as they began: when, in
	// seconds since the round's start, and how long they took, in milliseconds.
	Tasks [][2]float64
}

// mostTasks is of how many operations of a round each one's time is kept.
const mostTasks = 2000

// Rounds takes the operations of a run apart by rounds. Its memory grows with
// the number of rounds, not with their length. It is not safe for concurrent
// use.
type Rounds struct {
	rounds []*round
	// tasks is true if the time of each operation is kept.
	tasks bool
	// byClient has the round of each client's number.
	byClient map[int]*round
	stalls   Stalls
}

type round struct {
	RoundScope
	outcomes history.Counts
	service  *distribution
	tasks    [][2]float64
}

// NewRounds returns the figures of these rounds, which share no client, of a run with these stalls;
// with the time of each operation if tasks is true.
func NewRounds(scopes []RoundScope, stalls Stalls, tasks bool) *Rounds {
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

// Add takes one attempt and reports whether it belongs to a round that is kept
// out of the run's own figures.
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

// Figures returns what was added so far, round by round.
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
