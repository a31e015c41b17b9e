package runner

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"

	"assay/catalog"
	"assay/check"
	"assay/measure"
	"assay/report"
	"assay/workload/bulkupdate"
)

func bulkUpdateKind() kind {
	return kind{
		validate: func(s Scenario) error { return errors.Join(s.BulkUpdate.Validate(), bulkupdate.CheckPlan(s.Load)) },
		strip:    func(s *Scenario) { s.BulkUpdate = bulkupdate.Config{} },
		open:     openBulkUpdate,
		counts:   func(op uint8) bool { return op == bulkupdate.KindUpdate },
		options:  func(s Scenario) []report.Setting { return bulkUpdateOptions(s.BulkUpdate) },
		judge:    judgeBulkUpdate, stateFile: bulkupdate.FileState,
		// A known number of tasks, by another number of workers each round.
		limit: func(l *measure.Limits) { l.MinMeasured, l.MinCommitted, l.NoSteadyState = minTaskTime, minTasks, true },
	}
}

func openBulkUpdate(ctx context.Context, driver catalog.Driver, s Scenario, address string) (work, error) {
	return openOn(ctx, s, target(s, address), driver.Support(bulkupdate.Name), func(store bulkupdate.Store) (*bulkupdate.Work, error) {
		return bulkupdate.NewWork(store, s.BulkUpdate, s.Load.Seed)
	})
}

func bulkUpdateOptions(c bulkupdate.Config) []report.Setting {
	return []report.Setting{
		{Name: "users", Value: strconv.FormatInt(c.Users, 10)},
		{Name: "documents", Value: strconv.FormatInt(c.Documents, 10) + " each"},
		{Name: "workers", Value: c.Workers},
		{Name: "field", Value: c.Field},
	}
}

func judgeBulkUpdate(_ context.Context, folder string, s Scenario, promise, inFlight string) (judgement, error) {
	j, err := bulkupdate.Judge(s.BulkUpdate, s.Load.Seed, bulkupdate.Evidence{
		History: filepath.Join(folder, FileHistory), State: filepath.Join(folder, bulkupdate.FileState),
		Waits: filepath.Join(folder, bulkupdate.FileWaits), Promise: promise, InFlight: inFlight,
	})
	if err != nil {
		return judgement{}, err
	}
	out := judgement{results: j.Results, counted: j.Outcomes, facts: settings(j.Facts)}
	if j.Problem != "" {
		out.notes = append(out.notes, "what the server says of its locks is not known of every round: "+j.Problem)
	}
	if j.UnknownDone > 0 {
		out.notes = append(out.notes, fmt.Sprintf("the documents of %s are as an update has left them of which it was not known whether it was done", check.Counted(j.UnknownDone, "user", "users")))
	}
	return out, nil
}
