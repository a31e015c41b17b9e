package runner

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"strconv"

	"assay/catalog"
	"assay/check"
	"assay/measure"
	"assay/report"
	"assay/workload"
	"assay/workload/availability"
)

func availabilityKind() kind {
	return kind{
		validate: func(s Scenario) error { return s.Availability.Validate() },
		strip:    func(s *Scenario) { s.Availability = availability.Config{} },
		open:     openAvailability,
		counts:   func(op uint8) bool { return op == availability.KindInsert },
		options:  func(s Scenario) []report.Setting { return availabilityOptions(s.Availability) },
		judge:    judgeAvailability, stateFile: availability.FileState,
		// Its figures are single times at few operations a second, not
		// percentiles of a steady state.
		limit: func(l *measure.Limits) { l.MinCommitted, l.NoSteadyState = 10, true },
	}
}

func openAvailability(ctx context.Context, driver catalog.Driver, s Scenario, address string) (work, error) {
	to := target(s, address)
	to.Read = s.Availability.Read
	return openOn(ctx, s, to, driver.Support(availability.Name), func(store availability.Store) (*availability.Work, error) {
		return availability.NewWork(store, s.Availability, s.Load.Seed)
	})
}

func availabilityOptions(c availability.Config) []report.Setting {
	return []report.Setting{
		{Name: "policy", Value: string(c.Policy)},
		{Name: "read", Value: cmp.Or(c.Read, workload.ReadPrimary)},
		{Name: "readers", Value: strconv.Itoa(c.Readers)},
		{Name: "reads", Value: strconv.FormatFloat(c.ReadRate, 'g', -1, 64) + "/s"},
	}
}

func judgeAvailability(_ context.Context, folder string, s Scenario, promise, inFlight string) (judgement, error) {
	j, err := availability.Judge(s.Availability, s.Load.Seed, availability.Evidence{
		History: filepath.Join(folder, FileHistory), State: filepath.Join(folder, availability.FileState),
		Promise: promise, InFlight: inFlight,
	})
	if err != nil {
		return judgement{}, err
	}
	f := j.Figures
	return judgement{
		results: j.Results, availability: availabilityOf(s.Availability, f), notes: availabilityNotes(folder, s, f),
		counted: f.Writes,
	}, nil
}

func availabilityOf(c availability.Config, f availability.Figures) *report.Availability {
	ms := func(ns int64) float64 { return float64(ns) / 1e6 }
	return &report.Availability{
		Policy: string(c.Policy), Read: cmp.Or(c.Read, workload.ReadPrimary),
		Writes: f.Writes, Reads: f.Reads, Rows: f.Rows,
		Lost: f.Lost, Duplicates: f.Duplicates, Surplus: f.Surplus, UnknownDone: f.UnknownDone, FailedDone: f.FailedDone,
		Stale: f.Stale, StaleBy: ms(f.StaleBy), HungWrites: f.HungWrites, HungReads: f.HungReads,
		LongestWrite: ms(f.LongestWrite), LongestRead: ms(f.LongestRead),
		WriteOutage: ms(f.WriteOutage.Length()), ReadOutage: ms(f.ReadOutage.Length()),
	}
}

func availabilityNotes(folder string, s Scenario, f availability.Figures) []string {
	var notes []string
	if f.Writes.Unknown > 0 {
		notes = append(notes, unknownNote(folder, s, check.Counted(f.Writes.Unknown, "insert", "inserts")+" that ended unknown", f.Writes.Unknown, f.UnknownDone))
	}
	if f.Duplicates > 0 {
		notes = append(notes, fmt.Sprintf("%s left more than one row (%s too many): the client repeated what it took for failed; "+
			"with --policy idempotent it would not", check.Counted(f.Duplicates, "operation", "operations"), check.Counted(f.Surplus, "row", "rows")))
	}
	if hung := f.HungWrites + f.HungReads; hung > 0 {
		notes = append(notes, check.Counted(hung, "call", "calls")+" without a time limit hung until the run ended")
	}
	return notes
}
