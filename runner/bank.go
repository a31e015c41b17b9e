package runner

import (
	"context"
	"path/filepath"
	"strconv"

	"assay/catalog"
	"assay/check"
	"assay/load"
	"assay/report"
	"assay/workload/bank"
)

func bankKind() kind {
	return kind{
		validate: validateBank,
		strip:    func(s *Scenario) { s.Bank = bank.Config{} },
		open:     openBank,
		counts:   func(op uint8) bool { return op == bank.KindTransfer },
		options:  bankOptions, judge: judgeBank, stateFile: bank.FileState,
	}
}

func validateBank(s Scenario) error {
	if s.Load.Retry == load.RetryBlind { // a transfer has one id, whatever its attempt
		return &load.PlanError{Option: "--retry", Value: string(s.Load.Retry), Want: "none, failed or idempotent"}
	}
	return s.Bank.Validate()
}

func openBank(ctx context.Context, driver catalog.Driver, s Scenario, address string) (work, error) {
	return openOn(ctx, s, target(s, address), driver.Support(bank.Name), func(store bank.Store) (*bank.Work, error) {
		return bank.NewWork(store, s.Bank, s.Load.Seed, s.Load.Clients)
	})
}

func bankOptions(s Scenario) []report.Setting {
	return []report.Setting{
		{Name: "accounts", Value: strconv.FormatInt(s.Bank.Accounts, 10)},
		{Name: "keys", Value: s.Bank.Keys},
		{Name: "payroll", Value: strconv.FormatFloat(s.Bank.Payroll, 'g', -1, 64)},
		{Name: "audits", Value: strconv.FormatFloat(s.Bank.Audits, 'g', -1, 64) + "/s"},
	}
}

func judgeBank(_ context.Context, folder string, s Scenario, _, inFlight string) (judgement, error) {
	j, err := bank.Judge(s.Bank, s.Load.Seed, bank.Evidence{
		History: filepath.Join(folder, FileHistory), State: filepath.Join(folder, bank.FileState), InFlight: inFlight,
	})
	if err != nil {
		return judgement{}, err
	}
	t := j.Tally
	out := judgement{results: j.Results, counted: t.Counts}
	if t.Rows == 0 && t.Accounts > 0 && t.Committed >= enough {
		withhold(out.results, (&EmptiedError{Expected: t.Committed}).Error())
	}
	if t.Unknown > 0 {
		out.notes = append(out.notes, unknownNote(folder, s, check.Counted(t.Unknown, "unknown transfer", "unknown transfers"), t.Unknown, t.UnknownApplied))
	}
	return out, nil
}
