// Package multiregister judges histories of transactions that read and write
// several registers (knossos.model, multi-register): whether all can be put in one
// order that keeps real time, in which each read returns what was written last
// (linearizability of the map of all registers, which for transactions is strict
// serializability). A value may be written often, which check/cycle does not take.
//
// It goes through time and keeps what the registers may hold and which
// operations in flight have taken effect (just-in-time linearization, Lowe,
// "Testing for linearizability", Concurrency and Computation 29(4), 2017). That
// takes time that grows with the history and exponentially with what is in flight,
// to which writes of unknown outcome belong for good.
package multiregister

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"slices"

	"assay/check"
	"assay/check/operation"
	"assay/history"
	"assay/history/exchange"
)

const (
	// mostInFlight bounds the operations in flight at one time.
	mostInFlight = 64
	// mostStates bounds what is kept at one time.
	mostStates = 100_000
)

// step is one read or write of a transaction. The value 0 is nil.
type step struct {
	write      bool
	key, value int32
}

type transaction struct {
	by    operation.Operation
	steps []step
	text  string
}

// Judge judges one history. It is not safe for concurrent use.
type Judge struct {
	all     []transaction
	keys    map[exchange.Atom]int32
	values  map[exchange.Atom]int32
	failed  int64
	unknown int64
	read    bool
}

// New returns a judge. Each register holds nil at first.
func New() *Judge {
	return &Judge{keys: map[exchange.Atom]int32{}, values: map[exchange.Atom]int32{{}: 0}}
}

// Add takes one operation, a :txn of steps such as [:read k nil] or [:write k v]
// (or :r and :w). Any other is an error.
func (j *Judge) Add(o *exchange.Operation) error {
	if o.Word != "txn" {
		return operation.UnknownFunction(o, "txn")
	}
	value := operation.Value(o)
	t := transaction{by: operation.Of(o)}
	if value.Form != exchange.List {
		return operation.Unfit(o, "steps such as [:read 1 nil]")
	}
	writes, reads := false, false
	for i := range value.Items {
		s, err := j.step(o, &value.Items[i])
		if err != nil {
			return err
		}
		if !s.write && (s.value == 0 || !t.by.Acknowledged()) {
			continue // a read of nil is always right
		}
		writes, reads = writes || s.write, reads || !s.write
		t.steps = append(t.steps, s)
	}
	switch {
	case o.Outcome == history.Failed || o.Outcome == history.Rejected:
		j.failed++
		return nil
	case !t.by.Acknowledged():
		j.unknown++
		if !writes {
			return nil
		}
	}
	j.read = j.read || reads
	t.text = value.String()
	j.all = append(j.all, t)
	return nil
}

func (j *Judge) step(o *exchange.Operation, v *exchange.Value) (step, error) {
	if v.Form != exchange.List || len(v.Items) != 3 || v.Items[1].Form != exchange.Scalar || v.Items[2].Form != exchange.Scalar {
		return step{}, operation.Unfit(o, "steps such as [:read 1 nil]")
	}
	s := step{key: number(j.keys, v.Items[1].Atom), value: number(j.values, v.Items[2].Atom)}
	switch v.Items[0].Word() {
	case "write", "w":
		s.write = true
	case "read", "r":
	default:
		return step{}, operation.Unfit(o, "steps such as [:read 1 nil] or [:write 1 2]")
	}
	return s, nil
}

func number(of map[exchange.Atom]int32, a exchange.Atom) int32 {
	n, known := of[a]
	if !known {
		n = int32(len(of))
		of[a] = n
	}
	return n
}

// configuration is what the registers hold, 4 bytes each, and which of the
// operations in flight have taken effect, by their slots.
type configuration struct {
	registers string
	done      uint64
}

// apply returns what the registers hold after a transaction, false if they do
// not hold what it read.
func apply(registers string, steps []step) (string, bool) {
	var changed []byte
	for _, s := range steps {
		at := 4 * int(s.key)
		switch {
		case s.write:
			if changed == nil {
				changed = []byte(registers)
			}
			binary.LittleEndian.PutUint32(changed[at:], uint32(s.value))
		case changed != nil && int32(binary.LittleEndian.Uint32(changed[at:])) != s.value,
			changed == nil && int32(binary.LittleEndian.Uint32([]byte(registers[at:at+4]))) != s.value:
			return "", false
		}
	}
	if changed == nil {
		return registers, true
	}
	return string(changed), true
}

// search is the way through time.
type search struct {
	flight  [mostInFlight]*transaction
	used    uint64
	present map[configuration]bool
}

// Result returns the answer over all operations, unknown if ctx ends first.
func (j *Judge) Result(ctx context.Context) check.Result {
	r := check.Result{Name: "multi-register"}
	r.Detail = fmt.Sprintf("%s (%s failed, %s of unknown outcome) on %s", operation.Plural(int64(len(j.all))+j.failed, "transaction"),
		check.CountOrNone(j.failed), check.CountOrNone(j.unknown), operation.Plural(len(j.keys), "register"))
	f := operation.NewFindings("unexplained")
	missing := j.search(ctx, f)
	f.Into(&r)
	if f.Count("unexplained") > 0 {
		r.Detail += "; not linearizable"
	}
	r.Finish(missing, !j.read, "nothing was read, so nothing can be said")
	return r
}

func (j *Judge) search(ctx context.Context, f *operation.Findings) (missing string) {
	invoked := make([]*transaction, len(j.all))
	var completed []*transaction
	for i := range j.all {
		invoked[i] = &j.all[i]
		if invoked[i].by.Acknowledged() {
			completed = append(completed, invoked[i])
		}
	}
	slices.SortFunc(invoked, func(a, b *transaction) int { return cmp.Compare(a.by.Invoke, b.by.Invoke) })
	slices.SortFunc(completed, func(a, b *transaction) int { return cmp.Compare(a.by.Complete, b.by.Complete) })
	s := search{present: map[configuration]bool{{registers: string(make([]byte, 4*len(j.keys)))}: true}}
	for _, x := range completed {
		for ; len(invoked) > 0 && invoked[0].by.Invoke < x.by.Complete; invoked = invoked[1:] {
			slot := s.free()
			if slot < 0 {
				return fmt.Sprintf("not judged: more than %d transactions are in flight at once", mostInFlight)
			}
			s.flight[slot], s.used = invoked[0], s.used|1<<slot
		}
		slot := slices.Index(s.flight[:], x)
		before := s.present
		if !s.complete(ctx, slot) {
			if ctx.Err() != nil {
				return "not judged to its end: the time limit ended before the search; allow more time, or judge a shorter history"
			}
			return "not judged to its end: the search needed more memory than it is given; judge a history with fewer operations at a time"
		}
		if len(s.present) == 0 {
			f.Add("unexplained", &x.by, "did %s: no order of the transactions explains that; %s would explain all before it", x.text,
				check.Counted(len(before), "state of the registers", "states of the registers"))
			return ""
		}
	}
	return ""
}

func (s *search) free() int {
	for slot := range mostInFlight {
		if s.used&(1<<slot) == 0 {
			return slot
		}
	}
	return -1
}

// complete keeps the configurations in which the transaction in the slot has taken
// effect, after others in flight where need be, and frees the slot. It returns
// false if there are too many or ctx ends.
func (s *search) complete(ctx context.Context, slot int) bool {
	bit := uint64(1) << slot
	after, seen := map[configuration]bool{}, map[configuration]bool{}
	var open []configuration
	for c := range s.present {
		open = append(open, c)
	}
	for steps := 0; len(open) > 0; steps++ {
		if len(seen)+len(after) > mostStates || steps%1024 == 0 && ctx.Err() != nil {
			return false
		}
		c := open[len(open)-1]
		open = open[:len(open)-1]
		if c.done&bit != 0 {
			c.done &^= bit
			after[c] = true
			continue
		}
		for other := range mostInFlight {
			if s.used&^c.done&(1<<other) == 0 {
				continue
			}
			registers, ok := apply(c.registers, s.flight[other].steps)
			if next := (configuration{registers, c.done | 1<<other}); ok && !seen[next] {
				seen[next] = true
				open = append(open, next)
			}
		}
	}
	s.present = after
	s.flight[slot], s.used = nil, s.used&^bit
	return true
}
