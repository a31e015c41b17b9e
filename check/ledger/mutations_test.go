package ledger

import (
	"math/rand/v2"
	"slices"
	"testing"

	"assay/check"
	"assay/history"
)

// opOf returns the i-th operation if it has the kind and committed with values.
func opOf(r *run, i int, kind uint8) *history.Op {
	op := &r.ops[i%len(r.ops)]
	if op.Kind != kind || op.Final != history.Committed || !op.Last || len(op.Values) == 0 {
		return nil
	}
	return op
}

func told(kind uint8, value int, more int64) func(r *run, i int) bool {
	return func(r *run, i int) bool {
		op := opOf(r, i, kind)
		if op != nil {
			op.Values[value] += more
		}
		return op != nil
	}
}

// after reports whether a committed row has a higher version of an account of row k.
func (r *run) after(k int) bool {
	row := r.rows[k]
	return slices.ContainsFunc(r.rows, func(other Row) bool {
		later := other.Source == row.Source && other.SourceVersion > row.SourceVersion ||
			other.Destination == row.Source && other.DestinationVersion > row.SourceVersion
		return later && slices.ContainsFunc(r.ops, func(op history.Op) bool {
			return r.books.ID(op.Client, op.Seq) == other.ID && op.Last && op.Final == history.Committed
		})
	})
}

// orderMutations spoil a run in ways that only order and snapshots can see.
var orderMutations = []mutation{
	{"a version given twice", "order", KindLostUpdate, func(r *run, i int) bool {
		a := &r.rows[i%len(r.rows)]
		for k := range r.rows {
			if b := &r.rows[k]; a != b && a.Source == b.Source {
				a.SourceVersion = b.SourceVersion
				return true
			}
		}
		return false
	}},
	{"a row gone", "order", KindMissingVersion, func(r *run, i int) bool {
		k := i % len(r.rows)
		gone := r.after(k)
		r.rows = slices.Delete(r.rows, k, k+1)
		return gone
	}},
	{"a version far too high", "order", KindImpossibleVersion, row(func(_ *run, row *Row) { row.SourceVersion += 1 << 33 })},
	{"a version nought", "order", KindImpossibleVersion, row(func(_ *run, row *Row) { row.DestinationVersion = 0 })},
	{"a version below nought", "order", KindImpossibleVersion, row(func(_ *run, row *Row) { row.SourceVersion = -row.SourceVersion })},
	{"another balance of the source acknowledged", "order", KindAcknowledgedBalance, told(kindTransfer, 0, 1)},
	{"another balance of the destination acknowledged", "order", KindAcknowledgedBalance, told(kindTransfer, 2, -1)},
	{"two rows in opposite orders on their two accounts", "order", KindDirtyWrite, func(r *run, i int) bool {
		a := &r.rows[i%len(r.rows)]
		for k := range r.rows {
			if b := &r.rows[k]; a != b && a.Source == b.Source && a.Destination == b.Destination {
				a.SourceVersion, b.SourceVersion = b.SourceVersion, a.SourceVersion
				return true
			}
		}
		return false
	}},
	{"started when all was over", "order", KindStaleOrder, func(r *run, i int) bool {
		k := i % len(r.rows)
		for n := range r.ops {
			if op := &r.ops[n]; r.books.ID(op.Client, op.Seq) == r.rows[k].ID && op.Last {
				op.First, op.Start, op.End = 1<<40, 1<<40, 1<<40+1
				return r.after(k)
			}
		}
		return false
	}},
	{"another balance read", "snapshots", KindDirtyRead + " " + KindGoneRead, told(kindAudit, 0, 1)},
	{"a balance read that differs in the upper bits", "snapshots", KindDirtyRead, told(kindAudit, 0, 1<<40)},
	{"a version read that is not there", "snapshots", KindNoSuchVersion, told(kindAudit, 1, 1000)},
	{"a version read below nought", "snapshots", KindNoSuchVersion, told(kindAudit, 1, -1000)},
	{"another count", "snapshots", KindAuditCount, told(kindFullAudit, 0, -1)},
	{"another sum", "snapshots", KindAuditSum, told(kindFullAudit, 1, 1)},
	{"half a transfer", "snapshots", KindAuditVersions, told(kindFullAudit, 2, 1)},
	{"all transfers and more", "snapshots", KindAuditVersions, told(kindFullAudit, 2, 1000)},
	{"a full audit that saw nothing", "snapshots", KindStaleRead, func(r *run, i int) bool {
		op := opOf(r, i, kindFullAudit)
		if op == nil || op.Values[2] < 100 {
			return false
		}
		op.Values[2] = 0
		return true
	}},
	{"the last audit saw the beginning", "snapshots", KindStaleRead + " " + KindReadSkew, func(r *run, i int) bool {
		op := &r.ops[len(r.ops)-1]
		accounts := r.books.Audited(op.Client, op.Seq)
		acknowledged := false
		for n, account := range accounts {
			op.Values[2*n], op.Values[2*n+1] = opening, 0
			for k, row := range r.rows {
				acknowledged = acknowledged || (row.Source == account || row.Destination == account) && acknowledgedBefore(r, k, op.First)
			}
		}
		return acknowledged
	}},
	{"the last audit missed one account's last transfer", "snapshots", KindStaleRead + " " + KindReadSkew, func(r *run, i int) bool {
		op := &r.ops[len(r.ops)-1]
		account, version := r.books.Audited(op.Client, op.Seq)[0], op.Values[1]
		for k, row := range r.rows {
			if row.Source == account && row.SourceVersion == version {
				op.Values[0], op.Values[1] = op.Values[0]+row.Amount, version-1
				return acknowledgedBefore(r, k, op.First)
			}
		}
		return false
	}},
	{"an audit that ended before all began", "snapshots", KindFutureRead, func(r *run, i int) bool {
		op := opOf(r, i, kindAudit)
		if op == nil || op.Values[1] == 0 || len(op.Values) > 2 {
			return false
		}
		account, version := r.books.Audited(op.Client, op.Seq)[0], op.Values[1]
		op.First, op.End = -2, -1
		return slices.ContainsFunc(r.rows, func(row Row) bool {
			return row.Source == account && row.SourceVersion <= version && slices.ContainsFunc(r.ops, func(op history.Op) bool {
				return r.books.ID(op.Client, op.Seq) == row.ID && op.Last
			})
		})
	}},
}

func acknowledgedBefore(r *run, k int, at int64) bool {
	return slices.ContainsFunc(r.ops, func(op history.Op) bool {
		return r.books.ID(op.Client, op.Seq) == r.rows[k].ID && op.Last && op.Final == history.Committed && op.End < at
	})
}

// The order never convicts a valid run from which something is missing, if that part is incomplete.
func TestIncompleteRandomRunsAreNotConvicted(t *testing.T) {
	for seed := range uint64(300) {
		r := randomRun(seed, 3+int64(seed%20), 1+int(seed%6), 10+seed%80)
		rng := rand.New(rand.NewPCG(seed, 3))
		keep := rng.IntN(100)
		var parts []Part
		if seed%3 != 0 {
			parts = append(parts, Journal)
			r.rows = slices.DeleteFunc(r.rows, func(Row) bool { return rng.IntN(100) >= keep })
		}
		if seed%3 != 1 {
			parts = append(parts, History)
			r.ops = slices.DeleteFunc(r.ops, func(history.Op) bool { return rng.IntN(100) >= keep })
			r.reservations = nil
		}
		r = r.without(parts...)
		results := r.results(t)
		for _, name := range []string{"order", "snapshots"} {
			if got := results[name]; got.Verdict != check.Unknown || got.Found != 0 {
				t.Fatalf("seed %d without %v: %s is %v: %s %v", seed, parts, name, got.Verdict, got.Detail, got.Evidence)
			}
		}
	}
}
