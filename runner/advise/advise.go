// Package advise finds the isolation level at which a user's transactions do what they must, and
// the cost of each level. It runs them at every level, with and without forced meetings, analyzes
// what their statements allow, and tries changes of them at levels where they go wrong.
//
// It must not know the command line or the terminal.
package advise

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"assay/check"
	"assay/measure"
	"assay/report"
	"assay/runner"
	"assay/runner/series"
	"assay/store"
	"assay/workload/script"
)

const (
	FolderLevels  = "levels"
	folderChanges = "changes"
)

// Format is the version of an Advice's form.
const Format = 1

// Advice is the result. Fields are added, never renamed.
type Advice struct {
	Format   int    `json:"format"`
	Version  string `json:"version"`
	Script   string `json:"script"`
	Database string `json:"database"`
	Seed     uint64 `json:"seed"`
	Clients  int    `json:"clients"`
	Repeats  int    `json:"repeats"`
	// PauseMilliseconds is the longest pause before a statement in runs with forced meetings.
	PauseMilliseconds float64 `json:"pause_ms"`
	// Alone is one client at the strongest level.
	Alone  *Row  `json:"alone"`
	Levels []Row `json:"levels"`
	// Changes are tried at levels where the transactions went wrong.
	Changes []Row `json:"changes"`
	// Untried says why other changes were not tried.
	Untried []string `json:"untried"`
	// InUse is the level of a session that names none; empty if unknown.
	InUse string `json:"in_use,omitempty"`
	// Right are the indexes of the rows that were right, the surest first. They count through
	// Levels and then Changes.
	Right []int `json:"right"`
}

// Row is the result of one level, with a change or without.
type Row struct {
	Level string `json:"level"`
	// Model is the promised consistency model.
	Model string `json:"model"`
	// Change is empty for the script as it is. Texts are what was changed.
	Change string   `json:"change,omitempty"`
	Texts  []string `json:"texts,omitempty"`
	// Verdict is over all runs. PromiseBroken means that a run broke what the level promises.
	Verdict       check.Verdict `json:"verdict"`
	PromiseBroken bool          `json:"promise_broken"`
	// Conviction supports a broken promise, and Evidence shows the transactions of the first
	// run that found it; nil if none was broken.
	Conviction *report.Conviction `json:"conviction,omitempty"`
	Evidence   []check.Result     `json:"evidence,omitempty"`
	// Found is the first finding; empty if there was none.
	Found string `json:"found,omitempty"`
	// Look is the analysis of the statements, Shown the anomalies that runs showed.
	Look  script.Look       `json:"statements"`
	Shown []*script.Meeting `json:"anomalies"`
	// Throughput, latency and shares are of the runs without pauses, over all repeats.
	Throughput Throughput `json:"throughput"`
	P50        float64    `json:"p50_ms"`
	P99        float64    `json:"p99_ms"`
	Retried    float64    `json:"retried_share"`
	Failed     float64    `json:"failed_share"`
	// Invalid counts the runs without pauses whose measurement is invalid. Reason is the
	// first's.
	Invalid int    `json:"invalid_runs"`
	Reason  string `json:"invalid_reason,omitempty"`
	// Committed counts the operations of all runs.
	Committed int64 `json:"committed"`
	// Problem is why a run is missing; empty if none is.
	Problem string `json:"problem,omitempty"`
}

// Throughput is committed operations a second.
type Throughput struct {
	PerSecond float64  `json:"committed_per_second"`
	Low       *float64 `json:"low,omitempty"`
	High      *float64 `json:"high,omitempty"`
}

// Plan is what to find out.
type Plan struct {
	// Base is a run of the script on a database, without a level.
	Base    runner.Scenario
	Repeats int
	// Pause is the longest pause before a statement in runs with forced meetings, in
	// milliseconds.
	Pause float64
	// Levels are names; none for all levels.
	Levels []string
}

const (
	workMeet    = "meeting"
	workFigures = "figures"
	workAlone   = "one client"
)

type variant struct {
	level  store.Level
	change script.Change
}

func (v variant) values(work string) []report.Setting {
	values := []report.Setting{{Name: "level", Value: v.level.Name}}
	if v.change.Name != "" {
		values = append(values, report.Setting{Name: "change", Value: v.change.Name})
	}
	return append(values, report.Setting{Name: "work", Value: work})
}

// Run makes two series of runs in a folder. Errors are those of series.Run and of opening the
// database. The advice has its levels also beside an error of the second series: no later error
// takes back what a level broke. It is nil after an earlier error.
func Run(ctx context.Context, p Plan, o series.Options) (*Advice, error) {
	levels, product, err := runner.Levels(ctx, p.Base)
	if err != nil {
		return nil, err
	}
	if len(levels) == 0 {
		return nil, &store.OptionError{Option: "--db", Value: product.Name, Reason: "has no isolation levels here", Want: "a database with transactions"}
	}
	if levels, err = runner.ChooseLevels(levels, p.Levels); err != nil {
		return nil, err
	}
	a := &Advice{Format: Format, Version: o.Version, Script: names(p.Base.Config.(*script.Config).Files()), Database: product.Name + " " + product.Version,
		Seed: p.Base.Load.Seed, Clients: p.Base.Load.Clients, Repeats: p.Repeats, PauseMilliseconds: p.Pause, Levels: []Row{}, Changes: []Row{}, Untried: []string{}, Right: []int{}}
	for _, s := range product.Settings {
		if s.Name == "isolation" {
			a.InUse = s.Value
		}
	}
	var variants []variant
	for _, level := range levels {
		variants = append(variants, variant{level: level})
	}
	f := &finding{plan: p, options: o, product: product.Name, sent: &script.Sent{}}
	rows, err := f.rows(ctx, FolderLevels, variants, true)
	if err != nil {
		return nil, err
	}
	a.Alone, a.Levels = f.alone, rows
	return a, f.conclude(ctx, a, levels)
}

// conclude tries changes and ranks what is known then. An error leaves the advice with its levels.
func (f *finding) conclude(ctx context.Context, a *Advice, levels []store.Level) (err error) {
	if a.Alone.Verdict != check.Violated {
		if err = f.changes(ctx, a, levels); err != nil {
			a.Untried = append(a.Untried, "changes at the levels that went wrong: assay ended before their runs did")
		}
	}
	a.rank()
	return err
}

func names(files []string) string {
	for i := range files {
		files[i] = filepath.Base(files[i])
	}
	return strings.Join(files, ", ")
}

// changes tries changes at levels where the transactions went wrong.
func (f *finding) changes(ctx context.Context, a *Advice, levels []store.Level) error {
	var left []string
	var wrong []store.Level
	for i, row := range a.Levels {
		if row.Verdict != check.Violated {
			continue
		}
		for _, d := range row.Look.Dangers {
			for _, name := range d.Transactions {
				if !slices.Contains(left, name) {
					left = append(left, name)
				}
			}
		}
		if row.Model != "read-uncommitted" {
			wrong = append(wrong, levels[i])
		}
	}
	if len(wrong) == 0 {
		return nil
	}
	all, untried, err := f.plan.Base.Config.(*script.Config).Changes(f.sent, f.product, left)
	if err != nil {
		return err
	}
	a.Untried = append(a.Untried, untried...)
	var variants []variant
	for _, level := range wrong {
		for _, change := range all {
			variants = append(variants, variant{level, change})
		}
	}
	if len(variants) == 0 {
		return nil
	}
	rows, err := f.rows(ctx, folderChanges, variants, false)
	if err == nil { // else none, which is not null in JSON
		a.Changes = rows
	}
	return err
}

// rank orders the rows that were right: first those whose statements cannot go wrong, in each
// group the fastest first, and last those with invalid figures.
func (a *Advice) rank() {
	all := a.all()
	for i, row := range all {
		if row.Verdict == check.Valid && row.Problem == "" && row.Committed > 0 {
			a.Right = append(a.Right, i)
		}
	}
	order := func(holds bool) int {
		if holds {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(a.Right, func(i, j int) int {
		x, y := &all[i], &all[j]
		return cmp.Or(order(x.proven())-order(y.proven()), order(len(x.Look.Dangers) == 0)-order(len(y.Look.Dangers) == 0),
			order(x.Invalid == 0)-order(y.Invalid == 0), cmp.Compare(y.Throughput.PerSecond, x.Throughput.PerSecond))
	})
}

func (r *Row) proven() bool { return r.Look.Robust != nil && *r.Look.Robust }

func (a *Advice) all() []Row { return slices.Concat(a.Levels, a.Changes) }

func (r *Row) name() string {
	if r.Change == "" {
		return r.Level
	}
	return r.Change + " at " + r.Level
}

// intervalOf is the throughput over repeats. A single run gives its own interval.
func intervalOf(runs []*report.Result) Throughput {
	var rates []float64
	for _, r := range runs {
		rates = append(rates, r.Throughput.PerSecond)
	}
	mean, i := measure.OfRepeats(rates)
	t := Throughput{PerSecond: mean}
	switch {
	case i != nil:
		low := max(i.Low, 0)
		t.Low, t.High = &low, &i.High
	case len(runs) == 1:
		t.Low, t.High = runs[0].Throughput.Low, runs[0].Throughput.High
	}
	return t
}

func folderError(folder string, err error) error {
	return fmt.Errorf("read what %s holds: %w", folder, err)
}
