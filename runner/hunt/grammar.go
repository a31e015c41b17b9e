package hunt

import (
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"assay/cluster"
	"assay/fault"
	"assay/runner/catalog"
	"assay/store"
	"assay/workload/definition"
)

// Space is what plans are drawn from.
type Space struct {
	// Specs are the clusters, with the same servers and other options.
	Specs     []cluster.Spec
	Workloads []string
	// Faults are the faults that the cluster allows (fault.Possible).
	Faults []fault.Fault
	Levels []store.Level
	// Options are parameters of the address, each a list of alternatives.
	Options [][]string
	Longest time.Duration
	// Led says that the cluster has a primary, which can change. With Apart, only Failover
	// draws plans that are long enough for a change.
	Led, Apart bool
	// Lines are patterns of log lines that a fault may wait for.
	Lines []string
}

func oneOf[T any](r *rand.Rand, all ...T) T { return all[r.IntN(len(all))] }

func chance(r *rand.Rand, percent int) bool { return r.IntN(100) < percent }

const (
	mostFaults = 5
	// mostWait is how long a failover may take with the products' timeouts.
	mostWait = 2 * time.Minute
)

// Draw draws a plan that the cluster can run.
func (s *Space) Draw(r *rand.Rand) Plan {
	return s.valid(r, func() Plan {
		p := Plan{Workload: oneOf(r, s.Workloads...), Duration: s.length(r)}
		s.drawLoad(r, &p)
		for range oneOf(r, 0, 0, 1, 1, 1, 2, 2, 3) {
			s.addFault(r, &p)
		}
		return p
	})
}

// valid makes plans until one can run, since parts of a plan may not fit together.
func (s *Space) valid(r *rand.Rand, make func() Plan) (p Plan) {
	for range 100 {
		p = make()
		if _, err := p.check(s.on(p)); err == nil {
			return p
		}
	}
	p.Faults = nil
	return p
}

func (s *Space) on(p Plan) cluster.Spec {
	spec, _ := p.alternative(s.Specs)
	return spec
}

// length is mostly short, for more runs. Some runs are as long as a failover takes.
func (s *Space) length(r *rand.Rand) time.Duration {
	d := time.Duration(oneOf(r, 3, 5, 5, 5, 10, 10, 10, 20, 20, 70)) * time.Second
	switch {
	case d < time.Minute || !s.Led:
	case s.Apart:
		d = leastWait
	case chance(r, 50):
		d = mostWait
	}
	return min(d, s.Longest)
}

func (s *Space) drawLoad(r *rand.Rand, p *Plan) {
	w, _ := catalog.WorkloadOf(p.Workload)
	p.Seed, p.Clients, p.Rate, p.Flags = r.Uint64N(1_000_000_000), oneOf(r, 2, 4, 8, 8, 16, 32), 0, map[string]string{}
	if w.Load != nil && w.Load().Rate > 0 {
		p.Clients, p.Rate = oneOf(r, 20, 50, 100), oneOf(r, 20.0, 50, 100)
	}
	s.drawSettings(r, p)
	for _, f := range w.Config().Flags() {
		switch {
		case f.Name == w.Keys && chance(r, 60):
			p.Flags[f.Name] = strconv.Itoa(max(oneOf(r, 4, 10, 20, 100, 1000), int(f.Min)))
		case chance(r, 15):
			// A value that ends with a colon needs something behind it.
			whole := slices.DeleteFunc(slices.Clone(f.Values), func(v string) bool { return strings.HasSuffix(v, ":") })
			if len(whole) > 0 {
				p.Flags[f.Name] = oneOf(r, whole...)
			}
		}
	}
}

func (s *Space) drawOptions(r *rand.Rand, p *Plan) {
	p.Options = nil
	for _, alternatives := range s.Options {
		if o := oneOf(r, alternatives...); o != "" {
			p.Options = append(p.Options, o)
		}
	}
}

func (s *Space) drawSettings(r *rand.Rand, p *Plan) {
	s.drawOptions(r, p)
	p.Isolation = ""
	if len(s.Levels) > 0 && chance(r, 75) {
		level := s.Levels[len(s.Levels)-1] // the strongest level
		if chance(r, 50) {
			level = oneOf(r, s.Levels...)
		}
		p.Isolation, p.Options = level.Isolation, append(p.Options, level.Options...)
	}
}

// addFault adds a fault. Each kind is equally likely, regardless of its number of targets, but
// kinds that take nodes away count twice. If the nodes have disks of their own, half of all
// faults need them: a loss by a power cut takes a second fault of the disk.
func (s *Space) addFault(r *rand.Rand, p *Plan) {
	if len(s.Faults) == 0 || len(p.Faults) >= mostFaults {
		return
	}
	all := kinds(s.Faults)
	all = append(all, slices.DeleteFunc(slices.Clone(all), func(action string) bool { return !takesAway(action) })...)
	if disk := s.ofDisk(); len(disk) > 0 && chance(r, 50) {
		all = disk
	}
	f := target(r, s.Faults, oneOf(r, all...))
	s.drawTimes(r, &f, p)
	p.Faults = append(p.Faults, f.String())
}

func kinds(of []fault.Fault) (all []string) {
	for _, f := range of {
		if !slices.Contains(all, f.Action) {
			all = append(all, f.Action)
		}
	}
	return all
}

// ofDisk are the kinds that need a disk that only they use.
func (s *Space) ofDisk() []string {
	without := s.Specs[0]
	without.Disk = ""
	return slices.DeleteFunc(kinds(s.Faults), func(action string) bool {
		return fault.WithMeans(without, []fault.Fault{{Action: action}}).Disk == ""
	})
}

// target chooses a fault of this kind. One node, the primary, several and all are equally
// likely, regardless of their number of names.
func target(r *rand.Rand, of []fault.Fault, action string) fault.Fault {
	var scopes []string
	within := map[string][]fault.Fault{}
	for _, f := range of {
		if f.Action != action {
			continue
		}
		scope := f.Scope()
		if within[scope] == nil {
			scopes = append(scopes, scope)
		}
		within[scope] = append(within[scope], f)
	}
	return oneOf(r, within[oneOf(r, scopes...)]...)
}

func (s *Space) drawTimes(r *rand.Rand, f *fault.Fault, p *Plan) {
	f.At, f.Every, f.When = -1, 0, ""
	longest := p.Duration * 9 / 10
	switch n := r.IntN(100); {
	case n < 20:
		f.Every = between(r, 300*time.Millisecond, p.Duration/2)
		longest = f.Every
	case n < 40 && len(p.Faults) > 0:
		f.When, f.At = s.event(r), 0
		if chance(r, 50) {
			f.At = between(r, time.Millisecond, p.Duration/4)
		}
	case n < 60 && len(p.Faults) > 0:
		f.At = during(r, oneOf(r, p.Faults...), p.Duration)
	default:
		f.At = round(time.Duration(r.Int64N(int64(p.Duration * 8 / 10))))
	}
	drawLength(r, f, longest)
}

func during(r *rand.Rand, other string, length time.Duration) time.Duration {
	f, _ := fault.Parse(other)
	first := f.Explicit(length)
	at, lasts := first.At, max(first.For, time.Second)
	if first.Every > 0 {
		at = first.Every
	}
	return min(round(max(at, 0)+time.Duration(r.Int64N(int64(min(lasts, length))))), length*9/10)
}

// drawLength draws how long a fault lasts, perhaps to the end. Milliseconds are as likely as
// seconds, since races need them.
func drawLength(r *rand.Rand, f *fault.Fault, longest time.Duration) {
	if about, _ := fault.Lookup(f.Action); !about.Lasts {
		return
	}
	switch n := r.IntN(100); {
	case n < 40:
		f.For = between(r, 5*time.Millisecond, longest)
	case n < 75 || f.Every > 0:
		f.For = between(r, longest/8, longest)
	default:
		f.For = round(longest)
	}
}

func (s *Space) event(r *rand.Rand) string {
	all := []string{"any leaves", "any rejoins"}
	if s.Led {
		all = append(all, "new primary", "new primary", "no primary")
	}
	for _, m := range s.Specs[0].Members() {
		all = append(all, m.Name+" rejoins")
	}
	if len(s.Lines) > 0 && chance(r, 50) {
		return "any logs=" + oneOf(r, s.Lines...)
	}
	return oneOf(r, all...)
}

// between is a time between two times. Each order of magnitude is equally likely.
func between(r *rand.Rand, least, most time.Duration) time.Duration {
	if most <= least {
		return least
	}
	return max(round(time.Duration(float64(least)*math.Pow(float64(most)/float64(least), r.Float64()))), least)
}

// round keeps two digits, so that a plan is easy to read.
func round(d time.Duration) time.Duration {
	unit := time.Millisecond
	for d >= 100*unit {
		unit *= 10
	}
	return d.Round(unit)
}

// Vary makes a plan that differs from p in a few things; with may give its faults.
func (s *Space) Vary(r *rand.Rand, p, with Plan) Plan {
	return s.valid(r, func() Plan {
		next := p.clone()
		for range oneOf(r, 1, 1, 2, 3) {
			s.change(r, &next, with)
		}
		if chance(r, 50) || string(next.Text()) == string(p.Text()) {
			next.Seed = r.Uint64N(1_000_000_000)
		}
		return next
	})
}

func (s *Space) change(r *rand.Rand, p *Plan, with Plan) {
	i := 0
	if len(p.Faults) > 0 {
		i = r.IntN(len(p.Faults))
	}
	switch n := r.IntN(100); {
	case n < 20:
		s.drawLoad(r, p)
	case n < 35:
		s.drawSettings(r, p)
	case n < 45:
		p.Duration = s.length(r)
	case n < 52 && len(with.Faults) > 0 && len(p.Faults) < mostFaults:
		p.Faults = append(p.Faults, oneOf(r, with.Faults...))
	case n < 62 || len(p.Faults) == 0:
		s.addFault(r, p)
	case n < 75:
		p.Faults = slices.Delete(p.Faults, i, i+1)
	default:
		f, _ := fault.Parse(p.Faults[i])
		switch m := r.IntN(3); {
		case m == 0 && slices.Contains(kinds(s.Faults), f.Action):
			f.Target = target(r, s.Faults, f.Action).Target
		case m == 1:
			s.drawTimes(r, &f, p)
		default:
			drawLength(r, &f, p.Duration*9/10)
		}
		p.Faults[i] = f.String()
	}
}

// keysOf is the flag for the number of keys, with its smallest value.
func keysOf(p Plan) (f definition.Flag, has bool) {
	w, err := catalog.WorkloadOf(p.Workload)
	if err != nil || w.Keys == "" {
		return f, false
	}
	return definition.Lookup(w.Config(), w.Keys)
}
