package isolation

import (
	"sync/atomic"

	"assay/workload"
)

// Elements of lists, values of registers and ids of groups' rows are unique in a run. Their bits
// name their maker: client, operation number, attempt and index in the transaction.
const (
	indexBits   = 4
	attemptBits = 8
	seqBits     = 30

	// MaxSeq is a client's highest operation number.
	MaxSeq = 1<<seqBits - 1
	// MaxAttempt is the last possible attempt of an operation.
	MaxAttempt = 1<<attemptBits - 1
	// MaxClient keeps elements positive; load.MaxClients is below it.
	MaxClient = 1<<(63-indexBits-attemptBits-seqBits) - 1
	// maxLength bounds a transaction's operations; an index must be able to number them.
	maxLength = 8
)

// TransactionID is the id of one attempt, and equals the element of its first operation.
func TransactionID(client int, seq uint64, attempt int) int64 {
	return int64(client)<<(seqBits+attemptBits+indexBits) | int64(seq&MaxSeq)<<(attemptBits+indexBits) |
		int64(attempt&MaxAttempt)<<indexBits
}

// SplitElement returns an element's maker; ok is false if no client can have made it.
func SplitElement(v int64) (client int, seq uint64, attempt, index int, ok bool) {
	index = int(v & (1<<indexBits - 1))
	attempt = int(v>>indexBits) & MaxAttempt
	seq = uint64(v>>(indexBits+attemptBits)) & MaxSeq
	client = int(v >> (indexBits + attemptBits + seqBits))
	return client, seq, attempt, index, v >= 0 && attempt > 0 && index < maxLength
}

// Transactions computes what an operation does in a window. It is safe for concurrent use.
type Transactions struct {
	config Config
	seed   uint64
	// few is the number of groups and of pairs in use at a time, so that clients meet.
	few uint64
}

// NewTransactions takes a valid configuration.
func NewTransactions(c Config, seed uint64) *Transactions {
	return &Transactions{config: c, seed: seed, few: uint64(max(1, c.Keys/4))}
}

// At returns an operation in this attempt, from 1, on the keys of a window. It reuses dst and
// its lists. ok is false for numbers that no element can have.
//
// Attempts and windows of an operation differ only in keys and elements. Lists have even keys
// and registers odd ones.
func (t *Transactions) At(client int, seq uint64, attempt int, window int64, dst []Op) (ops []Op, ok bool) {
	if client < 0 || client > MaxClient || seq > MaxSeq || attempt < 1 || attempt > MaxAttempt || window < 0 || window > MaxSeq {
		return nil, false
	}
	m := maker{
		Transactions: t, ops: dst[:0], id: TransactionID(client, seq, attempt), window: window,
		random: workload.NewRandom(t.seed, uint64(TransactionID(client, seq, 0))),
	}
	switch t.test(&m.random) {
	case "append":
		m.lists()
	case "register":
		m.registers()
	case "predicate":
		m.groups()
	default:
		m.add(Withdraw, m.few(), int64(m.random.Below(2)))
	}
	return m.ops, true
}

// WindowOf returns the window of a list's or register's key.
func (t *Transactions) WindowOf(key int64) int64 { return key / 2 / int64(t.config.Keys) }

// Pace says which window is in use. The run goes on to the next when the client furthest ahead
// has done PerKey operations in it. By their own counts, clients of different speed would soon
// be in different windows and not meet. It is safe for concurrent use.
type Pace struct{ furthest atomic.Uint64 }

func (p *Pace) window(seq uint64, perKey int) int64 {
	for {
		furthest := p.furthest.Load()
		if seq <= furthest || p.furthest.CompareAndSwap(furthest, seq) {
			return int64(max(seq, furthest) / uint64(perKey))
		}
	}
}

func (t *Transactions) test(r *workload.Random) string {
	if t.config.Test != "all" {
		return t.config.Test
	}
	switch n := r.Below(20); {
	case n < 8:
		return "append"
	case n < 14:
		return "register"
	case n < 17:
		return "predicate"
	default:
		return "pairs"
	}
}

type maker struct {
	*Transactions
	ops    []Op
	id     int64
	window int64
	random workload.Random
}

func (m *maker) list() int64 {
	return 2 * (m.window*int64(m.config.Keys) + int64(m.random.Below(uint64(m.config.Keys))))
}

func (m *maker) register() int64 { return m.list() + 1 }

func (m *maker) few() int64 {
	n := m.Transactions.few
	return m.window*int64(n) + int64(m.random.Below(n))
}

func (m *maker) length() int { return 1 + int(m.random.Below(uint64(m.config.Length))) }

func (m *maker) add(kind Kind, key, value int64) {
	i := len(m.ops)
	if i < cap(m.ops) {
		m.ops = m.ops[:i+1]
	} else {
		m.ops = append(m.ops, Op{})
	}
	m.ops[i] = Op{Kind: kind, Key: key, Value: value, List: m.ops[i].List[:0]}
}

// make adds an operation with a new element.
func (m *maker) make(kind Kind, key int64) { m.add(kind, key, m.id+int64(len(m.ops))) }

func (m *maker) lists() {
	write := Append
	if m.config.Rewrite {
		write = AppendByRewrite
	}
	for range m.length() {
		if m.random.Coin() {
			m.make(write, m.list())
		} else {
			m.add(ReadList, m.list(), 0)
		}
	}
}

// registers often reads and writes a register in turn: that alone shows a value's predecessor.
func (m *maker) registers() {
	for n := m.length(); len(m.ops) < n; {
		key := m.register()
		switch {
		case n-len(m.ops) >= 2 && m.random.Coin():
			m.add(ReadValue, key, 0)
			m.make(Write, key)
		case m.random.Coin():
			m.add(ReadValue, key, 0)
		default:
			m.make(Write, key)
		}
	}
}

// groups counts a group twice, with other operations between, or inserts into groups.
func (m *maker) groups() {
	if m.random.Coin() {
		for range 1 + m.random.Below(uint64(max(1, m.config.Length/2))) {
			m.make(Insert, m.few())
		}
		return
	}
	group := m.few()
	m.add(Count, group, 0)
	for range m.random.Below(uint64(m.config.Length - 1)) {
		if m.random.Coin() {
			m.make(Insert, m.few())
		} else {
			m.add(Count, m.few(), 0)
		}
	}
	m.add(Count, group, 0)
}
