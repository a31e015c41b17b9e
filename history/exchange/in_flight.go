package exchange

import "slices"

// lowProcesses are the processes whose operations are found without a map.
const lowProcesses = 1 << 12

// inFlight are the operations that were invoked and not completed yet, by process.
type inFlight struct {
	low  []*Operation
	high map[int64]*Operation
	len  int
}

// of returns the operation of a process, or nil.
func (f *inFlight) of(process int64) *Operation {
	if process < int64(len(f.low)) {
		return f.low[process]
	}
	return f.high[process]
}

// add enters the operation of a process that has none.
func (f *inFlight) add(op *Operation) {
	f.len++
	switch process := op.Process; {
	case process < int64(len(f.low)):
		f.low[process] = op
	case process < lowProcesses:
		f.low = append(f.low, make([]*Operation, process+1-int64(len(f.low)))...)
		f.low[process] = op
	default:
		if f.high == nil {
			f.high = map[int64]*Operation{}
		}
		f.high[process] = op
	}
}

// remove takes out the operation of a process that has one.
func (f *inFlight) remove(process int64) {
	f.len--
	if process < int64(len(f.low)) {
		f.low[process] = nil
		return
	}
	delete(f.high, process)
}

// empty takes out all operations, and returns them from the last to the first.
func (f *inFlight) empty() []*Operation {
	var all []*Operation
	for _, op := range f.low {
		if op != nil {
			all = append(all, op)
		}
	}
	for _, op := range f.high {
		all = append(all, op)
	}
	*f = inFlight{}
	slices.SortFunc(all, func(a, b *Operation) int { return int(b.Invoke - a.Invoke) })
	return all
}
