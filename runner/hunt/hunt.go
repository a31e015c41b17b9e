package hunt

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"time"

	"assay/check"
	"assay/history"
	"assay/report"
)

const (
	FileState = "hunt.json"
	FilePage  = "hunt.html"
	FileText  = "hunt.md"
	runs      = "runs" // the folder of the runs that found something
)

// Trial is what one run of a plan showed.
type Trial struct {
	// Result is nil if Problem says why there is none.
	Result *report.Result
	Seen   Seen
	// Unhealed says what did not recover; empty if everything did.
	Unhealed string
	Problem  error
}

// Ground runs plans, one after the other.
type Ground interface {
	// Space returns what plans can be drawn from. It may start servers.
	Space(ctx context.Context) (*Space, error)
	// Try runs a plan in a new folder, on servers that later plans use too.
	Try(ctx context.Context, p Plan, folder string) Trial
	// Alone runs a plan as its command does, on its own servers.
	Alone(ctx context.Context, p Plan, folder string) Trial
	Started() int
}

// Options says how a hunt goes.
type Options struct {
	Folder string
	// For is the time to search from now on. ShrinkFor bounds the shrinking of a finding; with
	// 0, a finding stays as it was found.
	For, ShrinkFor time.Duration
	// Findings ends the hunt after this number of different findings; 0 for no limit.
	Findings int
	Tell     func(text string)
}

// Hunt is a hunt in progress.
type Hunt struct {
	*State
	o      Options
	ground Ground
	space  *Space
	ends   time.Time
	last   time.Time // until when Seconds counts
	// formed says that the present plan is one of those that Formed counts, and varied is what it
	// varies; nil if it was drawn.
	formed bool
	varied *Kept
	before int // clusters that were started before this part of the hunt
}

const (
	mostKept = 100
	// drawn is the percentage of plans drawn anew though some are kept.
	drawn = 50
	// failovers is the percentage of plans that take the primary away, and leastWait the
	// length of the first.
	failovers = 50
	leastWait = 20 * time.Second
	// forms is the percentage of plans of a fixed form: one workload after the other without
	// faults, and one pair of faults after the other. plansOfSettings is the number of consecutive
	// plans on the same settings.
	forms           = 40
	plansOfSettings = 8
	// mostFailed is the number of consecutive runs without a result that ends the hunt.
	mostFailed = 5
	// confirmations is the number of runs that estimate the probability of a command.
	confirmations = 10
	mostFindings  = 50
)

// Go searches until the time is over, enough is found, or ctx ends, which is no error. Another
// hunt can continue from the state.
func Go(ctx context.Context, s *State, ground Ground, o Options) error {
	h := &Hunt{State: s, o: o, ground: ground, before: s.Clusters}
	s.Interrupted = false
	h.last = time.Now()
	var err error
	if h.space, err = ground.Space(ctx); err != nil && ctx.Err() != nil {
		s.Interrupted = true
		return h.end()
	} else if err != nil {
		return err
	}
	s.States, s.Faults = h.space.States(), kinds(h.space.Faults)
	h.ends = time.Now().Add(o.For)
	err = h.save()
	for failed := 0; err == nil && ctx.Err() == nil && time.Now().Before(h.ends) && !h.enough() && failed < mostFailed; {
		if err = h.finish(ctx); err != nil || ctx.Err() != nil || h.enough() || !time.Now().Before(h.ends) {
			break
		}
		var problem error
		problem, err = h.step(ctx)
		failed++
		if problem == nil {
			failed = 0
		}
		if failed == mostFailed || problem != nil && h.First != nil && h.Plans == 0 {
			err = fmt.Errorf("%s in a row came to no result: %w", check.Counted(failed, "run", "runs"), problem)
		}
	}
	if err == nil {
		err = h.finish(ctx)
	}
	s.Interrupted = ctx.Err() != nil
	return errors.Join(err, h.end())
}

func (h *Hunt) enough() bool {
	whole := 0
	for _, f := range h.Findings {
		asked := slices.ContainsFunc(h.Goals, func(g Goal) bool { return g.Name == f.Goal })
		if asked && (f.Shrunk || h.o.ShrinkFor == 0) {
			whole++
		}
	}
	return len(h.Findings) >= mostFindings || h.o.Findings > 0 && whole >= h.o.Findings
}

func (h *Hunt) next() Plan {
	r := rand.New(rand.NewPCG(h.Seed, uint64(h.Plans)))
	if !h.Random {
		h.space.Lines, h.space.Apart = h.Coverage.again(), len(h.space.away(&h.FailoverWait)) > 0
	}
	if h.Plans == 0 && h.First != nil {
		return *h.First
	}
	p := h.draw(r)
	p.Cluster = h.settings()
	return p
}

func (h *Hunt) draw(r *rand.Rand) Plan {
	h.formed, h.varied = false, nil
	switch {
	case h.space.Led && h.space.Apart && chance(r, failovers):
		return h.space.Failover(r, &h.FailoverWait)
	case !h.Random && chance(r, forms):
		if h.formed = true; h.Formed%2 == 0 {
			return h.space.Undisturbed(r, h.Formed/2)
		}
		return h.space.Overlap(r, h.Seed, h.Formed/2)
	case h.Random || len(h.Corpus) == 0 || chance(r, drawn):
		return h.space.Draw(r)
	}
	h.varied = h.pick(r)
	return h.space.Vary(r, h.varied.Plan, h.Corpus[r.IntN(len(h.Corpus))].Plan)
}

// settings chooses the alternative of the cluster's settings, which changes rarely, since the
// servers have to start anew.
func (h *Hunt) settings() string {
	all := h.space.Specs
	if len(all) == 1 {
		return ""
	}
	r := rand.New(rand.NewPCG(h.Seed, 1<<32+uint64(h.Plans/plansOfSettings)))
	return all[r.IntN(len(all))].String()
}

// pick prefers kept plans that reached much and were rarely varied.
func (h *Hunt) pick(r *rand.Rand) *Kept {
	total := 0.0
	for _, k := range h.Corpus {
		total += k.worth()
	}
	at := r.Float64() * total
	for i := range h.Corpus {
		if at -= h.Corpus[i].worth(); at <= 0 {
			return &h.Corpus[i]
		}
	}
	return &h.Corpus[len(h.Corpus)-1]
}

func (k Kept) worth() float64 {
	return float64(1+min(k.Fresh, 20)) / float64(1+k.Varied) / (k.Seconds + 5)
}

func (h *Hunt) step(ctx context.Context) (problem, err error) {
	p := h.next()
	folder := h.runFolder(fmt.Sprintf("plan-%05d", h.Plans+1))
	began := time.Now()
	if err := os.RemoveAll(folder); err != nil { // which an assay that was killed has left
		return nil, err
	}
	t := h.ground.Try(ctx, p, folder)
	h.Seconds += time.Since(h.last).Seconds()
	h.last = time.Now()
	cut := ctx.Err() != nil
	if cut && !t.violated() { // whatever it says
		return nil, os.RemoveAll(folder)
	}
	if t.Problem != nil && h.First != nil && h.Plans == 0 && !t.violated() {
		return t.Problem, os.RemoveAll(folder)
	}
	h.Plans++
	if h.formed {
		h.Formed++
	}
	if h.varied != nil {
		h.varied.Varied++
	}
	fresh := h.Coverage.Add(t.Seen)
	if t.Result != nil && h.space.Led {
		h.FailoverWait.learn(p, t.Seen, min(mostWait, h.space.Longest))
	}
	if fresh > 0 && t.Result != nil && !h.Random {
		h.keep(Kept{Plan: p, Fresh: fresh, Seconds: time.Since(began).Round(time.Second).Seconds()})
	}
	found := h.judge(p, t, folder)
	h.count(p, t)
	h.tell(p, t, fresh)
	if !found {
		err = os.RemoveAll(folder)
	}
	if cut || t.refused() {
		t.Problem = nil
	}
	return t.Problem, errors.Join(err, h.save())
}

func (h *Hunt) count(p Plan, t Trial) {
	if h.Verdicts == nil {
		h.Verdicts = map[string]int{}
	}
	if t.Result == nil {
		h.Verdicts[t.verdict()]++
		return
	}
	h.Verdicts[t.Result.Verdict.String()]++
	h.LoadSeconds += p.Duration.Seconds()
}

// keep keeps a plan, and drops the least valuable if there are too many.
func (h *Hunt) keep(k Kept) {
	h.Corpus = append(h.Corpus, k)
	if len(h.Corpus) > mostKept {
		least := 0
		for i := range h.Corpus {
			if h.Corpus[i].worth() < h.Corpus[least].worth() {
				least = i
			}
		}
		h.Corpus = slices.Delete(h.Corpus, least, least+1)
	}
}

// hitsOf includes a cluster that does not heal.
func (h *Hunt) hitsOf(t Trial) (all []hit) {
	if t.Result != nil {
		all = hits(t.Result, h.Goals)
	}
	if t.Unhealed != "" {
		all = append(all, hit{key: unhealed, goal: unhealed, text: t.Unhealed})
	}
	return all
}

func (h *Hunt) judge(p Plan, t Trial, folder string) (fresh bool) {
	for _, found := range h.hitsOf(t) {
		at := slices.IndexFunc(h.Findings, func(f Finding) bool { return f.is(found) })
		if at >= 0 {
			h.Findings[at].Seen++
			continue
		}
		fresh = true
		h.Findings = append(h.Findings, Finding{Goal: found.goal, Key: found.key, Text: found.text, Verdict: found.verdict,
			At: h.Plans, After: h.Seconds, Folder: filepath.Join(runs, filepath.Base(folder)), Seen: 1, Plan: p,
			History: found.history, Command: h.command(p)})
		h.o.Tell("found " + found.key + ": " + found.text)
	}
	return fresh
}

func (h *Hunt) command(p Plan) string { return "assay " + report.CommandLine(p.Words(h.space.on(p))) }

func (h *Hunt) tell(p Plan, t Trial, fresh int) {
	verdict := t.verdict()
	if t.Problem != nil {
		verdict += " (" + t.Problem.Error() + ")"
	}
	h.o.Tell(fmt.Sprintf("plan %d: %s, %d new: %s", h.Plans, verdict, fresh, report.CommandLine(p.Words(h.space.on(p)))))
}

// violated reports whether the run proved a broken promise, which no later interruption takes back.
func (t Trial) violated() bool { return t.Result != nil && t.Result.Verdict == check.Violated }

func (t Trial) verdict() string {
	switch {
	case t.Result != nil:
		return t.Result.Verdict.String()
	case t.refused():
		return "refused here"
	}
	return "no result"
}

func (h *Hunt) runFolder(name string) string { return filepath.Join(h.o.Folder, runs, name) }

func (h *Hunt) save() error {
	h.Clusters = h.before + h.ground.Started()
	return history.WriteJSON(filepath.Join(h.o.Folder, FileState), h.State)
}

func (h *Hunt) end() error { return errors.Join(h.save(), h.writePages(h.o.Folder)) }
