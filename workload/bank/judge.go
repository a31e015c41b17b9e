package bank

import (
	"errors"
	"io/fs"

	"assay/check"
	"assay/check/ledger"
	"assay/history"
)

// Judgement is what the books of one run say.
type Judgement struct {
	Results []check.Result
	// Tally says what became of the unknown transfers.
	Tally ledger.Tally
}

// Evidence names the files that a run is judged by, and what is known to be
// wrong with them.
type Evidence struct {
	// History and State are paths; State is what Save wrote.
	History, State string
	// InFlight, if not empty, says why transfers may have been in flight when
	// the state was read.
	InFlight string
}

// Judge judges a run by its files alone, so that it can be done again at any
// time. A missing or cut state gives verdicts of unknown; files that are
// malformed give a *history.FormatError.
func Judge(config Config, seed uint64, e Evidence) (Judgement, error) {
	transfers, err := NewTransfers(config, seed)
	if err != nil {
		return Judgement{}, err
	}
	judge, err := ledger.New(ledger.Books{
		Accounts: config.Accounts,
		Opening:  transfers.Accounts().Opening,
		Expect: func(id int64) (source, destination, amount int64) {
			t := transfers.At(id)
			return t.Source, t.Destination, t.Amount
		},
		ID:           TransferID,
		Split:        SplitID,
		TransferKind: KindTransfer,
	})
	if err != nil {
		return Judgement{}, err
	}
	_, err = history.Read(e.History, history.Visitor{
		Op:          func(op *history.Op) error { judge.Op(op); return nil },
		Reservation: func(r history.Reservation) error { judge.Reserve(r); return nil },
	})
	if err != nil {
		return Judgement{}, err
	}
	if err := replayInto(judge, e.State); err != nil {
		return Judgement{}, err
	}
	if e.InFlight != "" {
		judge.Incomplete(ledger.Journal, e.InFlight)
		judge.Incomplete(ledger.Accounts, e.InFlight)
	}
	return Judgement{Results: judge.Results(), Tally: judge.Tally()}, nil
}

func replayInto(judge *ledger.Judge, state string) error {
	err := Replay(state,
		func(a Account) error { judge.Account(a.ID, a.Balance, a.Version); return nil },
		func(e Entry) error {
			judge.Row(ledger.Row{
				ID: e.ID, Source: e.Source, Destination: e.Destination, Amount: e.Amount,
				SourceVersion: e.SourceVersion, DestinationVersion: e.DestinationVersion,
			})
			return nil
		})
	var cut *CutError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		err = errors.New("the database was not read back")
	case errors.As(err, &cut):
	default:
		return err
	}
	judge.Incomplete(ledger.Journal, err.Error())
	judge.Incomplete(ledger.Accounts, err.Error())
	return nil
}
