package visibility

import (
	"assay/check/operation"
	"assay/history/exchange"
)

// writes are the writes of values each of which is written once.
type writes struct {
	of map[exchange.Atom]*operation.Operation
	// again is a value that was written more than once.
	again *exchange.Atom
	count int64
}

func newWrites() *writes { return &writes{of: map[exchange.Atom]*operation.Operation{}} }

// add takes note of a write. It returns false if the value was written before by
// one that may have taken effect.
func (w *writes) add(value exchange.Atom, o *exchange.Operation) bool {
	one := operation.Of(o)
	w.count++
	before := w.of[value]
	switch {
	case before == nil || !before.Possible():
		w.of[value] = &one
		return true
	case one.Possible():
		w.again = &value
	}
	return false
}

// seen adds why a read cannot have seen a value; it returns false if so.
func (w *writes) seen(value exchange.Atom, by *operation.Operation, f *operation.Findings) bool {
	one := w.of[value]
	switch {
	case one == nil:
		f.Add(kindUnexpected, by, "saw %s, which nobody wrote", value)
	case !one.Possible():
		f.Add(kindFailed, by, "saw %s, but %s failed to write it, and nobody else did", value, one)
	case by.Complete < one.Invoke:
		f.Add(kindFuture, by, "saw %s before %s began to write it", value, one)
	default:
		return true
	}
	return false
}
