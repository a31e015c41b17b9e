// Package advise finds out at which isolation level a user's transactions do what they
// must, and what each level costs. It runs them at every level, so that they meet and
// without that, looks at what their statements let happen, and tries changes of them at
// the levels at which they go wrong.
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

// The folders of the two series.
const (
	FolderLevels  = "levels"
	folderChanges = "changes"
)

// Format is the version of the form of an Advice.
const Format = 1

// Advice is what was found. Fields are added, never renamed.
type Advice struct {
	Format   int    `json:"format"`
	Version  string `json:"version"`
	Script   string `json:"script"`
	Database string `json:"database"`
	Seed     uint64 `json:"seed"`
	Clients  int    `json:"clients"`
	Repeats  int    `json:"repeats"`
	// PauseMilliseconds is the longest pause before a statement where transactions meet.
	PauseMilliseconds float64 `json:"pause_ms"`
	// Alone is one client at the strongest level.
	Alone  *Row  `json:"alone"`
	Levels []Row `json:"levels"`
	// Changes are tried at the levels at which the transactions went wrong.
	Changes []Row `json:"changes"`
	// Untried says of other changes why they were not tried.
	Untried []string `json:"untried"`
	// InUse is the level that a session has which names none; empty if it is not told.
	InUse string `json:"in_use,omitempty"`
	// Right are the numbers of what was right, the surest first: those of Levels, and
	// behind them those of Changes.
	Right []int `json:"right"`
}

// Row is what was found of one level, with a change or without.
type Row struct {
	Level string `json:"level"`
	// Model is the consistency model that is promised at it.
	Model string `json:"model"`
	// Change is empty of the script as it is; Texts are what was changed.
	Change string   `json:"change,omitempty"`
	Texts  []string `json:"texts,omitempty"`
	// Verdict is over all runs, and PromiseBroken is true if one of them broke what the
	// level promises.
	Verdict       check.Verdict `json:"verdict"`
	PromiseBroken bool          `json:"promise_broken"`
	// Conviction is what speaks for a broken promise, and Evidence what the first run has
	// found that shows the transactions; null where none was broken.
	Conviction *report.Conviction `json:"conviction,omitempty"`
	Evidence   []check.Result     `json:"evidence,omitempty"`
	// Found is the first finding; empty if there was none.
	Found string `json:"found,omitempty"`
	// Look is the look at the statements, and Shown the anomalies that were seen.
	Look  script.Look       `json:"statements"`
	Shown []*script.Meeting `json:"anomalies"`
	// Throughput and latency are of the runs without pauses, over all repeats.
	Throughput Throughput `json:"throughput"`
	P50        float64    `json:"p50_ms"`
	P99        float64    `json:"p99_ms"`
	// Retried and Failed are shares of the operations of these.
	Retried float64 `json:"retried_share"`
	Failed  float64 `json:"failed_share"`
	// Invalid is how many of these runs have figures that are not to be believed, and
	// Reason says of the first why.
	Invalid int    `json:"invalid_runs"`
	Reason  string `json:"invalid_reason,omitempty"`
	// Committed are the operations of all runs.
	Committed int64 `json:"committed"`
	// Problem is why a run could not be made; empty if all could.
	Problem string `json:"problem,omitempty"`
}

// Throughput is committed operations a second.
type Throughput struct {
	PerSecond float64  `json:"committed_per_second"`
	Low       *float64 `json:"low,omitempty"`
	High      *float64 `json:"high,omitempty"`
}

// Plan is what is to be found out.
type Plan struct {
	// Base is a run of the script on a database, at no level.
	Base    runner.Scenario
	Repeats int
	// Pause is the longest pause before a statement where transactions are to meet, in
	// milliseconds.
	Pause float64
	// Levels are names of levels; none for all.
	Levels []string
}

// What a run of a row is for.
const (
	workMeet    = "meeting"
	workFigures = "figures"
	workAlone   = "one client"
)

// variant is a row that is to be found.
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

// Run finds out, in a folder with two series of runs. Its errors are those of series.Run and
// of opening the database.
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
	if a.Alone.Verdict != check.Violated {
		if err := f.changes(ctx, a, levels); err != nil {
			return nil, err
		}
	}
	a.rank()
	return a, nil
}

// names are the names of files, without their folders.
func names(files []string) string {
	for i := range files {
		files[i] = filepath.Base(files[i])
	}
	return strings.Join(files, ", ")
}

// changes tries changes at the levels at which the transactions went wrong.
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
	a.Changes, err = f.rows(ctx, folderChanges, variants, false)
	return err
}

// rank orders what was right: what cannot go wrong by its statements, then what the statements leave
// open; of each kind the fastest first, and last what has figures that are not to be believed.
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

// proven reports whether the statements cannot go wrong at the level.
func (r *Row) proven() bool { return r.Look.Robust != nil && *r.Look.Robust }

func (a *Advice) all() []Row { return slices.Concat(a.Levels, a.Changes) }

// name is the row for people.
func (r *Row) name() string {
	if r.Change == "" {
		return r.Level
	}
	return r.Change + " at " + r.Level
}

// intervalOf is the throughput over repeats, of one alone with its own interval.
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

// folderError says that a folder of a series cannot be understood.
func folderError(folder string, err error) error {
	return fmt.Errorf("read what %s holds: %w", folder, err)
}
