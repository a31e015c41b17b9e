package recorded

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"

	"assay/check"
	"assay/history/exchange"
)

// mostRegisters bounds the states of the registers kept at one time, besides their memory.
const mostRegisters = 100_000

// roomOfState is what a state takes besides its registers, in bytes: in two maps and a list.
const roomOfState = 200

// registers judges transactions that read and write several registers, which are nil at first
// (knossos.model, multi-register). All must fit in one order that keeps real time, in which each
// read returns the last value written: linearizability of the map, which for transactions is
// strict serializability. A value may be written several times, unlike in check/cycle. The judge
// is a search, in which writes of unknown outcome stay in flight for good.
type registers struct {
	all             []transaction
	keys            map[exchange.Atom]int32
	values          map[exchange.Atom]int32
	failed, unknown int64
	read            bool
	memory          int // for the search, in bytes
}

// registerStep is one read or write of a transaction. The value 0 is nil.
type registerStep struct {
	write      bool
	key, value int32
}

type transaction struct {
	by    Operation
	steps []registerStep
	text  string
	slot  int
}

// newMultiRegister judges a :txn of steps such as [:read k nil] or [:write k v] (or :r and :w).
func newMultiRegister() *judge { return multiRegister(mostMemory) }

func multiRegister(memory int) *judge {
	r := &registers{keys: map[exchange.Atom]int32{}, values: map[exchange.Atom]int32{{}: 0}, memory: memory}
	return &judge{functions: []function{{word: "txn", take: r.add}}, result: r.result}
}

func (r *registers) add(o *exchange.Operation, by Operation) error {
	did := value(o)
	t := transaction{by: by}
	if did.Form != exchange.List {
		return unfit("steps such as [:read 1 nil]")
	}
	writes, reads := false, false
	for i := range did.Items {
		word, key, v, err := stepOf(&did.Items[i], "steps such as [:read 1 nil]")
		if err != nil {
			return err
		}
		s := registerStep{write: word == "write" || word == "w", key: numberOf(r.keys, key), value: numberOf(r.values, v)}
		if !s.write && word != "read" && word != "r" {
			return unfit("steps such as [:read 1 nil] or [:write 1 2]")
		}
		if !s.write && (s.value == 0 || !by.Acknowledged()) {
			continue // a read of nil is always right
		}
		writes, reads = writes || s.write, reads || !s.write
		t.steps = append(t.steps, s)
	}
	switch {
	case !by.Possible():
		r.failed++
		return nil
	case !by.Acknowledged():
		r.unknown++
		if !writes {
			return nil
		}
	}
	r.read = r.read || reads
	t.text = did.String()
	r.all = append(r.all, t)
	return nil
}

func numberOf(of map[exchange.Atom]int32, a exchange.Atom) int32 {
	n, known := of[a]
	if !known {
		n = int32(len(of))
		of[a] = n
	}
	return n
}

// configuration is the content of the registers, 4 bytes each, and the operations in flight that
// have taken effect.
type configuration struct {
	registers string
	done      slots
}

// apply returns the registers after a transaction; false if they do not hold the values read.
func apply(registers string, steps []registerStep) (string, bool) {
	held := []byte(registers)
	for _, s := range steps {
		at := held[4*s.key:]
		if s.write {
			binary.LittleEndian.PutUint32(at, uint32(s.value))
		} else if int32(binary.LittleEndian.Uint32(at)) != s.value {
			return "", false
		}
	}
	return string(held), true
}

func (r *registers) result(ctx context.Context) check.Result {
	detail := fmt.Sprintf("%s (%s failed, %s of unknown outcome) on %s", plural(int64(len(r.all))+r.failed, "transaction"),
		check.CountOrNone(r.failed), check.CountOrNone(r.unknown), plural(len(r.keys), "register"))
	f := newFindings(kindNoOrder)
	missing := r.search(ctx, f)
	if f.Count(kindNoOrder) > 0 {
		detail += "; not linearizable"
	}
	return f.resultAs("multi-register", detail, missing, !r.read, "nothing was read, so nothing can be said")
}

func (r *registers) search(ctx context.Context, f *findings) (missing string) {
	var used slots
	var flight [mostInFlight]*transaction
	size := 4*len(r.keys) + roomOfState
	s := search[configuration]{present: map[configuration]bool{{registers: string(make([]byte, 4*len(r.keys)))}: true},
		most: min(mostRegisters, r.memory/size), steps: math.MaxInt, turns: max(1, turnsOfSearch*roomOfState/size)}
	next := func(c configuration, yield func(configuration)) {
		(used &^ c.done).each(func(slot int) {
			if after, ok := apply(c.registers, flight[slot].steps); ok {
				yield(configuration{after, c.done | 1<<slot})
			}
		})
	}
	order := moments(len(r.all), func(i int) (int64, int64) { return r.all[i].by.Invoke, r.all[i].by.Complete })
	for len(order) > 0 && !order[len(order)-1].ended { // nothing rests on what is begun later
		order = order[:len(order)-1]
	}
	for _, m := range order {
		x, ok := &r.all[m.op], false
		if !m.ended {
			if x.slot, ok = used.take(); !ok {
				return fmt.Sprintf("not judged: more than %d transactions are in flight at once", mostInFlight)
			}
			flight[x.slot] = x
			continue
		}
		before := len(s.present)
		if !s.reach(ctx, func(c *configuration) bool { return c.done.end(x.slot) }, next) {
			if ctx.Err() != nil {
				return "not judged to its end: the time limit ended before the search; allow more time, or judge a shorter history"
			}
			return "not judged to its end: the search needed more memory than it is given; judge a history with fewer operations at a time"
		}
		used.end(x.slot)
		if len(s.present) == 0 {
			f.add(kindNoOrder, &x.by, "did %s: no order of the transactions explains that; %s would explain all before it", x.text,
				check.Counted(before, "state of the registers", "states of the registers"))
			return ""
		}
	}
	return ""
}
