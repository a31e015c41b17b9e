package visibility

import (
	"assay/check"
	"assay/check/operation"
	"assay/history/exchange"
)

// writes are the writes of values each of which is written once.
type writes struct {
	of map[exchange.Atom]*write
	// again is a value that was written more than once.
	again                 *exchange.Atom
	count, failed, unsure int64
}

type write struct {
	by       operation.Operation
	possible bool
}

func newWrites() *writes { return &writes{of: map[exchange.Atom]*write{}} }

// add takes note of a write. It returns false if the value was written before by
// one that may have taken effect.
func (w *writes) add(value exchange.Atom, o *exchange.Operation) bool {
	one := &write{by: operation.Of(o)}
	one.possible = one.by.Possible()
	w.count++
	switch {
	case !one.possible:
		w.failed++
	case !one.by.Acknowledged():
		w.unsure++
	}
	before := w.of[value]
	switch {
	case before == nil || !before.possible:
		w.of[value] = one
		return true
	case one.possible:
		w.again = &value
	}
	return false
}

// seen adds why a read cannot have seen a value; it returns false if so.
func (w *writes) seen(value exchange.Atom, by *operation.Operation, f *operation.Findings) bool {
	one := w.of[value]
	switch {
	case one == nil:
		f.Add(kindUnexpected, func() check.Evidence { return by.Evidence(kindUnexpected, "saw %s, which nobody wrote", value) })
	case !one.possible:
		f.Add(kindFailed, func() check.Evidence {
			return operation.With(by.Evidence(kindFailed, "saw %s, but %s failed to write it, and nobody else did", value, &one.by), &one.by)
		})
	case by.Complete < one.by.Invoke:
		f.Add(kindFuture, func() check.Evidence {
			return operation.With(by.Evidence(kindFuture, "saw %s before %s began to write it", value, &one.by), &one.by)
		})
	default:
		return true
	}
	return false
}
