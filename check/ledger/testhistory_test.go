package ledger

import (
	"math"
	"slices"
	"strings"
	"testing"

	"assay/check"
	"assay/history"
)

// testHistory is a few operations, each of its own client: element n is operation 0 of client n.
// Accounts are 1 to 6 with 1000 each. Final, acknowledged and read balances are those of the
// versions, unless an element says otherwise.
type testHistory []testOp

type testOp struct {
	source, destination, amount int64
	versions                    [2]int64
	outcome                     history.Outcome
	first, end                  int64
	// reads are the accounts and versions of an audit, or the values of a full audit.
	reads []int64
	kind  uint8
	// told is added to what is acknowledged or read, by place in Values.
	told map[int]int64
	// unheard: only the outcome is acknowledged. absent: no row. unrecorded: no record.
	unheard, absent, unrecorded bool
}

// give is a committed transfer of 5 that gave its accounts these versions.
func give(source, version, destination, other int64, first, end int64) testOp {
	return testOp{source: source, destination: destination, amount: 5, versions: [2]int64{version, other},
		outcome: history.Committed, first: first, end: end, kind: kindTransfer}
}

// read is an audit of alternating accounts and versions.
func read(first, end int64, reads ...int64) testOp {
	return testOp{outcome: history.Committed, first: first, end: end, reads: reads, kind: kindAudit}
}

func readAll(first, end int64, count, balances, versions int64) testOp {
	return testOp{outcome: history.Committed, first: first, end: end, reads: []int64{count, balances, versions}, kind: kindFullAudit}
}

func (d testOp) but(change func(*testOp)) testOp {
	change(&d)
	return d
}

const storyAccounts = 6

func (s testHistory) run() run {
	b := audited(books(storyAccounts))
	b.Expect = func(id int64) (source, destination, amount int64) {
		if client, _, _ := b.Split(id); client < len(s) && s[client].kind == kindTransfer {
			return s[client].source, s[client].destination, s[client].amount
		}
		return 1, 2, 1
	}
	b.Audited = func(client int, _ uint64) (accounts []int64) {
		for i := 0; i < len(s[client].reads); i += 2 {
			accounts = append(accounts, s[client].reads[i])
		}
		return accounts
	}
	r := run{books: b}
	versions := map[int64]int64{}
	for client, d := range s {
		r.reservations = append(r.reservations, history.Reservation{Client: client, UpTo: 1})
		op := history.Op{Client: client, Attempt: 1, Last: true, Kind: d.kind, Outcome: d.outcome, Final: d.outcome,
			First: d.first, Start: d.first, End: d.end}
		switch d.kind {
		case kindTransfer:
			op.Values = []int64{s.balance(d.source, d.versions[0]), d.versions[0], s.balance(d.destination, d.versions[1]), d.versions[1]}
			if d.unheard || d.outcome != history.Committed {
				op.Values = nil
			}
			if !d.gone() {
				versions[d.source]++
				versions[d.destination]++
			}
			if !d.absent {
				r.rows = append(r.rows, Row{b.ID(client, 0), d.source, d.destination, d.amount, d.versions[0], d.versions[1]})
			}
		case kindAudit:
			for i := 0; i < len(d.reads); i += 2 {
				op.Values = append(op.Values, s.balance(d.reads[i], d.reads[i+1]), d.reads[i+1])
			}
		default:
			op.Values = slices.Clone(d.reads)
		}
		for i, more := range d.told {
			op.Values[i] += more
		}
		if !d.unrecorded {
			r.ops = append(r.ops, op)
		}
	}
	for id := int64(1); id <= storyAccounts; id++ {
		r.accounts = append(r.accounts, held{id, s.balance(id, math.MaxInt64), versions[id]})
	}
	return r
}

// gone: it has no answer and no row.
func (d *testOp) gone() bool { return d.absent && d.outcome == history.Unknown }

func (s testHistory) balance(account, version int64) int64 {
	balance := int64(opening)
	for _, d := range s {
		if d.gone() {
			continue
		}
		if d.kind == kindTransfer && d.source == account && d.versions[0] <= version {
			balance -= d.amount
		}
		if d.kind == kindTransfer && d.destination == account && d.versions[1] <= version {
			balance += d.amount
		}
	}
	return balance
}

// tale is a testHistory with an error, and the nearest one without.
type tale struct {
	name        string
	wrong, twin testHistory
	// convicted is "check:kind" for each kind of evidence.
	convicted string
	text      string
}

func judgeTales(t *testing.T, tales []tale) {
	t.Helper()
	for _, c := range tales {
		t.Run(c.name, func(t *testing.T) {
			results := c.wrong.run().results(t)
			if got := convictions(results); got != c.convicted {
				t.Errorf("convicted %q, want %q", got, c.convicted)
			}
			name, _, _ := strings.Cut(c.convicted, ":")
			if r := results[name]; len(r.Evidence) == 0 || !strings.Contains(r.Evidence[0].Text, c.text) || r.Verdict != check.Violated {
				t.Errorf("%s does not say %q: %s %v", name, c.text, r.Detail, r.Evidence)
			} else if r.Found != 1 {
				t.Errorf("%s found %d: %v", name, r.Found, r.Evidence)
			} else if _, kind, _ := strings.Cut(c.convicted, ":"); !strings.HasSuffix(r.Detail, ": 1 "+kind) {
				t.Errorf("%s does not count 1 %s: %s", name, kind, r.Detail)
			}
			if got := convictions(c.twin.run().results(t)); got != "" {
				t.Errorf("the twin is convicted of %q: %v", got, c.twin.run().results(t))
			}
		})
	}
}
