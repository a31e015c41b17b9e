package isolation

import (
	"fmt"
	"slices"

	"assay/check"
	"assay/check/cycle"
	"assay/history"
	"assay/workload/definition"
)

type state struct {
	// missing says why there is no state, inFlight why it may not be the last.
	missing, inFlight string

	lists    []savedList
	elements []int64 // of all lists
	values   []savedValue

	// Sorted sets for lookups.
	elementSet, keySet []int64
}

type savedList struct {
	key      int64
	from, to int // in elements
}

type savedValue struct{ key, value int64 }

func (s *state) list(key int64, elements []int64) error {
	from := len(s.elements)
	s.elements = append(s.elements, elements...)
	s.lists = append(s.lists, savedList{key, from, len(s.elements)})
	return nil
}

func (s *state) register(key, value int64) error {
	s.values = append(s.values, savedValue{key, value})
	return nil
}

func (s *state) sort() {
	s.elementSet = slices.Clone(s.elements)
	slices.Sort(s.elementSet)
	for _, l := range s.lists {
		s.keySet = append(s.keySet, l.key)
	}
	for _, v := range s.values {
		s.keySet = append(s.keySet, v.key)
	}
	slices.Sort(s.keySet)
}

func (s *state) holdsElement(v int64) bool {
	_, found := slices.BinarySearch(s.elementSet, v)
	return found
}

func (s *state) holdsKey(key int64) bool {
	_, found := slices.BinarySearch(s.keySet, key)
	return found
}

// durability checks that each acknowledged element is in a list and each written register
// exists, which holds at every isolation level. check/cycle cannot: most models do not know real
// time, and take a list cut short for a read of the past.
type durability struct {
	model cycle.Model
	state *state
	// forgiven is true if appends were rewrites and the model allows lost updates.
	forgiven bool
	// losses is nil without power cuts.
	losses *definition.Losses

	appends, writes int64 // acknowledged
	lost            int64 // and forgiven
	gone            map[int64]struct{}
	found           check.Result
}

// look takes a transaction over lists and registers.
func (d *durability) look(op *history.Op, ops []Op) {
	if op.Outcome != history.Committed {
		return
	}
	counted, allowed := false, false
	permitted := func() bool { // asked once for a transaction
		if !counted {
			_, allowed = d.losses.Add(op.Start, op.End)
		}
		counted = true
		return allowed
	}
	for i := range ops {
		o := &ops[i]
		switch o.Kind {
		case Append, AppendByRewrite:
			d.appends++
			if d.state.missing == "" && !d.state.holdsElement(o.Value) && !permitted() {
				d.lose(op, o)
			}
		case Write:
			d.writes++
		default:
			continue
		}
		if d.state.missing == "" && !d.state.holdsKey(o.Key) && !permitted() {
			d.miss(op, o)
		}
	}
}

// lose notes a missing append.
func (d *durability) lose(op *history.Op, o *Op) {
	if d.forgiven {
		d.lost++
		return
	}
	d.found.Add(check.Evidence{
		Kind: "lost-append",
		Text: fmt.Sprintf("element %d is not in list %d, nor in any other: it was appended by %s, acknowledged at %s",
			o.Value, o.Key, attempt(op), seconds(op.End)),
		Fields: fields(op, map[string]int64{"key": o.Key, "element": o.Value}),
	})
}

// miss notes a missing list or register.
func (d *durability) miss(op *history.Op, o *Op) {
	if _, known := d.gone[o.Key]; known {
		return
	}
	d.gone[o.Key] = struct{}{}
	if o.Kind != Write {
		return // its elements are missed one by one
	}
	d.found.Add(check.Evidence{
		Kind: "lost-write",
		Text: fmt.Sprintf("register %d does not exist: it was written by %s, acknowledged at %s",
			o.Key, attempt(op), seconds(op.End)),
		Fields: fields(op, map[string]int64{"key": o.Key, "value": o.Value}),
	})
}

func (d *durability) looked() string {
	appends := check.Counted(d.appends, "acknowledged append", "acknowledged appends")
	switch {
	case d.writes == 0:
		return appends
	case d.appends == 0:
		return check.Counted(d.writes, "acknowledged write", "acknowledged writes")
	}
	return appends + " and " + check.Counted(d.writes, "write", "writes")
}

func (d *durability) result() check.Result {
	r := d.found
	r.Name = "durability"
	looked := d.looked()
	switch {
	case d.state.missing != "":
		r.Detail = fmt.Sprintf("%s: %s", looked, d.state.missing)
	case d.appends+d.writes == 0:
		r.Detail = "nothing was acknowledged"
	case r.Verdict == check.Violated:
		r.Detail = fmt.Sprintf("%s: %s gone from the lists and registers that were read back", looked, check.Counted(r.Found, "is", "are"))
	case d.state.inFlight != "":
		r.Detail = fmt.Sprintf("%s: %s", looked, d.state.inFlight)
	case d.lost > 0:
		r.Allow("lost-append", d.lost)
		r.Detail = fmt.Sprintf("%s: %s overwritten by lists written as a whole, and %s does not rule out lost updates",
			looked, check.Counted(d.lost, "append was", "appends were"), d.model)
	default:
		r.Verdict = check.Valid
		r.Detail = looked + ": all are in the lists and registers that were read back"
	}
	return r
}

func attempt(op *history.Op) string {
	return fmt.Sprintf("transaction %d (client %d, operation %d, attempt %d)",
		TransactionID(op.Client, op.Seq, op.Attempt), op.Client, op.Seq, op.Attempt)
}

func seconds(at int64) string { return fmt.Sprintf("%.6f s", float64(at)/1e9) }

func fields(op *history.Op, more map[string]int64) map[string]int64 {
	more["transaction"] = TransactionID(op.Client, op.Seq, op.Attempt)
	more["client"], more["start_ns"], more["end_ns"] = int64(op.Client), op.Start, op.End
	return more
}
