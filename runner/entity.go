package runner

import (
	"context"
	"path/filepath"
	"strconv"

	"assay/catalog"
	"assay/check"
	"assay/load"
	"assay/measure"
	"assay/report"
	"assay/workload/entity"
)

func entityKind() kind {
	return kind{
		validate: validateEntity,
		strip:    func(s *Scenario) { s.Entity = entity.Config{} },
		open:     openEntity,
		counts:   func(op uint8) bool { return op == entity.KindPut || op == entity.KindGet },
		options:  func(s Scenario) []report.Setting { return entityOptions(s.Entity) },
		judge:    judgeEntity, stateFile: entity.FileState,
	}
}

func validateEntity(s Scenario) error {
	if s.Load.Retry == load.RetryBlind { // an entity has one id, whatever the attempt
		return &load.PlanError{Option: "--retry", Value: string(s.Load.Retry), Want: "none, failed or idempotent"}
	}
	return s.Entity.Validate()
}

func openEntity(ctx context.Context, driver catalog.Driver, s Scenario, address string) (work, error) {
	return openOn(ctx, s, target(s, address), driver.Support(entity.Name), func(store entity.Store) (*entity.Work, error) {
		return entity.NewWork(store, s.Entity, s.Load.Seed)
	})
}

func entityOptions(c entity.Config) []report.Setting {
	return []report.Setting{
		{Name: "write share", Value: strconv.FormatFloat(c.WriteShare, 'g', -1, 64)},
		{Name: "entities", Value: strconv.FormatInt(c.Entities, 10)},
	}
}

func judgeEntity(_ context.Context, folder string, s Scenario, promise, inFlight string) (judgement, error) {
	j, err := entity.Judge(s.Entity, s.Load.Seed, entity.Evidence{
		History: filepath.Join(folder, FileHistory), State: filepath.Join(folder, entity.FileState),
		Promise: promise, InFlight: inFlight,
	})
	if err != nil {
		return judgement{}, err
	}
	f := j.Figures
	return judgement{
		results: j.Results, entity: entityOf(f), notes: entityNotes(folder, s, f),
		counted: f.Writes.Outcomes.Plus(f.Reads.Outcomes),
	}, nil
}

func entityOf(f entity.Figures) *report.Entity {
	flow := func(x entity.Flow) report.EntityFlow {
		return report.EntityFlow{
			Outcomes: x.Outcomes, PerSecond: x.PerSecond, Max: x.Max,
			Mean: x.MeanMillis, P50: x.P50Millis, P95: x.P95Millis, P99: x.P99Millis, Longest: x.MaxMillis,
		}
	}
	return &report.Entity{
		Writes: flow(f.Writes), Reads: flow(f.Reads), Rows: f.Rows, Compared: f.Answered, Wrong: f.Wrong,
		Lost: f.Lost, Altered: f.Altered, Stale: f.Stale, StaleBy: float64(max(f.StaleBy, 0)) / 1e6,
		UnknownDone: f.UnknownDone, FailedDone: f.FailedDone,
	}
}

func entityNotes(folder string, s Scenario, f entity.Figures) []string {
	if unknown := f.Writes.Outcomes.Unknown; unknown > 0 {
		return []string{unknownNote(folder, s, check.Counted(unknown, "write", "writes")+" that ended unknown", unknown, f.UnknownDone)}
	}
	return nil
}

// enterDegradation marks the point at which the throughput fell for good. It is
// looked for in a closed loop without rounds or faults: in an open loop the
// throughput is what was asked for, rounds differ on purpose, and what a fault
// does is told of the fault. That there is none is said of workload entity,
// which is asked for it.
func enterDegradation(r *report.Result, f measure.Figures, s Scenario) {
	if s.Load.Rate > 0 || len(r.Rounds) > 0 || len(s.Faults) > 0 {
		return
	}
	d := measure.FindDegradation(f.Series)
	if d.Found {
		r.Series.Degradation = &d.AtSeconds
		r.Notes = append(r.Notes, d.String())
	} else if s.Workload == entity.Name {
		r.Notes = append(r.Notes, d.String())
	}
}
