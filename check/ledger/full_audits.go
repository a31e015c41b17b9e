package ledger

import (
	"cmp"
	"fmt"
	"math/big"
	"slices"

	"assay/check"
)

// judgeFull judges the audits of all accounts, each for the first thing that
// is wrong with it.
func (a *auditCheck) judgeFull() {
	full := a.j.audits.full
	if len(full) == 0 {
		return
	}
	var loaded bigSum
	for id := int64(1); id <= a.j.config.Accounts; id++ {
		loaded.add(a.j.config.Opening(id))
	}
	var seeable []limits
	if a.sound() {
		seeable = a.limits()
	}
	for n := range full {
		x := &full[n]
		switch off := new(big.Int).Sub(big.NewInt(x.balance), loaded.value()); {
		case x.count != a.j.config.Accounts:
			a.found.add(KindAuditCount, func() check.Evidence {
				return x.evidence(fmt.Sprintf("found %s where %s loaded", check.Counted(x.count, "account", "accounts"), check.Counted(a.j.config.Accounts, "was", "were")))
			})
		case off.Sign() != 0:
			a.found.add(KindAuditSum, func() check.Evidence {
				e := x.evidence(fmt.Sprintf("found %d in all accounts where %v were loaded: off by %v (read skew, if no money is missing in the end)",
					x.balance, loaded.value(), off))
				if off.IsInt64() {
					e.Fields["off"] = off.Int64()
				}
				return e
			})
		case seeable != nil:
			a.judgeVersions(x, seeable[n])
		}
	}
}

func (x *fullAudit) evidence(found string) check.Evidence {
	return check.Evidence{
		Text: fmt.Sprintf("full audit %d of client %d %s", x.seq, x.client, found),
		Fields: map[string]int64{"client": int64(x.client), "operation": int64(x.seq), "accounts": x.count,
			"balances": x.balance, "versions": x.version},
	}
}

// limits are how many transfers an audit must have seen, because they had been
// acknowledged before it started, and how many it can have seen, because they
// had been started before it ended.
type limits struct{ least, most int64 }

// judgeVersions compares the sum of the versions with the transfers, each of
// which raises it by two.
func (a *auditCheck) judgeVersions(x *fullAudit, can limits) {
	rows := int64(a.j.entries.len())
	switch saw := x.version / 2; {
	case x.version%2 != 0 || x.version < 0 || saw > rows:
		a.found.add(KindAuditVersions, func() check.Evidence {
			return x.evidence(fmt.Sprintf("found versions that add up to %d; each of %s transfers adds two", x.version, check.Count(rows)))
		})
	case saw < can.least:
		a.found.add(KindStaleRead, func() check.Evidence {
			e := x.evidence(fmt.Sprintf("saw %s, though %s had been acknowledged when it was started at %s",
				check.Counted(saw, "transfer", "transfers"), check.Count(can.least), seconds(x.first)))
			e.Fields["saw"], e.Fields["acknowledged"] = saw, can.least
			return e
		})
	case saw > can.most:
		a.found.add(KindFutureRead, func() check.Evidence {
			e := x.evidence(fmt.Sprintf("saw %s, though only %s had been started when it ended at %s",
				check.Counted(saw, "transfer", "transfers"), check.Count(can.most), seconds(x.end)))
			e.Fields["saw"], e.Fields["started"] = saw, can.most
			return e
		})
	}
}

// limits returns those of each full audit.
func (a *auditCheck) limits() []limits {
	full := a.j.audits.full
	byFirst, byEnd := make([]int, len(full)), make([]int, len(full))
	for n := range full {
		byFirst[n], byEnd[n] = n, n
	}
	slices.SortFunc(byFirst, func(x, y int) int { return cmp.Compare(full[x].first, full[y].first) })
	slices.SortFunc(byEnd, func(x, y int) int { return cmp.Compare(full[x].end, full[y].end) })
	// acknowledged[i] counts the transfers that were acknowledged before the
	// i-th audit by start and not before the one before; started[i] those that
	// were started after the audit before the i-th by end and not after it.
	acknowledged, started := make([]int64, len(full)+1), make([]int64, len(full)+1)
	for n := range a.j.entries.len() {
		first, end := a.j.span(n)
		i, _ := slices.BinarySearchFunc(byFirst, end, func(x int, end int64) int {
			if full[x].first > end {
				return 1
			}
			return -1
		})
		acknowledged[i]++
		i, _ = slices.BinarySearchFunc(byEnd, first, func(x int, first int64) int { return cmp.Compare(full[x].end, first) })
		started[i]++
	}
	out := make([]limits, len(full))
	var least, most int64
	for i := range full {
		least += acknowledged[i]
		out[byFirst[i]].least = least
		most += started[i]
		out[byEnd[i]].most = most
	}
	return out
}
