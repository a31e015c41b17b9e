package ledger

import (
	"fmt"
	"slices"
	"testing"

	"assay/check"
	"assay/history"
	"assay/internal/expect"
)

func TestValidRunsAreValid(t *testing.T) {
	for seed := range uint64(300) {
		r := randomRun(seed, 2+int64(seed%40), 1+int(seed%5), 5+seed%200)
		wantValid(t, fmt.Sprintf("seed %d", seed), r)
	}
	// Operations beyond one block, and a client with a large number.
	wantValid(t, "several blocks", randomRun(1000, 50, 2, 3072))
	for seed := range uint64(20) { // many accounts, clients and audits at once
		wantValid(t, fmt.Sprintf("concurrent, seed %d", seed), randomRun(seed, 5+int64(seed)*20, 20, 200))
	}
}

func wantValid(t *testing.T, name string, r run) {
	t.Helper()
	for _, result := range r.judge(t).Results() {
		if result.Verdict != check.Valid || result.Found != 0 || len(result.Evidence) != 0 || result.Detail == "" {
			t.Fatalf("%s: %s is %v: %s %v", name, result.Name, result.Verdict, result.Detail, result.Evidence)
		}
	}
}

func TestOrderOfReadingDoesNotMatter(t *testing.T) {
	r := randomRun(5, 20, 3, 100)
	r.rows[7].Amount++
	r.accounts[3].balance--
	r.ops = append(r.ops, history.Op{Seq: 105, Last: true, Kind: kindTransfer, Final: history.Committed})
	r.ops = slices.DeleteFunc(r.ops, func(op history.Op) bool { return op.Kind != kindTransfer })
	first := r.judge(t).Results()

	j, err := New(r.books)
	expect.NoError(t, err)
	for i := len(r.ops) - 1; i >= 0; i-- {
		j.Op(&r.ops[i])
	}
	for _, reservation := range r.reservations {
		j.Reserve(reservation)
	}
	for i, a := range r.accounts {
		j.Account(a.id, a.balance, a.version)
		if i == 10 {
			for k := len(r.rows) - 1; k >= 0; k-- {
				j.Row(r.rows[k])
			}
		}
	}
	if second := j.Results(); fmt.Sprint(first) != fmt.Sprint(second) {
		t.Errorf("read in another order:\n%v\nbefore:\n%v", second, first)
	}
	if again := j.Results(); fmt.Sprint(first) != fmt.Sprint(again) {
		t.Errorf("asked again:\n%v\nbefore:\n%v", again, first)
	}
}

// mutation spoils a valid run in one place, which i chooses. It returns false if the place does not
// suit. kind must be reported.
type mutation struct {
	name  string
	check string
	kind  string
	apply func(r *run, i int) bool
}

func rowOf(r *run, op history.Op) int {
	id := r.books.ID(op.Client, op.Seq)
	return slices.IndexFunc(r.rows, func(row Row) bool { return row.ID == id })
}

// flip changes the i-th operation's final outcome from one to another, if it has a row or not, as
// asked.
func flip(from, to history.Outcome, withRow bool) func(r *run, i int) bool {
	return func(r *run, i int) bool {
		op := &r.ops[i%len(r.ops)]
		if !op.Last || op.Kind != kindTransfer || op.Final != from || rowOf(r, *op) >= 0 != withRow {
			return false
		}
		op.Final = to
		return true
	}
}

// acknowledgedRow returns the row of the i-th operation if its versions were acknowledged.
func acknowledgedRow(r *run, i int) *Row {
	op := r.ops[i%len(r.ops)]
	if op.Kind != kindTransfer || op.Final != history.Committed || len(op.Values) != 4 {
		return nil
	}
	return &r.rows[rowOf(r, op)]
}

func row(change func(r *run, row *Row)) func(r *run, i int) bool {
	return func(r *run, i int) bool { change(r, &r.rows[i%len(r.rows)]); return true }
}

func acc(change func(r *run, a *held)) func(r *run, i int) bool {
	return func(r *run, i int) bool { change(r, &r.accounts[i%len(r.accounts)]); return true }
}

var mutations = []mutation{
	{"drop the row of a committed transfer", "transfers", kindLost, func(r *run, i int) bool {
		if op := r.ops[i%len(r.ops)]; op.Kind != kindTransfer || !op.Last || op.Final != history.Committed {
			return false
		}
		k := rowOf(r, r.ops[i%len(r.ops)])
		r.rows = slices.Delete(r.rows, k, k+1)
		return true
	}},
	{"drop any row", "accounts", kindBalance, func(r *run, i int) bool {
		k := i % len(r.rows)
		r.rows = slices.Delete(r.rows, k, k+1)
		return true
	}},
	{"double a row", "transfers", kindDoubled, func(r *run, i int) bool {
		r.rows = append(r.rows, r.rows[i%len(r.rows)])
		return true
	}},
	{"double a row, versions", "accounts", kindVersion, func(r *run, i int) bool {
		r.rows = append(r.rows, r.rows[i%len(r.rows)])
		return true
	}},
	{"another id", "transfers", kindForeign, row(func(_ *run, row *Row) { row.ID += 1 << 30 })},
	{"a negative id", "transfers", kindForeign, row(func(_ *run, row *Row) { row.ID = ^row.ID })},
	{"another client's id", "transfers", kindForeign, row(func(_ *run, row *Row) { row.ID += 99 << 40 })},
	{"another source", "transfers", kindAltered, row(func(r *run, row *Row) { row.Source = (row.Source+1)%r.books.Accounts + 1 })},
	{"no such source", "transfers", kindAltered, row(func(_ *run, row *Row) { row.Source = -row.Source })},
	{"another destination", "transfers", kindAltered, row(func(r *run, row *Row) { row.Destination = row.Destination%r.books.Accounts + 1 })},
	{"source and destination swapped", "transfers", kindAltered, row(func(_ *run, row *Row) { row.Source, row.Destination = row.Destination, row.Source })},
	{"another amount", "transfers", kindAltered, row(func(_ *run, row *Row) { row.Amount++ })},
	{"another amount, balances", "accounts", kindBalance, row(func(_ *run, row *Row) { row.Amount++ })},
	{"another source version", "transfers", kindAcknowledged, func(r *run, i int) bool {
		row := acknowledgedRow(r, i)
		if row != nil {
			row.SourceVersion++
		}
		return row != nil
	}},
	{"another destination version", "transfers", kindAcknowledged, func(r *run, i int) bool {
		row := acknowledgedRow(r, i)
		if row != nil {
			row.DestinationVersion--
		}
		return row != nil
	}},
	{"another acknowledged version", "transfers", kindAcknowledged, func(r *run, i int) bool {
		if acknowledgedRow(r, i) == nil {
			return false
		}
		r.ops[i%len(r.ops)].Values[1]++
		return true
	}},
	{"versions of two rows exchanged", "transfers", kindAcknowledged, func(r *run, i int) bool {
		a, b := acknowledgedRow(r, i), acknowledgedRow(r, i+1)
		if a == nil || b == nil || a.SourceVersion == b.SourceVersion {
			return false
		}
		a.SourceVersion, b.SourceVersion = b.SourceVersion, a.SourceVersion
		return true
	}},
	{"a foreign row", "transfers", kindForeign, func(r *run, i int) bool {
		id := r.books.ID(0, 1<<20+uint64(i))
		s, d, a := r.books.Expect(id)
		r.rows = append(r.rows, Row{ID: id, Source: s, Destination: d, Amount: a, SourceVersion: 1, DestinationVersion: 1})
		return true
	}},
	{"a row of an audit", "transfers", kindForeign, func(r *run, i int) bool {
		op := r.ops[i%len(r.ops)]
		if op.Kind != kindAudit {
			return false
		}
		id := r.books.ID(op.Client, op.Seq)
		s, d, a := r.books.Expect(id)
		r.rows = append(r.rows, Row{ID: id, Source: s, Destination: d, Amount: a, SourceVersion: 1, DestinationVersion: 1})
		return true
	}},
	{"another balance", "accounts", kindBalance, acc(func(_ *run, a *held) { a.balance++ })},
	{"another balance, sum", "total", kindSum, acc(func(_ *run, a *held) { a.balance-- })},
	{"a negative balance", "total", kindNegative, acc(func(_ *run, a *held) { a.balance = -1 })},
	{"another version", "accounts", kindVersion, acc(func(_ *run, a *held) { a.version++ })},
	{"a lower version", "accounts", kindVersion, acc(func(_ *run, a *held) { a.version-- })},
	{"drop an account", "total", kindMissingAccount, func(r *run, i int) bool {
		k := i % len(r.accounts)
		r.accounts = slices.Delete(r.accounts, k, k+1)
		return true
	}},
	{"double an account", "total", kindDoubledAccount, func(r *run, i int) bool {
		k := i % len(r.accounts)
		r.accounts = slices.Insert(r.accounts, k, r.accounts[k])
		return true
	}},
	{"a foreign account", "total", kindForeignAccount, func(r *run, i int) bool {
		r.accounts = append(r.accounts, held{id: r.books.Accounts + 1 + int64(i)})
		return true
	}},
	{"account zero", "total", kindForeignAccount, func(r *run, _ int) bool {
		r.accounts = slices.Insert(r.accounts, 0, held{})
		return true
	}},
	{"two accounts in the wrong order", "total", kindUnordered, func(r *run, i int) bool {
		k := i % (len(r.accounts) - 1)
		r.accounts[k], r.accounts[k+1] = r.accounts[k+1], r.accounts[k]
		return true
	}},
	{"committed told as failed", "transfers", kindAppliedFailed, flip(history.Committed, history.Failed, true)},
	{"committed told as rejected", "transfers", kindAppliedRejected, flip(history.Committed, history.Rejected, true)},
	{"unknown and applied told as failed", "transfers", kindAppliedFailed, flip(history.Unknown, history.Failed, true)},
	{"unknown and applied told as rejected", "transfers", kindAppliedRejected, flip(history.Unknown, history.Rejected, true)},
	{"unknown and not applied told as committed", "transfers", kindLost, flip(history.Unknown, history.Committed, false)},
	{"failed told as committed", "transfers", kindLost, flip(history.Failed, history.Committed, false)},
	{"rejected told as committed", "transfers", kindLost, flip(history.Rejected, history.Committed, false)},
}

func TestEverySingleMutationIsFound(t *testing.T) {
	for _, m := range mutations {
		t.Run(m.name, func(t *testing.T) {
			applied := 0
			for seed := range uint64(40) {
				valid := randomRun(seed, 8, 3, 60)
				for i := range 12 {
					r := valid.clone()
					if !m.apply(&r, i*37+int(seed)) {
						continue
					}
					applied++
					result := r.results(t)[m.check]
					if result.Verdict != check.Violated || !has(result, m.kind) {
						t.Fatalf("seed %d, place %d: %s is %v, without %q: %s %v",
							seed, i, m.check, result.Verdict, m.kind, result.Detail, result.Evidence)
					}
				}
			}
			if applied < 5 {
				t.Fatalf("applied only %d times", applied)
			}
		})
	}
}

func TestNearMissesStayValid(t *testing.T) {
	misses := map[string]func(r *run, i int) bool{
		"committed told as unknown": flip(history.Committed, history.Unknown, true),
		"failed told as unknown":    flip(history.Failed, history.Unknown, false),
		"rejected told as failed":   flip(history.Rejected, history.Failed, false),
		"unknown, told as failed":   flip(history.Unknown, history.Failed, false),
		"unknown and applied, told yes in the end": func(r *run, i int) bool {
			r.ops[i%len(r.ops)].End = 1 << 40 // it may have taken effect only then
			return flip(history.Unknown, history.Committed, true)(r, i)
		},
		"the record of an operation lost": func(r *run, i int) bool {
			op := r.ops[i%len(r.ops)]
			if op.Kind != kindTransfer {
				return false
			}
			r.ops = slices.DeleteFunc(r.ops, func(o history.Op) bool { return o.Client == op.Client && o.Seq == op.Seq })
			return true
		},
		"no versions acknowledged": func(r *run, i int) bool {
			r.ops[i%len(r.ops)].Values = nil
			return r.ops[i%len(r.ops)].Kind == kindTransfer
		},
		"the history cut": func(r *run, i int) bool {
			r.ops = r.ops[:len(r.ops)/2]
			return true
		},
	}
	for name, apply := range misses {
		applied := 0
		for seed := range uint64(20) {
			valid := randomRun(seed, 8, 3, 60)
			for i := range 10 {
				r := valid.clone()
				if apply(&r, i*31+int(seed)) {
					applied++
					wantValid(t, fmt.Sprintf("%s, seed %d, place %d", name, seed, i), r)
				}
			}
		}
		if applied < 5 {
			t.Errorf("%s: applied only %d times", name, applied)
		}
	}
}
