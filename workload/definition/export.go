package definition

import (
	"context"

	"assay/check"
	"assay/check/cycle"
	"assay/history"
	"assay/history/exchange"
)

// Exporting is a Config whose runs checkers of other tools can judge.
type Exporting interface {
	// Export returns the writer of a run with this seed. test selects one of several tests;
	// empty is the usual one. An error completes a sentence that begins with the folder's name.
	Export(seed uint64, test string) (Exported, error)
}

// Exported turns a run into operations that other tools know. It sets the function and its
// values; the caller sets client, times and outcome.
type Exported interface {
	// Has reports whether operations of a kind (history.Op.Kind) are written. If not, other
	// names them.
	Has(kind uint8) (is bool, other string)
	Rows() int64
	// Opening writes a read of the loaded rows, before all operations; false if there is none.
	Opening(to *exchange.Operation) bool
	// Attempt writes one attempt of an operation.
	Attempt(op *history.Op, to *exchange.Operation) error
	// Last writes the read of the final state; a missing file leaves to empty.
	Last(state string, to *exchange.Operation) error
}

// Reducing is a Config whose judge finds the smallest transactions that show an anomaly.
type Reducing interface {
	// Reduce judges against a model; empty means the run's own.
	Reduce(ctx context.Context, seed uint64, e Evidence, model string) (Reduced, error)
}

// Reduced is the result of Reduce.
type Reduced struct {
	Smallest []cycle.Smallest
	// Model is the model that Smallest violates.
	Model   cycle.Model
	Results []check.Result
}
