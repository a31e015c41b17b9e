package runner

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"assay/catalog"
	"assay/check"
	"assay/check/cycle"
	"assay/measure"
	"assay/report"
	"assay/workload"
	"assay/workload/isolation"
)

func isolationKind() kind {
	return kind{
		validate: validateIsolation,
		strip:    func(s *Scenario) { s.Transactions = isolation.Config{} },
		open:     openIsolation,
		counts:   func(uint8) bool { return true },
		options:  func(s Scenario) []report.Setting { return isolationOptions(s) },
		judge:    judgeIsolation, stateFile: isolation.FileState,
		// Conflicts are what it is made for, so that they spoil nothing.
		limit: func(l *measure.Limits) { l.MaxErrorShare = 1 },
	}
}

func validateIsolation(s Scenario) error {
	if s.Transactions.Model != "" {
		if _, err := cycle.ParseModel(s.Transactions.Model); err != nil {
			return &workload.OptionError{Option: "--model", Value: s.Transactions.Model, Want: modelNames()}
		}
	}
	if err := isolation.CheckPlan(s.Load); err != nil {
		return err
	}
	return s.Transactions.Validate()
}

func modelNames() string {
	var names []string
	for _, m := range cycle.Models() {
		names = append(names, string(m))
	}
	return strings.Join(names, ", ")
}

func openIsolation(ctx context.Context, driver catalog.Driver, s Scenario, address string) (work, error) {
	return openOn(ctx, s, target(s, address), driver.Support(isolation.Name), func(store isolation.Store) (*isolation.Work, error) {
		return isolation.NewWork(store, s.Transactions, s.Load.Seed)
	})
}

// rewritten is what is said of appends that a driver makes by reading a list and
// writing it anew. Runs of earlier versions lack it (changed).
const rewritten = " (read and written anew in the transaction)"

func isolationOptions(s Scenario) []report.Setting {
	c := s.Transactions
	style := "atomic"
	if c.Rewrite {
		style = "read and rewrite"
	} else if driver, err := catalog.DriverFor(s.Database); s.Database != "" && err == nil && driver.RewritesLists {
		style += rewritten
	}
	return []report.Setting{
		{Name: "test", Value: c.Test},
		{Name: "keys", Value: strconv.Itoa(c.Keys)},
		{Name: "length", Value: strconv.Itoa(c.Length)},
		{Name: "per key", Value: strconv.Itoa(c.PerKey)},
		{Name: "appends", Value: style},
	}
}

func judgeIsolation(ctx context.Context, folder string, s Scenario, promise, inFlight string) (judgement, error) {
	ctx, cancel := context.WithTimeout(ctx, searchTimeout)
	defer cancel()
	evidence := isolation.Evidence{
		History: filepath.Join(folder, FileHistory), State: filepath.Join(folder, isolation.FileState),
		Promise: promise, InFlight: inFlight,
	}
	j, err := isolation.Judge(ctx, s.Transactions, s.Load.Seed, evidence)
	if err != nil {
		return judgement{}, err
	}
	out := judgement{results: j.Results, notes: isolationNotes(j), counted: j.Tally}
	if asked := string(j.Model); s.Transactions.Model != "" && asked != promise {
		out.asked = asked
		out.promised, err = judgePromise(ctx, s, evidence)
	}
	return out, err
}

// judgePromise holds a run against what the vendor promises, as if no other
// model had been asked for. Where that is not known, one check says so.
func judgePromise(ctx context.Context, s Scenario, evidence isolation.Evidence) ([]check.Result, error) {
	s.Transactions.Model = ""
	j, err := isolation.Judge(ctx, s.Transactions, s.Load.Seed, evidence)
	if unknown := (*cycle.ModelError)(nil); errors.As(err, &unknown) {
		return []check.Result{{Name: "promise", Detail: "which model the vendor promises is not known"}}, nil
	}
	return j.Results, err
}

// searchTimeout bounds the search for anomalies; what is not found by then is
// unknown.
const searchTimeout = 10 * time.Minute

func isolationNotes(j isolation.Judgement) []string {
	notes := []string{fmt.Sprintf("judged against %s", j.Model)}
	if j.Report == nil {
		return notes
	}
	if len(j.Report.Permitted) > 0 {
		notes = append(notes, fmt.Sprintf("found, and allowed by %s: %s", j.Model, strings.Join(j.Report.Permitted, ", ")))
	}
	if len(j.Report.Anomalies) > 0 {
		notes = append(notes, fmt.Sprintf("found, and forbidden by %s: %s; what was found rules out %v and all stronger models",
			j.Model, strings.Join(j.Report.Anomalies, ", "), j.Report.Not))
	}
	return notes
}
