package hunt

import (
	"math/rand/v2"
	"slices"
	"time"

	"assay/fault"
)

// Failover draws a plan as long as its kind of fault needs (see FailoverWait), in which the primary
// is away for most of the time, perhaps with other faults.
func (s *Space) Failover(r *rand.Rand, wait *FailoverWait) Plan {
	away := s.away(wait)
	if len(away) == 0 {
		return s.Draw(r)
	}
	return s.valid(r, func() Plan {
		f := target(r, away, oneOf(r, kinds(away)...))
		p := Plan{Workload: oneOf(r, s.Workloads...), Duration: min(wait.of(f.Action), s.Longest)}
		s.drawLoad(r, &p)
		f.At, f.For = between(r, p.Duration/100, p.Duration/8), round(p.Duration*3/4)
		p.Faults = []string{f.String()}
		for range oneOf(r, 0, 0, 1, 2) {
			s.addFault(r, &p)
		}
		return p
	})
}

// away are the faults that take the primary away, but kinds after which no other node ever took
// writes.
func (s *Space) away(wait *FailoverWait) []fault.Fault {
	return slices.DeleteFunc(slices.Clone(s.Faults), func(f fault.Fault) bool {
		return !f.AimsAtPrimary() || !takesAway(f.Action) || wait.of(f.Action) < 0
	})
}

func takesAway(action string) bool {
	about, _ := fault.Lookup(action)
	return about.TakesAway()
}

// Undisturbed draws a plan without faults at the strongest level, of the n-th workload in turn. Races
// need many transactions, so it is among the longer ones, with many clients.
func (s *Space) Undisturbed(r *rand.Rand, n int) Plan {
	return s.valid(r, func() Plan {
		p := Plan{Workload: s.Workloads[n%len(s.Workloads)], Duration: min(20*time.Second, s.Longest)}
		s.drawLoad(r, &p)
		if len(s.Levels) > 0 {
			strongest := s.Levels[len(s.Levels)-1]
			s.drawOptions(r, &p)
			p.Isolation, p.Options = strongest.Isolation, append(p.Options, strongest.Options...)
		}
		if p.Rate == 0 {
			p.Clients = oneOf(r, 8, 16, 16, 32)
		}
		return p
	})
}

// Overlap draws a plan in which nodes go away again and again while another kind of fault, which
// takes none away, acts for most of the time: what is half done then is what a recovery has to
// mend. The n-th plan has the n-th pair of kinds, in an order by seed that begins with pairs that
// need the nodes' own disks. So pairs are all tried before one is repeated.
func (s *Space) Overlap(r *rand.Rand, seed uint64, n int) Plan {
	pairs := s.pairs(seed)
	if len(pairs) == 0 {
		return s.Draw(r)
	}
	pair := pairs[n%len(pairs)]
	return s.valid(r, func() Plan {
		p := Plan{Workload: oneOf(r, s.Workloads...), Duration: min(time.Duration(oneOf(r, 10, 20, 20))*time.Second, s.Longest)}
		s.drawLoad(r, &p)
		under, away := target(r, s.Faults, pair[0]), target(r, s.Faults, pair[1])
		under.At, under.For = between(r, p.Duration/100, p.Duration/8), round(p.Duration*3/4)
		away.At, away.Every = -1, between(r, p.Duration/8, p.Duration/3)
		drawLength(r, &away, away.Every/2)
		p.Faults = []string{under.String(), away.String()}
		return p
	})
}

// pairs are a kind that lasts and takes no node away, and one that does, or ends servers.
func (s *Space) pairs(seed uint64) (all [][2]string) {
	disk := s.ofDisk()
	var own [][2]string
	for _, under := range kinds(s.Faults) {
		if about, _ := fault.Lookup(under); !about.Lasts || takesAway(under) {
			continue
		}
		for _, away := range kinds(s.Faults) {
			if !takesAway(away) {
				continue
			}
			if pair := [2]string{under, away}; slices.Contains(disk, under) && slices.Contains(disk, away) {
				own = append(own, pair)
			} else {
				all = append(all, pair)
			}
		}
	}
	r := rand.New(rand.NewPCG(seed, 0))
	for _, some := range [][][2]string{own, all} {
		r.Shuffle(len(some), func(i, j int) { some[i], some[j] = some[j], some[i] })
	}
	return append(own, all...)
}
