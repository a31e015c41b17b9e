package series

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"assay/check"
	"assay/history"
	"assay/measure"
	"assay/report"
	"assay/runner"
)

// Options is how a series is carried out.
type Options struct {
	Version string
	// Out is the series' folder. An unfinished series of the same plan in it is continued.
	// Empty means a new folder below runs.
	Out string
	// Run makes one run in a folder that does not exist yet.
	Run func(ctx context.Context, s runner.Scenario, folder string) (*report.Result, error)
	// UntilValid is how often a run with an invalid measurement is repeated. A run that found
	// something wrong is never repeated.
	UntilValid int
	Progress   Progress
}

// Progress follows a series. One goroutine calls it.
type Progress interface {
	// Begins announces the next run. left is the likely time of all that remain; 0 if unknown.
	Begins(number, total int, r report.SeriesRun, left time.Duration)
	Ended(r report.SeriesRun, result *report.Result)
}

// Run makes the runs of a plan that are missing, and returns the series and its folder. A run
// that fails is noted, and the others go on. If ctx ends, the error is ctx's, joined
// with the run's, and the current run, unless it found a violation, is repeated when the series continues. Other errors are *PlanError, *runner.FolderError,
// *report.FileError, errors of Scenario.Validate and of writing.
func Run(ctx context.Context, p Plan, o Options) (*report.RunSeries, string, error) {
	s, all, folder, err := open(p, o)
	if err != nil {
		return nil, "", err
	}
	var took []float64
	for i := range s.Runs {
		r := &s.Runs[i]
		if r.State == report.StateDone && exists(filepath.Join(folder, r.Folder)) {
			took = append(took, r.Seconds)
			continue
		}
		if err := ctx.Err(); err != nil {
			return s, folder, err
		}
		at := slices.IndexFunc(all, func(c Configuration) bool { return c.Name == r.Configuration })
		scenario := all[at].Scenario
		scenario.Load.Seed = r.Seed
		for again := true; again; {
			o.Progress.Begins(i+1, len(s.Runs), *r, left(took, len(s.Runs)-i))
			if again, err = o.make(ctx, r, scenario, folder); err != nil {
				return s, folder, errors.Join(err, write(folder, s))
			}
			took = append(took, r.Seconds)
			if err := write(folder, s); err != nil {
				return s, folder, err
			}
		}
	}
	return s, folder, nil
}

func (o *Options) make(ctx context.Context, r *report.SeriesRun, scenario runner.Scenario, folder string) (again bool, err error) {
	if r.Folder, err = FreeFolder(folder, r.Folder); err != nil {
		return false, err
	}
	// What an attempt before this one came to does not stand for this one, should it be cut.
	r.State, r.Exit, r.Problem = report.StateWaiting, nil, ""
	began := time.Now()
	result, err := o.Run(ctx, scenario, filepath.Join(folder, r.Folder))
	violated := result != nil && report.ExitOf(result).Code == report.ExitViolated
	if ctx.Err() != nil && !violated { // it was cut, whatever its result says
		return false, errors.Join(ctx.Err(), err)
	}
	if err != nil && result != nil && !violated && !kept(filepath.Join(folder, r.Folder), result) {
		result = nil // the folder holds an older one, so the run is made again
	}
	r.Seconds = time.Since(began).Seconds()
	note(r, result, err)
	o.Progress.Ended(*r, result)
	again = r.Again < o.UntilValid && result != nil && result.Verdict == check.Valid && result.Measurement.Verdict == string(measure.Invalid) && mendable(result.Measurement.Reasons)
	if again {
		r.Again++
	}
	return again, ctx.Err()
}

// kept reports whether a run's folder has this result.
func kept(folder string, result *report.Result) bool {
	on, err := report.ReadJSON(filepath.Join(folder, report.FileResult))
	return err == nil && on.Ended.Equal(result.Ended)
}

// mendable reports whether a repeat may be valid. A run that is too short will not be.
func mendable(reasons []string) bool {
	return !slices.ContainsFunc(reasons, func(why string) bool { return strings.HasPrefix(why, "too short:") })
}

func note(r *report.SeriesRun, result *report.Result, err error) {
	r.State, r.Problem, r.Exit = report.StateDone, "", nil
	if err != nil {
		r.Problem = err.Error()
	}
	if result == nil {
		r.State = report.StateFailed
		return
	}
	exit := report.ExitOf(result)
	r.Exit = &exit
}

func left(took []float64, runs int) time.Duration {
	if len(took) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(took))
	return time.Duration(sorted[len(sorted)/2] * float64(runs) * float64(time.Second))
}

func open(p Plan, o Options) (s *report.RunSeries, all []Configuration, folder string, err error) {
	if before, err := report.ReadSeries(o.Out); err == nil && o.Out != "" {
		planned, all, err := p.newSeries(o.Version)
		if err != nil {
			return nil, nil, "", err
		}
		if problem := differs(before, planned); problem != "" {
			return nil, nil, "", &runner.FolderError{Path: o.Out, Reason: "holds a series of another plan: " + problem}
		}
		return before, all, o.Out, nil
	} else if _, missing := os.Stat(filepath.Join(o.Out, report.FileSeries)); o.Out != "" && missing == nil {
		return nil, nil, "", err // it is there, and cannot be read
	}
	if s, all, err = p.newSeries(o.Version); err != nil {
		return nil, nil, "", err
	}
	s.Started = time.Now().UTC()
	var total runner.Estimate
	for _, c := range all {
		total = total.Plus(c.Scenario.Estimate(0), s.Repeats)
	}
	if folder, err = runner.CreateRoom(o.Out, s.Started, s.Workload, "series", total); err != nil {
		return nil, nil, "", err
	}
	return s, all, folder, write(folder, s)
}

// differs names the first difference of two plans. More repeats are no difference: the series
// grows.
func differs(before, planned *report.RunSeries) string {
	switch {
	case before.Common != planned.Common:
		return differingLine(before.Common, planned.Common)
	case before.Seed != planned.Seed:
		return fmt.Sprintf("its seed is %d", before.Seed)
	case !slices.EqualFunc(before.Configurations, planned.Configurations, func(a, b report.Configuration) bool { return a.Name == b.Name }):
		return "its configurations are others"
	case before.Repeats > planned.Repeats:
		return fmt.Sprintf("it has %d repeats", before.Repeats)
	case before.Repeats < planned.Repeats:
		before.Runs = append(before.Runs, planned.Runs[len(before.Runs):]...)
		before.Repeats = planned.Repeats
	}
	return ""
}

func differingLine(before, planned string) string {
	was, is := strings.Split(before, "\n"), strings.Split(planned, "\n")
	for i, line := range was {
		if i >= len(is) || is[i] != line {
			return fmt.Sprintf("it has %q", strings.TrimSpace(line))
		}
	}
	return "it has fewer settings"
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return !errors.Is(err, os.ErrNotExist)
}

// FreeFolder is a run's folder within a series, with a similar name if an earlier attempt left
// the first. It returns a *runner.FolderError.
func FreeFolder(series, name string) (string, error) {
	first, _, _ := strings.Cut(name, "-again")
	name = first
	for n := 2; n <= 1000; n++ {
		if !exists(filepath.Join(series, name)) {
			return name, nil
		}
		name = fmt.Sprintf("%s-again-%d", first, n)
	}
	return "", &runner.FolderError{Path: filepath.Join(series, first), Reason: "was begun a thousand times"}
}

func write(folder string, s *report.RunSeries) error {
	return history.WriteJSON(filepath.Join(folder, report.FileSeries), s)
}
