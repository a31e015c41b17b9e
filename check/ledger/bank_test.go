package ledger

import (
	"math/rand/v2"
	"slices"
	"testing"

	"assay/check"
	"assay/history"
)

const (
	kindTransfer = 1
	kindAudit    = 2
	opening      = 1000
)

// books builds Books over n accounts whose transfers are a plain function of
// the id.
func books(n int64) Books {
	return Books{
		Accounts: n,
		Opening: func(id int64) int64 {
			if id < 1 || id > n {
				return 0
			}
			return opening
		},
		Expect: func(id int64) (source, destination, amount int64) {
			x := uint64(id)*0x9e3779b97f4a7c15 ^ 0x5bd1e995
			x ^= x >> 29
			source = int64(x%uint64(n)) + 1
			destination = source%n + 1
			return source, destination, int64(x>>40%700) + 1
		},
		ID: func(client int, seq uint64) int64 { return int64(client)<<40 | int64(seq) },
		Split: func(id int64) (client int, seq uint64, ok bool) {
			if id < 0 {
				return 0, 0, false
			}
			return int(id >> 40), uint64(id) & (1<<40 - 1), true
		},
		TransferKind: kindTransfer,
	}
}

// run is everything that a judge is given.
type run struct {
	books        Books
	reservations []history.Reservation
	ops          []history.Op
	rows         []Row
	accounts     []held
	incomplete   map[Part]string
}

type held struct{ id, balance, version int64 }

func (r run) clone() run {
	r.reservations = slices.Clone(r.reservations)
	r.ops = slices.Clone(r.ops)
	for i := range r.ops {
		r.ops[i].Values = slices.Clone(r.ops[i].Values)
	}
	r.rows = slices.Clone(r.rows)
	r.accounts = slices.Clone(r.accounts)
	return r
}

func (r run) judge(t testing.TB) *Judge {
	t.Helper()
	j, err := New(r.books)
	if err != nil {
		t.Fatal(err)
	}
	for part, reason := range r.incomplete {
		j.Incomplete(part, reason)
	}
	for _, reservation := range r.reservations {
		j.Reserve(reservation)
	}
	for i := range r.ops {
		j.Op(&r.ops[i])
	}
	for _, row := range r.rows {
		j.Row(row)
	}
	for _, a := range r.accounts {
		j.Account(a.id, a.balance, a.version)
	}
	return j
}

// results returns the three results by name.
func (r run) results(t testing.TB) map[string]check.Result {
	t.Helper()
	out := map[string]check.Result{}
	for _, result := range r.judge(t).Results() {
		out[result.Name] = result
	}
	if len(out) != 3 {
		t.Fatalf("want three checks, got %v", out)
	}
	return out
}

func has(r check.Result, kind string) bool {
	return slices.ContainsFunc(r.Evidence, func(e check.Evidence) bool { return e.Kind == kind })
}

// bank is a small database without bugs: it keeps accounts and a journal, and
// writes down a run as the engine would.
type bank struct {
	run
	rng   *rand.Rand
	state map[int64]*held
}

func newBank(seed uint64, accounts int64) *bank {
	b := &bank{run: run{books: books(accounts)}, rng: rand.New(rand.NewPCG(seed, 1)), state: map[int64]*held{}}
	for id := int64(1); id <= accounts; id++ {
		b.state[id] = &held{id: id, balance: opening}
	}
	return b
}

// apply does a transfer and returns what a database acknowledges; ok is false
// if the source lacks funds.
func (b *bank) apply(id int64) (values []int64, ok bool) {
	source, destination, amount := b.books.Expect(id)
	from, to := b.state[source], b.state[destination]
	if from.balance < amount {
		return nil, false
	}
	from.balance, from.version = from.balance-amount, from.version+1
	to.balance, to.version = to.balance+amount, to.version+1
	b.rows = append(b.rows, Row{ID: id, Source: source, Destination: destination, Amount: amount,
		SourceVersion: from.version, DestinationVersion: to.version})
	return []int64{from.balance, from.version, to.balance, to.version}, true
}

// operate does one operation with all that may befall it.
func (b *bank) operate(client int, seq uint64) {
	op := history.Op{Client: client, Seq: seq, Attempt: 1, Kind: kindTransfer}
	id := b.books.ID(client, seq)
	chance := b.rng.IntN(100)
	record := func(last bool, outcome, final history.Outcome, values []int64) {
		op.Last, op.Outcome, op.Final, op.Values = last, outcome, final, values
		b.ops = append(b.ops, op)
		op.Attempt++
	}
	switch {
	case chance < 5: // an audit
		op.Kind = kindAudit
		record(true, history.Committed, history.Committed, []int64{1, 2, 3, 4})
	case chance < 10: // a deadlock, no retry
		record(true, history.Failed, history.Failed, nil)
	case chance < 14: // a lost answer, and nothing happened
		record(true, history.Unknown, history.Unknown, nil)
	case chance < 18: // a lost answer, and it happened
		b.apply(id)
		record(true, history.Unknown, history.Unknown, nil)
	case chance < 20: // a lost answer, then found to be done
		record(false, history.Unknown, history.Unknown, nil)
		if _, ok := b.apply(id); ok {
			record(true, history.Failed, history.Committed, nil)
		} else {
			record(true, history.Rejected, history.Unknown, nil)
		}
	case chance < 22: // killed between two attempts
		record(false, history.Failed, history.Failed, nil)
	case chance < 24: // killed with nothing on record
		if b.rng.IntN(2) == 0 {
			b.apply(id)
		}
	default:
		if chance < 30 {
			record(false, history.Failed, history.Failed, nil)
		}
		if values, ok := b.apply(id); ok {
			record(true, history.Committed, history.Committed, values)
		} else {
			record(true, history.Rejected, history.Rejected, nil)
		}
	}
}

// randomRun is a valid run.
func randomRun(seed uint64, accounts int64, clients int, ops uint64) run {
	b := newBank(seed, accounts)
	for client := range clients {
		b.reservations = append(b.reservations, history.Reservation{Client: client, UpTo: ops + 10})
	}
	for seq := range ops {
		for client := range clients {
			b.operate(client, seq)
		}
	}
	for id := int64(1); id <= accounts; id++ {
		b.accounts = append(b.accounts, *b.state[id])
	}
	b.rng.Shuffle(len(b.rows), func(i, k int) { b.rows[i], b.rows[k] = b.rows[k], b.rows[i] })
	return b.run
}
