package measure

import (
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
}

// Rounds takes the operations of a run apart by rounds. Its memory grows with
// the number of rounds, not with their length. It is not safe for concurrent
// use.
type Rounds struct {
	rounds []*round
	// byClient has the round of each client's number.
	byClient map[int]*round
	stalls   Stalls
}

type round struct {
	RoundScope
	outcomes history.Counts
	service  *distribution
}

// NewRounds returns the figures of these rounds, which share no client, of a run with these stalls.
func NewRounds(scopes []RoundScope, stalls Stalls) *Rounds {
	r := &Rounds{byClient: map[int]*round{}, stalls: stalls}
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
		}
	}
	return one.Apart
}

// Figures returns what was added so far, round by round.
func (r *Rounds) Figures() []RoundFigures {
	var all []RoundFigures
	for _, one := range r.rounds {
		f := RoundFigures{RoundScope: one.RoundScope, Outcomes: one.outcomes, Service: one.service.withCurve()}
		if f.End > f.Start {
			f.Seconds = float64(f.End-f.Start) / 1e9
			f.PerSecond = float64(f.Outcomes.Committed) / f.Seconds
		}
		all = append(all, f)
	}
	return all
}
