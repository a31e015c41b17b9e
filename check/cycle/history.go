package cycle

import (
	"fmt"
	"math"
	"strconv"

	"assay/history"
	"assay/history/exchange"
)

// Op is one operation of a transaction. A key is either a list (Append, ReadList) or a register
// (Write, ReadValue), never both. ReadNothing fits either, and a ReadList of an empty list means
// the same. Keys and values are any numbers but the smallest 2^32, which stand for strings; see
// Builder.Symbol.
type Op struct {
	Kind       exchange.MicroKind
	Key, Value int64
	List       []int64
}

// The kinds of operations.
const (
	Append      = exchange.Append
	Write       = exchange.Put
	ReadList    = exchange.GetList
	ReadValue   = exchange.GetValue
	ReadNothing = exchange.GetNothing
)

// kindOf returns the kind; ReadNothing for a ReadList of an empty list.
func kindOf(o *Op) exchange.MicroKind {
	if o.Kind == ReadList && len(o.List) == 0 {
		return ReadNothing
	}
	return o.Kind
}

// Txn is one transaction, as its client saw it.
type Txn struct {
	// ID identifies the transaction to the reader of a report, such as by its number in the log.
	ID int64
	// Process is the client, or session, which runs one transaction after the other.
	Process int32
	// Invoke and Complete are moments of one clock, in any unit (nanoseconds, or lines of a
	// log). A transaction precedes another in real time if it completed strictly before the other
	// was invoked. Complete counts only for a committed transaction.
	Invoke, Complete int64
	// Outcome says whether it took effect. Without Committed only the appends and writes count.
	Outcome history.Outcome
	Ops     []Op
}

// InputError says why a transaction cannot be judged.
type InputError struct {
	// ID is the transaction's.
	ID     int64
	Reason string
}

func (e *InputError) Error() string {
	return fmt.Sprintf("cycle: transaction %d: %s", e.ID, e.Reason)
}

// Limits of one history; the machine's memory ends long before. A graph has up to four nodes a
// transaction, which are numbered in 32 bits.
const (
	maxTxns = 1 << 26
	maxOps  = 1 << 29
	maxList = 1<<29 - 1
	// firstNumber is the smallest number that is not a symbol.
	firstNumber = math.MinInt64 + 1<<32
)

// History is a history of transactions in long arrays. A million transactions of three operations
// take about 100 MB. The lists that they read take little more than the appended elements, because
// reads share their common prefix. A Builder makes a History, which does not change.
type History struct {
	txns []txnInfo
	// ops are the operations of all transactions, those of t from first[t] to first[t+1].
	ops   []op
	first []int32
	// longest has by dense key the longest list read, others the lists that contradict it.
	longest [][]int64
	others  []int64
	keys    []int64              // dense key to its number or symbol
	kinds   []exchange.MicroKind // dense key to Append (a list), Write (a register) or 0
	symbols []string             // by number
}

// txnInfo is a Txn without its operations.
type txnInfo struct {
	id, invoke, complete int64
	process              int32
	outcome              history.Outcome
}

// Len returns the number of transactions.
func (h *History) Len() int { return len(h.txns) }

func (h *History) id(txn int32) int64                { return h.txns[txn].id }
func (h *History) invoke(txn int32) int64            { return h.txns[txn].invoke }
func (h *History) complete(txn int32) int64          { return h.txns[txn].complete }
func (h *History) process(txn int32) int32           { return h.txns[txn].process }
func (h *History) outcome(txn int32) history.Outcome { return h.txns[txn].outcome }

func (h *History) list(o op) []int64 {
	if o.kind() != ReadList {
		return nil
	}
	if other := o.val>>29 - 1; other >= 0 {
		return h.others[other : other+int64(o.len())]
	}
	return h.longest[o.key()][:o.len():o.len()]
}

func (h *History) opsOf(txn int32) []op { return h.ops[h.first[txn]:h.first[txn+1]] }

func (h *History) committed(txn int32) bool { return h.outcome(txn) == history.Committed }

// possible reports whether txn may have taken effect.
func (h *History) possible(txn int32) bool {
	outcome := h.outcome(txn)
	return outcome == history.Committed || outcome == history.Unknown
}

// name writes a number, or the string for which it stands.
func (h *History) name(v int64) string {
	if i := v - math.MinInt64; v < firstNumber && i < int64(len(h.symbols)) {
		return strconv.Quote(h.symbols[i])
	}
	return strconv.FormatInt(v, 10)
}

func (h *History) keyName(key int32) string { return h.name(h.keys[key]) }

// Builder collects the transactions of a history, in any order. The zero value is ready. It is not
// safe for concurrent use.
type Builder struct {
	h       History
	dense   map[int64]int32 // keys to their dense number
	symbols map[string]int64
}

// Symbol returns the number that stands for a string as a key or a value.
func (b *Builder) Symbol(s string) int64 {
	if v, known := b.symbols[s]; known {
		return v
	}
	if b.symbols == nil {
		b.symbols = map[string]int64{}
	}
	v := int64(math.MinInt64) + int64(len(b.h.symbols))
	b.h.symbols = append(b.h.symbols, s)
	b.symbols[s] = v
	return v
}

// Add appends one transaction and keeps only copies. If the transaction is not well-formed, Add
// returns an *InputError and adds nothing.
func (b *Builder) Add(t Txn) error {
	if err := b.validate(&t); err != nil {
		return err
	}
	h := &b.h
	txn := int32(h.Len())
	h.txns = append(h.txns, txnInfo{t.ID, t.Invoke, t.Complete, t.Process, t.Outcome})
	h.first = append(h.first, int32(len(h.ops)))
	for i := range t.Ops {
		o := &t.Ops[i]
		if t.Outcome != history.Committed && o.Kind != Append && o.Kind != Write {
			continue
		}
		key := b.key(o.Key)
		kind, val := kindOf(o), o.Value
		if kind == ReadList {
			val = b.storeList(key, o.List)<<29 | int64(len(o.List))
		}
		h.kinds[key] |= kindOfKey(kind)
		h.ops = append(h.ops, op{val, txn, newUse(kind, key)})
	}
	return nil
}

// kindOfKey is Append for operations on lists, Write for those on registers, otherwise 0.
func kindOfKey(k exchange.MicroKind) exchange.MicroKind {
	switch k {
	case Append, ReadList:
		return Append
	case Write, ReadValue:
		return Write
	default:
		return 0
	}
}

func (b *Builder) validate(t *Txn) error {
	bad := func(format string, args ...any) error {
		return &InputError{ID: t.ID, Reason: fmt.Sprintf(format, args...)}
	}
	if !t.Outcome.Valid() {
		return bad("%d is not an outcome", t.Outcome)
	}
	if t.Outcome == history.Committed && t.Complete < t.Invoke {
		return bad("completed at %d, before it was invoked at %d", t.Complete, t.Invoke)
	}
	if b.h.Len() >= maxTxns || len(b.h.ops)+len(t.Ops) > maxOps {
		return bad("the history is longer than %d transactions or %d operations", maxTxns, maxOps)
	}
	for i := range t.Ops {
		o := &t.Ops[i]
		if o.Kind < Append || o.Kind > ReadNothing {
			return bad("operation %d has no kind", i)
		}
		if len(o.List) > maxList {
			return bad("operation %d read a list of %d elements; at most %d", i, len(o.List), maxList)
		}
		if !b.meaningful(o.Key) || !b.meaningful(o.Value) {
			return bad("operation %d has a number below %d; use strings for such", i, int64(firstNumber))
		}
		for _, v := range o.List {
			if !b.meaningful(v) {
				return bad("operation %d read the element %d; use strings for numbers below %d", i, v, int64(firstNumber))
			}
		}
	}
	return b.validateKinds(t, bad)
}

// fewOperations bounds the operations of a transaction that are compared with each other. A
// transaction that reads everything has hundreds of thousands.
const fewOperations = 16

func (b *Builder) validateKinds(t *Txn, bad func(string, ...any) error) error {
	var own map[int64]exchange.MicroKind // of a long transaction, by key
	for i := range t.Ops {
		number, used := t.Ops[i].Key, kindOfKey(kindOf(&t.Ops[i]))
		if key, known := b.dense[number]; known && b.h.kinds[key] != 0 {
			used |= b.h.kinds[key]
		} else if len(t.Ops) > fewOperations {
			if own == nil {
				own = map[int64]exchange.MicroKind{}
			}
			used |= own[number]
			own[number] = used
		} else {
			for j := range i {
				if t.Ops[j].Key == number {
					used |= kindOfKey(kindOf(&t.Ops[j]))
				}
			}
		}
		if used == Append|Write {
			return bad("operation %d uses key %s as a list and as a register", i, b.h.name(number))
		}
	}
	return nil
}

func (b *Builder) meaningful(v int64) bool {
	return v >= firstNumber || v-math.MinInt64 < int64(len(b.h.symbols))
}

// key returns the dense number of a key, and assigns it at the first use.
func (b *Builder) key(number int64) int32 {
	if key, known := b.dense[number]; known {
		return key
	}
	if b.dense == nil {
		b.dense = map[int64]int32{}
	}
	key := int32(len(b.h.keys))
	b.dense[number] = key
	b.h.keys = append(b.h.keys, number)
	b.h.kinds = append(b.h.kinds, 0)
	b.h.longest = append(b.h.longest, nil)
	return key
}

// storeList stores a list read from key. It returns 0 if the list is a prefix of the longest one
// read from the key, which is stored once. Otherwise it returns one plus the place in others.
func (b *Builder) storeList(key int32, list []int64) int64 {
	longest := b.h.longest[key]
	for i, v := range longest[:min(len(longest), len(list))] {
		if list[i] != v {
			at := int64(len(b.h.others))
			b.h.others = append(b.h.others, list...)
			return at + 1
		}
	}
	if len(list) > len(longest) {
		b.h.longest[key] = append(longest, list[len(longest):]...)
	}
	return 0
}

// History returns the added transactions. The Builder must not be used afterwards.
func (b *Builder) History() *History {
	h := b.h
	h.first = append(h.first, int32(len(h.ops)))
	*b = Builder{}
	return &h
}
