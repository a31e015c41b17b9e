package definition

import (
	"context"

	"assay/check"
	"assay/check/cycle"
	"assay/history"
	"assay/history/exchange"
)

// Exporting is a Config whose runs other tools' checkers can judge.
type Exporting interface {
	// Export returns how a saved run with this seed is written for them. test names which
	// transactions of a run that has several are wanted; empty is the usual ones. An error says
	// what the run holds instead, behind the name of its folder.
	Export(seed uint64, test string) (Exported, error)
}

// Exported says how a saved run is written as operations of a history that other tools know.
// Its methods fill in the function of an operation and what that needs; the caller fills in
// who did it, when, and how it ended.
type Exported interface {
	// Has reports whether operations of a kind (history.Op.Kind) are written; if not, other says
	// what they are.
	Has(kind uint8) (is bool, other string)
	// Rows is how many rows Opening reads.
	Rows() int64
	// Opening is a read of what was loaded, before all operations; false if none is needed.
	Opening(to *exchange.Operation) bool
	// Attempt is one attempt of an operation.
	Attempt(op *history.Op, to *exchange.Operation) error
	// Last is the read of what was read back into the file of this name, which may not be there.
	// It leaves to empty if nothing was.
	Last(state string, to *exchange.Operation) error
}

// Reducing is a Config whose judge finds the smallest transactions that show what is wrong.
type Reducing interface {
	// Reduce judges a run against a model, or against the run's own if it is empty.
	Reduce(ctx context.Context, seed uint64, e Evidence, model string) (Reduced, error)
}

// Reduced is what came of reducing a run.
type Reduced struct {
	Smallest []cycle.Smallest
	// Model is what the smallest parts were judged against.
	Model cycle.Model
	// Results are the results of the judgement of the whole run.
	Results []check.Result
}
