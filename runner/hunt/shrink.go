package hunt

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strconv"
	"time"

	"assay/check"
	"assay/fault"
	"assay/report"
)

const (
	leastDuration = time.Second
	leastLength   = 10 * time.Millisecond
	leastTime     = 100 * time.Millisecond
)

func (h *Hunt) finish(ctx context.Context) error {
	for i := 0; i < len(h.Findings); i++ { // shrinking may find more
		if h.Findings[i].Shrunk || h.o.ShrinkFor == 0 || ctx.Err() != nil {
			continue
		}
		if err := errors.Join(h.reduce(ctx, i), h.end()); err != nil {
			return err
		}
		h.last = time.Now()
	}
	return nil
}

// reduction is the shrinking of one finding.
type reduction struct {
	*Hunt
	number int // of the finding
	began  time.Time
	// problem is why what a run met could not be kept; nil if it could.
	problem error
	// found are the keys of what the last run showed; decided says that it could show something.
	found   []string
	decided bool
}

// of is the finding. Another one that a run meets moves it.
func (r *reduction) of() *Finding { return &r.Findings[r.number] }

// reduce shrinks a finding, and estimates its probability on new clusters. What its runs show besides,
// if it breaks a promise, is a finding of its own.
func (h *Hunt) reduce(ctx context.Context, number int) error {
	r := &reduction{Hunt: h, number: number, began: time.Now()}
	// Two thirds of the time are for shrinking, the rest for the probability.
	more := func() bool { return ctx.Err() == nil && time.Since(r.began) < h.o.ShrinkFor*2/3 }
	tries, again := 1, false
	for !again && tries < 4 && more() { // a finding that is not shown each time is missed by one try
		tries, again = tries+1, r.shows(ctx, h.ground.Try, r.of().Plan)
	}
	if again {
		p := h.space.shrink(r.of().Plan, func(p Plan) bool {
			for range tries {
				if more() && r.shows(ctx, h.ground.Try, p) {
					h.o.Tell("smaller: " + report.CommandLine(p.Words(h.space.on(p))))
					return true
				}
			}
			return false
		}, more)
		r.of().Plan = p
	}
	r.of().Command = h.command(r.of().Plan)
	r.confirm(ctx)
	r.of().Shrunk = ctx.Err() == nil
	h.o.Tell(r.of().probability())
	return r.problem
}

// shows reports whether a run of the plan shows the finding.
func (r *reduction) shows(ctx context.Context, try func(context.Context, Plan, string) Trial, p Plan) bool {
	f := r.of()
	f.Tries++
	folder := r.runFolder(fmt.Sprintf("shrink-%03d-%d", r.number+1, f.Tries))
	_ = os.RemoveAll(folder) // which an assay that was killed has left
	t := try(ctx, p, folder)
	all := r.hitsOf(t)
	i := slices.IndexFunc(all, f.is)
	if i >= 0 {
		f.Key = all[i].key
	}
	r.found = nil
	besides := false
	for _, hit := range all {
		r.found = append(r.found, hit.key)
		besides = besides || hit.verdict == check.Violated && !slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.is(hit) })
	}
	if besides {
		r.judge(p, t, folder)
		r.problem = errors.Join(r.problem, r.save())
	} else {
		_ = os.RemoveAll(folder)
	}
	r.decided = i >= 0 || t.Result != nil && (t.Result.Verdict != check.Unknown || f.Goal == GoalOutage || f.Goal == GoalTwoPrimaries)
	if i < 0 || ctx.Err() != nil {
		return false
	}
	if f = r.of(); f.History == "" || all[i].history != "" && len(all[i].history) < len(f.History) {
		f.History = all[i].history
	}
	return true
}

// confirm estimates the probability of the finding's command, and of what the same plan found
// besides: if the command shows that too, it needs no shrinking of its own. A command alone does
// not wait for its servers to heal. A run without a result shows nothing, nor does one without a
// verdict, except of what is seen without one.
func (r *reduction) confirm(ctx context.Context) {
	f := r.of()
	f.Found, f.Of, f.RunSeconds, f.Undecided = 0, 0, 0, 0
	besides := map[string]int{}
	for f.Goal != unhealed && f.Of < confirmations && f.Undecided < mostFailed && ctx.Err() == nil && (f.Of == 0 || time.Since(r.began) < r.o.ShrinkFor) {
		start := time.Now()
		found := r.shows(ctx, r.ground.Alone, f.Plan)
		f = r.of()
		if ctx.Err() != nil {
			break
		}
		if !r.decided {
			f.Undecided++
			continue
		}
		f.RunSeconds = (f.RunSeconds*float64(f.Of) + time.Since(start).Seconds()) / float64(f.Of+1)
		if f.Of++; found {
			f.Found++
		}
		for _, key := range r.found {
			besides[key]++
		}
	}
	f.measure()
	for i := range r.Findings {
		g := &r.Findings[i]
		if n := besides[g.Key]; g != f && n > 0 && g.At == f.At && !g.Shrunk && ctx.Err() == nil {
			g.Plan, g.Command, g.Shrunk = f.Plan, f.Command, true
			g.Found, g.Of, g.RunSeconds, g.Undecided = n, f.Of, f.RunSeconds, f.Undecided
			g.measure()
		}
	}
}

// measure computes the interval of the finding's probability.
func (f *Finding) measure() {
	chance := report.ChanceOf(f.Found, f.Of)
	f.Low, f.High = chance.Low, chance.High
}

// shrink leaves out of a plan everything without which again still shows the finding. It ends
// when nothing more can go or more returns false.
func (s *Space) shrink(p Plan, again func(Plan) bool, more func() bool) Plan {
	failed := map[string]bool{}
	for changed := true; changed; {
		changed = false
		all := s.reductions(p)
		for i := 0; i < len(all); i++ {
			key := string(all[i].Text())
			switch {
			case !more():
				return p
			case failed[key]:
			case again(all[i]): // continue behind it, not with what failed before
				p, changed = all[i], true
				all = s.reductions(p)
				i--
			default:
				failed[key] = true
			}
		}
	}
	return p
}

func (s *Space) reductions(p Plan) (all []Plan) {
	add := func(change func(q *Plan)) {
		q := p.clone()
		change(&q)
		if _, err := q.check(s.on(q)); err == nil {
			all = append(all, q)
		}
	}
	if s.on(p).String() != s.Specs[0].String() {
		add(func(q *Plan) { q.Cluster = "" }) // the first settings
	}
	if len(p.Faults) > 1 {
		add(func(q *Plan) { q.Faults = nil })
	}
	for i := range p.Faults {
		add(func(q *Plan) { q.Faults = slices.Delete(q.Faults, i, i+1) })
	}
	keys, spread := keysOf(p)
	for _, name := range slices.Sorted(maps.Keys(p.Flags)) {
		if name != keys.Name {
			add(func(q *Plan) { delete(q.Flags, name) })
		}
	}
	for i := range p.Options {
		add(func(q *Plan) { q.Options = slices.Delete(q.Options, i, i+1) })
	}
	for _, parts := range []time.Duration{2, 3} { // the half, two thirds
		if d := (p.Duration * (parts - 1) / parts).Round(100 * time.Millisecond); d >= leastDuration && d < p.Duration {
			add(func(q *Plan) { q.Duration = d })
		}
	}
	if p.Clients > 1 {
		add(func(q *Plan) { q.Clients = (p.Clients + 1) / 2 })
	}
	if p.Rate > 1 {
		add(func(q *Plan) { q.Rate = math.Ceil(p.Rate / 2) })
	}
	if n, err := strconv.Atoi(p.Flags[keys.Name]); spread && err == nil && n/2 >= max(int(keys.Min), 1) {
		add(func(q *Plan) { q.Flags[keys.Name] = strconv.Itoa(n / 2) })
	}
	for i, text := range p.Faults {
		f, _ := fault.Parse(text)
		for _, smaller := range smallerFaults(f) {
			add(func(q *Plan) { q.Faults[i] = smaller.String() })
		}
	}
	return all
}

// smallerFaults are the fault without repetition, earlier, and shorter.
func smallerFaults(f fault.Fault) (all []fault.Fault) {
	if f.Every > 0 {
		once := f
		once.At, once.Every = f.Every, 0
		all = append(all, once)
	}
	if f.Every == 0 && f.At > 0 {
		earlier := f
		if earlier.At = round(f.At / 2); earlier.At < leastTime {
			earlier.At = 0
		}
		all = append(all, earlier)
	}
	if f.For != fault.Ever && f.For/2 >= leastLength {
		shorter := f
		shorter.For = round(f.For / 2)
		all = append(all, shorter)
	}
	return all
}
