package ledger

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"

	"assay/check"
	"assay/history"
	"assay/internal/expect"
)

const (
	kindTransfer  = 1
	kindAudit     = 2
	kindFullAudit = 3
	opening       = 1000
)

// books returns a Config over n accounts whose transfers are a plain function of the id.
func books(n int64) Config {
	return Config{
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

// audited adds audits of one to four consecutive accounts, depending on client and seq.
func audited(b Config) Config {
	n := b.Accounts
	b.AuditKind, b.FullAuditKind = kindAudit, kindFullAudit
	b.Audited = func(client int, seq uint64) (accounts []int64) {
		first := int64(seq)*7 + int64(client)
		for i := range min(1+(first>>1)&3, n) {
			accounts = append(accounts, (first+i)%n+1)
		}
		return accounts
	}
	return b
}

type run struct {
	books        Config
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
	expect.NoError(t, err)
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

func (r run) results(t testing.TB) map[string]check.Result {
	t.Helper()
	out := map[string]check.Result{}
	for _, result := range r.judge(t).Results() {
		out[result.Name] = result
	}
	want := 4
	if r.books.AuditKind != 0 {
		want = 5
	}
	if len(out) != want {
		t.Fatalf("want %d checks, got %v", want, out)
	}
	return out
}

func has(r check.Result, kind string) bool {
	return slices.ContainsFunc(r.Evidence, func(e check.Evidence) bool { return e.Kind == kind })
}

// bank is a small database without bugs. It keeps accounts and a journal, and records a run as the
// engine would.
type bank struct {
	run
	rng   *rand.Rand
	state map[int64]*held
}

func newBank(seed uint64, accounts int64) *bank {
	b := &bank{run: run{books: audited(books(accounts))}, rng: rand.New(rand.NewPCG(seed, 1)), state: map[int64]*held{}}
	for id := int64(1); id <= accounts; id++ {
		b.state[id] = &held{id: id, balance: opening}
	}
	return b
}

// apply does a transfer and returns what a database acknowledges; ok is false if the source lacks
// funds.
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

func (b *bank) audit(d due) {
	op := history.Op{Client: d.client, Seq: d.seq, Attempt: 1, Kind: kindAudit, First: d.first, Start: d.first, End: d.end,
		Last: true, Outcome: history.Committed, Final: history.Committed}
	for _, account := range b.books.Audited(d.client, d.seq) {
		op.Values = append(op.Values, b.state[account].balance, b.state[account].version)
	}
	b.ops = append(b.ops, op)
}

// due is a planned operation: when it starts and ends, and when it takes effect.
type due struct {
	client         int
	seq            uint64
	first, at, end int64
	late           bool // it takes effect after it ended: unknown
}

// operate does one operation, with possible retries, errors and lost answers.
func (b *bank) operate(d due) {
	op := history.Op{Client: d.client, Seq: d.seq, Attempt: 1, Kind: kindTransfer, Due: d.first, First: d.first, Start: d.first, End: d.end}
	id := b.books.ID(d.client, d.seq)
	chance := b.rng.IntN(100)
	record := func(last bool, outcome, final history.Outcome, values []int64) {
		op.Last, op.Outcome, op.Final, op.Values = last, outcome, final, values
		b.ops = append(b.ops, op)
		op.Attempt++
	}
	switch {
	case d.late: // a lost answer, and it happens some time later
		b.apply(id)
		record(true, history.Unknown, history.Unknown, nil)
	case chance < 10:
		b.audit(d)
	case chance < 13: // a full audit
		op.Kind = kindFullAudit
		values := []int64{0, 0, 0}
		for _, a := range b.state {
			values[0], values[1], values[2] = values[0]+1, values[1]+a.balance, values[2]+a.version
		}
		record(true, history.Committed, history.Committed, values)
	case chance < 14: // an audit that failed, whatever it read
		op.Kind = kindAudit
		record(true, history.Failed, history.Failed, []int64{1, 2})
	case chance < 18: // a deadlock, no retry
		record(true, history.Failed, history.Failed, nil)
	case chance < 22: // a lost answer, and nothing happened
		record(true, history.Unknown, history.Unknown, nil)
	case chance < 26: // a lost answer, and it happened
		b.apply(id)
		record(true, history.Unknown, history.Unknown, nil)
	case chance < 28: // a lost answer, then found to be done
		record(false, history.Unknown, history.Unknown, nil)
		if _, ok := b.apply(id); ok {
			record(true, history.Failed, history.Committed, nil)
		} else {
			record(true, history.Rejected, history.Unknown, nil)
		}
	case chance < 30: // killed between two attempts
		record(false, history.Failed, history.Failed, nil)
	case chance < 32: // killed with nothing on record
		if b.rng.IntN(2) == 0 {
			b.apply(id)
		}
	default:
		if chance < 38 {
			record(false, history.Failed, history.Failed, nil)
		}
		if values, ok := b.apply(id); ok {
			record(true, history.Committed, history.Committed, values)
		} else {
			record(true, history.Rejected, history.Rejected, nil)
		}
	}
}

// schedule plans the clients' operations, one at a time for each client. Each takes effect between
// its start and its end, mostly just before the end. They are sorted by when they take effect,
// which is the order that the accounts must agree on.
func (b *bank) schedule(clients int, ops uint64) []due {
	var all []due
	for client := range clients {
		now := b.rng.Int64N(50)
		for seq := range ops {
			d := due{client: client, seq: seq, first: now}
			d.end = d.first + b.rng.Int64N(200)
			d.at = d.first + b.rng.Int64N(d.end-d.first+1)
			if b.rng.IntN(40) == 0 {
				d.at, d.late = d.end+b.rng.Int64N(2000), true
			}
			now = d.end + b.rng.Int64N(3)
			all = append(all, d)
		}
	}
	slices.SortStableFunc(all, func(x, y due) int { return cmp.Compare(x.at, y.at) })
	return all
}

func randomRun(seed uint64, accounts int64, clients int, ops uint64) run {
	b := newBank(seed, accounts)
	for client := range clients {
		b.reservations = append(b.reservations, history.Reservation{Client: client, UpTo: ops + 10})
	}
	all := b.schedule(clients, ops)
	for _, d := range all {
		b.operate(d)
	}
	last := all[len(all)-1]
	b.audit(due{client: 0, seq: ops, first: last.end, end: last.end + 5000})
	for id := int64(1); id <= accounts; id++ {
		b.accounts = append(b.accounts, *b.state[id])
	}
	b.rng.Shuffle(len(b.rows), func(i, k int) { b.rows[i], b.rows[k] = b.rows[k], b.rows[i] })
	return b.run
}
