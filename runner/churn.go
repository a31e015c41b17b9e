package runner

import (
	"context"
	"errors"
	"path/filepath"
	"strconv"

	"assay/catalog"
	"assay/check"
	"assay/measure"
	"assay/report"
	"assay/workload/churn"
)

func churnKind() kind {
	return kind{
		validate: func(s Scenario) error { return errors.Join(s.Churn.Validate(), churn.CheckPlan(s.Load)) },
		strip:    func(s *Scenario) { s.Churn = churn.Config{} },
		open:     openChurn,
		counts:   func(uint8) bool { return true },
		options:  func(s Scenario) []report.Setting { return churnOptions(s.Churn) },
		judge:    judgeChurn, stateFile: churn.FileState,
		// A known number of tasks, of another kind each round.
		limit: func(l *measure.Limits) { l.MinMeasured, l.MinCommitted, l.NoSteadyState = minTaskTime, minTasks, true },
	}
}

func openChurn(ctx context.Context, driver catalog.Driver, s Scenario, address string) (work, error) {
	return openOn(ctx, s, target(s, address), driver.Support(churn.Name), func(store churn.Store) (*churn.Work, error) {
		return churn.NewWork(store, s.Churn, s.Load.Seed, s.Load.Clients)
	})
}

func churnOptions(c churn.Config) []report.Setting {
	return []report.Setting{
		{Name: "rows", Value: strconv.FormatInt(c.Rows, 10)},
		{Name: "row bytes", Value: strconv.Itoa(c.RowBytes)},
		{Name: "delete share", Value: strconv.FormatFloat(c.DeleteShare, 'g', -1, 64)},
		{Name: "cycles", Value: strconv.FormatInt(c.Cycles, 10)},
		{Name: "batch", Value: strconv.FormatInt(c.Batch, 10)},
		{Name: "repair", Value: strconv.FormatBool(c.Repair)},
	}
}

func judgeChurn(_ context.Context, folder string, s Scenario, _, inFlight string) (judgement, error) {
	j, err := churn.Judge(s.Churn, s.Load.Seed, churn.Evidence{
		History: filepath.Join(folder, FileHistory), State: filepath.Join(folder, churn.FileState),
		Sizes: filepath.Join(folder, churn.FileSizes), InFlight: inFlight,
	})
	if err != nil {
		return judgement{}, err
	}
	out := judgement{results: []check.Result{j.Result}, counted: j.Outcomes, facts: settings(j.Facts)}
	out.sizes = map[string]report.RoundSize{}
	for round, size := range j.Sizes {
		out.sizes[round] = report.RoundSize(size)
	}
	if j.Problem != "" {
		out.notes = append(out.notes, "the size on disk is not known after every round: "+j.Problem)
	}
	return out, nil
}
