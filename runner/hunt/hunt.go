package hunt

import (
	"context"
	"encoding/json"
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
	"assay/runner"
)

// The files of a hunt's folder.
const (
	FileState = "hunt.json"
	FilePage  = "hunt.html"
	FileText  = "hunt.md"
	runs      = "runs" // the folder of the runs that found something
)

// State is what a hunt knows, and all that it needs to go on: hunt.json.
type State struct {
	Format  int       `json:"format"`
	Version string    `json:"version"`
	Started time.Time `json:"started"`
	// Cluster, Workloads, Options, Goals, Seed and Random are what was asked for.
	Cluster   string     `json:"cluster"`
	Workloads []string   `json:"workloads"`
	Options   [][]string `json:"options,omitempty"`
	Goals     []Goal     `json:"goals"`
	Seed      uint64     `json:"seed"`
	// Random is true of a hunt in which nothing that was reached decides what comes next.
	Random bool `json:"random,omitempty"`
	// First is the plan that it began with; nil for a drawn one.
	First *Plan `json:"first,omitempty"`

	// Patience is how long a plan is in which whoever takes writes is away: it grows until another node
	// took them. It is below 0 where none ever did.
	Patience time.Duration `json:"patience_ns,omitempty"`

	// Plans counts those that were run, LoadSeconds is their load, and Seconds how long was searched,
	// with the start of the servers.
	Plans       int     `json:"plans"`
	LoadSeconds float64 `json:"load_s"`
	Seconds     float64 `json:"search_s"`
	// Verdicts counts the runs by their verdict, and Clusters the clusters that were started.
	Verdicts map[string]int `json:"verdicts"`
	Clusters int            `json:"clusters"`
	// States are those that the cluster can be in.
	States   []string  `json:"states"`
	Coverage Coverage  `json:"coverage"`
	Corpus   []Kept    `json:"corpus"`
	Findings []Finding `json:"findings"`
	// Interrupted is true if the hunt was ended before its time.
	Interrupted bool `json:"interrupted,omitempty"`
}

// Kept is a plan that reached something new.
type Kept struct {
	Plan Plan `json:"plan"`
	// Fresh is how much was new, and Varied how often it was varied since.
	Fresh  int `json:"fresh"`
	Varied int `json:"varied"`
	// Seconds is what the run took, with the healing.
	Seconds float64 `json:"run_s"`
}

// Finding is something that the hunt was looking for.
type Finding struct {
	Goal    string        `json:"goal"`
	Key     string        `json:"key"`
	Text    string        `json:"text"`
	Verdict check.Verdict `json:"verdict"`
	// At is the number of the plan that found it first, After how long had been searched by then,
	// Folder that run's, and Seen how many plans found it.
	At     int     `json:"plan_number"`
	After  float64 `json:"after_s"`
	Folder string  `json:"folder"`
	Seen   int     `json:"seen"`
	Plan   Plan    `json:"plan"`
	// Shrunk is true once nothing more can be left out of Plan, or the time for it was over, and
	// Tries is how many runs that took.
	Shrunk bool `json:"shrunk"`
	Tries  int  `json:"shrink_runs"`
	// History is the smallest part of the history that shows it; empty where none is known.
	History string `json:"history,omitempty"`
	// Command makes Plan on a new cluster: it was found by Found of Of such runs of RunSeconds each.
	Command    string  `json:"command"`
	Found      int     `json:"found"`
	Of         int     `json:"of"`
	RunSeconds float64 `json:"run_s"`
	Low        float64 `json:"low"`
	High       float64 `json:"high"`
}

// Trial is what one run of a plan showed.
type Trial struct {
	// Result is nil if there was none.
	Result *report.Result
	Seen   Seen
	// Unhealed says how the cluster was not whole again; empty if it was.
	Unhealed string
	// Problem is why there is no result.
	Problem error
}

// Ground is where plans are run, one after the other.
type Ground interface {
	// Space returns what plans can be drawn from, once servers run.
	Space(ctx context.Context) (*Space, error)
	// Try runs a plan in a folder that is not there yet, on servers that serve the next plan too.
	Try(ctx context.Context, p Plan, folder string) Trial
	// Alone runs it as its command does, on servers of its own.
	Alone(ctx context.Context, p Plan, folder string) Trial
	// Started counts the clusters that were started for Try.
	Started() int
}

// Options is how a hunt goes.
type Options struct {
	// Folder is the hunt's, which is there.
	Folder string
	// For is how long is searched from now on, and ShrinkFor how long a finding is shrunk at most; 0
	// leaves it as it was found.
	For, ShrinkFor time.Duration
	// Findings is after how many different ones of the goals it ends; 0 for any number.
	Findings int
	// Tell is told of each plan in a line.
	Tell func(text string)
}

// Hunt is a hunt under way.
type Hunt struct {
	*State
	o      Options
	ground Ground
	space  *Space
	ends   time.Time
	last   time.Time // until when Seconds counts
	before int       // clusters that were started before this part of the hunt
}

// The bounds of a hunt that are nobody's choice.
const (
	mostKept = 100
	// drawn is in how many of a hundred cases a plan is drawn anew though some are kept.
	drawn = 50
	// failovers is in how many of a hundred cases whoever takes writes is away for most of a plan, and
	// leastPatience how long the first such plan is.
	failovers     = 50
	leastPatience = 20 * time.Second
	// mostFailed is after how many runs without a result, one after the other, nobody goes on.
	mostFailed = 5
	// confirmations are the runs by which the probability of a command is told.
	confirmations = 10
	// mostFindings bounds what one hunt tells of.
	mostFindings = 50
)

// Go searches until the time is over, enough is found, or ctx ends, which is no error: the state
// has what was found by then, and another hunt can go on with it.
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
	s.States = h.space.States()
	if s.Patience == 0 {
		s.Patience = leastPatience
	}
	h.ends = time.Now().Add(o.For)
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
			err = fmt.Errorf("no run came to a result: %w", problem)
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
		if f.Goal != unhealed && (f.Shrunk || h.o.ShrinkFor == 0) {
			whole++
		}
	}
	return len(h.Findings) >= mostFindings || h.o.Findings > 0 && whole >= h.o.Findings
}

// next is the plan of this number: what was kept and the seed decide it.
func (h *Hunt) next() Plan {
	r := rand.New(rand.NewPCG(h.Seed, uint64(h.Plans)))
	if !h.Random {
		h.space.Lines, h.space.Apart = h.Coverage.again(), h.Patience > 0
	}
	switch {
	case h.Plans == 0 && h.First != nil:
		return *h.First
	case h.space.Led && h.space.Apart && chance(r, failovers):
		return h.space.Failover(r, h.Patience)
	case h.Random || len(h.Corpus) == 0 || chance(r, drawn):
		return h.space.Draw(r)
	}
	k := h.pick(r)
	k.Varied++
	return h.space.Vary(r, k.Plan, h.Corpus[r.IntN(len(h.Corpus))].Plan)
}

// pick chooses a kept plan, more likely one that reached much and was not varied often.
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

// step runs one plan. problem is why it has no result.
func (h *Hunt) step(ctx context.Context) (problem, err error) {
	p := h.next()
	folder := h.runFolder(fmt.Sprintf("plan-%05d", h.Plans+1))
	began := time.Now()
	t := h.ground.Try(ctx, p, folder)
	h.Seconds += time.Since(h.last).Seconds()
	h.last = time.Now()
	if ctx.Err() != nil { // it was cut, whatever it says
		return nil, os.RemoveAll(folder)
	}
	if t.Problem != nil && h.First != nil && h.Plans == 0 {
		return t.Problem, os.RemoveAll(folder)
	}
	h.Plans++
	fresh := h.Coverage.Add(t.Seen)
	h.wait(p)
	if fresh > 0 && t.Result != nil && !h.Random {
		h.keep(Kept{Plan: p, Fresh: fresh, Seconds: time.Since(began).Round(100 * time.Millisecond).Seconds()})
	}
	found := h.judge(p, t, folder)
	h.count(p, t)
	h.tell(p, t, fresh)
	if !found {
		err = os.RemoveAll(folder)
	}
	if t.refused() {
		t.Problem = nil
	}
	return t.Problem, errors.Join(err, h.save())
}

// count enters a run into the sums.
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

// keep takes a plan among those that are varied, in the place of the least worthy if there are too many.
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

// hitsOf are what a trial shows of the goals, and of a cluster that does not heal.
func (h *Hunt) hitsOf(t Trial) (all []hit) {
	if t.Result != nil {
		all = hits(t.Result, h.Goals)
	}
	if t.Unhealed != "" {
		all = append(all, hit{key: unhealed, goal: unhealed, text: t.Unhealed})
	}
	return all
}

// judge enters what a trial shows, and reports whether something is new.
func (h *Hunt) judge(p Plan, t Trial, folder string) (fresh bool) {
	for _, found := range h.hitsOf(t) {
		at := slices.IndexFunc(h.Findings, func(f Finding) bool { return f.Key == found.key })
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

// command makes a plan on servers of its own.
func (h *Hunt) command(p Plan) string { return "assay " + report.CommandLine(p.Words(h.space.Spec)) }

func (h *Hunt) tell(p Plan, t Trial, fresh int) {
	verdict := t.verdict()
	if t.Problem != nil {
		verdict += " (" + t.Problem.Error() + ")"
	}
	h.o.Tell(fmt.Sprintf("plan %d: %s, %d new: %s", h.Plans, verdict, fresh, report.CommandLine(p.Words(h.space.Spec))))
}

// verdict is the run's, or in two words why it has none.
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

// save writes the state, whole or not at all.
func (h *Hunt) save() error {
	h.Clusters = h.before + h.ground.Started()
	return history.WriteJSON(filepath.Join(h.o.Folder, FileState), h.State)
}

// end writes the state and its pages.
func (h *Hunt) end() error { return errors.Join(h.save(), h.writePages(h.o.Folder)) }

// Read reads the state of a hunt from its folder. Errors are *runner.FolderError.
func Read(folder string) (*State, error) {
	text, err := os.ReadFile(filepath.Join(folder, FileState))
	if err != nil {
		return nil, &runner.FolderError{Path: folder, Reason: "holds no hunt", Err: err}
	}
	var s State
	if err := json.Unmarshal(text, &s); err != nil || s.Format != 1 {
		return nil, &runner.FolderError{Path: folder, Reason: "holds a hunt that cannot be read: " + fmt.Sprint(err)}
	}
	return &s, nil
}
