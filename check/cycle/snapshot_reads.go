package cycle

import (
	"cmp"
	"context"
	"slices"

	"assay/check"
)

// checkSnapshotReads judges by SnapshotReads: read committed for everything, and PREFIX for the
// reads of keys that the transaction has not written itself. A key that it has written is read as
// it is now, with later commits of others.
//
// The order of commits satisfies both, so no innocent is convicted. The orders of the versions are
// searched for separately.
func checkSnapshotReads(ctx context.Context, h *History, o Options) Report {
	r := Check(ctx, h, ReadCommitted, o)
	plain := h.plainReads()
	if plain.reads() {
		r.join(Check(ctx, plain, Prefix, o))
	}
	r.Model = SnapshotReads
	return r
}

func (r *Report) join(plain Report) {
	named := len(r.Anomalies)
	forbidden, permitted := r.Evidence[:named:named], r.Evidence[named:]
	for _, e := range plain.Evidence[:len(plain.Anomalies)] {
		if !slices.Contains(r.Anomalies, e.Anomaly) {
			r.Anomalies, forbidden = append(r.Anomalies, e.Anomaly), append(forbidden, e)
		}
	}
	slices.Sort(r.Anomalies)
	known := func(name string) bool { return slices.Contains(r.Anomalies, name) }
	r.Permitted = slices.DeleteFunc(r.Permitted, known)
	permitted = slices.DeleteFunc(slices.Clone(permitted), func(e Evidence) bool { return known(e.Anomaly) })
	r.Evidence = append(forbidden, permitted...)
	not := slices.Concat(r.Not, r.AlsoNot, plain.Not, plain.AlsoNot)
	if plain.Verdict == check.Violated {
		not = append(not, SnapshotReads)
	}
	slices.Sort(not)
	r.Not, r.AlsoNot = weakest(slices.Compact(not))
	r.Partial = r.Partial || plain.Partial
	r.Repeated = cmp.Or(r.Repeated, plain.Repeated)
	if r.Verdict == check.Valid || r.Verdict == check.Unknown && plain.Verdict == check.Violated {
		r.Verdict, r.Reason = plain.Verdict, plain.Reason
	}
}

// plainReads is the history without the reads of keys that the transaction has written itself.
func (h *History) plainReads() *History {
	wrote := map[int32]int32{} // by key, one more than the last transaction that wrote it
	return h.rebuilt(func(o op) (Op, bool) {
		if k := o.kind(); k == Append || k == Write {
			wrote[o.key()] = o.txn + 1
		} else if wrote[o.key()] == o.txn+1 {
			return Op{}, false
		}
		return h.given(o), true
	})
}
