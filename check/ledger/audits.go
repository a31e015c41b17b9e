package ledger

import (
	"cmp"
	"fmt"
	"math"
	"math/big"
	"slices"

	"assay/check"
	"assay/history"
)

type audits struct {
	partial  []audit
	readings []reading
	full     []fullAudit
	// index and start are the last result of byAccount.
	index, start []uint32
	malformed    string
}

// audit is an audit of some accounts. Its readings are from to from+count.
type audit struct {
	seq        uint64
	first, end int64
	client     int32
	from       uint32
	count      uint32
}

func (a *audit) name() string { return fmt.Sprintf("audit %d of client %d", a.seq, a.client) }

type reading struct {
	balance, version int64
	account, audit   uint32
}

type fullAudit struct {
	seq                     uint64
	first, end              int64
	count, balance, version int64
	client                  int32
}

// maxReadings keeps the numbers of readings, and of audits after the entries, within 32 bits.
const maxReadings = 1 << 30

// audit takes a finished operation that is not a transfer.
func (j *Judge) audit(op *history.Op) {
	a := &j.audits
	switch {
	case op.Kind == 0 || op.Final != history.Committed:
	case op.Kind == j.config.AuditKind:
		accounts := j.config.Audited(op.Client, op.Seq)
		if !j.readable(accounts, len(op.Values)) {
			if a.malformed == "" {
				a.malformed = fmt.Sprintf("audit %d of client %d has %d values for %d accounts", op.Seq, op.Client, len(op.Values), len(accounts))
			}
			return
		}
		n := uint32(len(a.partial))
		a.partial = append(a.partial, audit{seq: op.Seq, client: int32(op.Client), first: op.First, end: lasting(op),
			from: uint32(len(a.readings)), count: uint32(len(accounts))})
		for i, id := range accounts {
			a.readings = append(a.readings, reading{balance: op.Values[2*i], version: op.Values[2*i+1], account: uint32(id), audit: n})
		}
	case op.Kind == j.config.FullAuditKind:
		if len(op.Values) != 3 {
			if a.malformed == "" {
				a.malformed = fmt.Sprintf("full audit %d of client %d has %d values instead of 3", op.Seq, op.Client, len(op.Values))
			}
			return
		}
		a.full = append(a.full, fullAudit{seq: op.Seq, client: int32(op.Client), first: op.First, end: lasting(op),
			count: op.Values[0], balance: op.Values[1], version: op.Values[2]})
	}
}

// lasting is the operation's end, or math.MaxInt64 if its end precedes its start.
func lasting(op *history.Op) int64 {
	if op.End < op.First {
		return math.MaxInt64
	}
	return op.End
}

// readable reports whether the accounts exist and differ, and each has a balance and a version.
func (j *Judge) readable(accounts []int64, values int) bool {
	if len(accounts) == 0 || values != 2*len(accounts) || len(j.audits.readings)+len(accounts) > maxReadings {
		return false
	}
	for i, id := range accounts {
		if j.account(id) == nil || slices.Contains(accounts[:i], id) {
			return false
		}
	}
	return true
}

func (a *audits) of(n uint32) []reading {
	from := a.partial[n].from
	return a.readings[from : from+a.partial[n].count]
}

// byAccount sorts the numbers of the readings by account and version. start is where the readings
// of each account begin, by id-1; the next element is where they end.
func (a *audits) byAccount(accounts int) (index, start []uint32) {
	if a.start == nil || len(a.index) != len(a.readings) {
		a.index, a.start = a.sorted(accounts)
	}
	return a.index, a.start
}

func (a *audits) sorted(accounts int) (index, start []uint32) {
	start = make([]uint32, accounts+2)
	for _, r := range a.readings {
		start[r.account]++
	}
	for i := range accounts + 1 {
		start[i+1] += start[i]
	}
	// start[id] is where id ends. Filling from the end moves it to where id begins.
	index = make([]uint32, len(a.readings))
	for n := len(a.readings) - 1; n >= 0; n-- {
		id := a.readings[n].account
		start[id]--
		index[start[id]] = uint32(n)
	}
	start = start[1:]
	for i := range accounts {
		slices.SortFunc(index[start[i]:start[i+1]], func(x, y uint32) int {
			return cmp.Or(cmp.Compare(a.readings[x].version, a.readings[y].version), cmp.Compare(x, y))
		})
	}
	return index, start
}

// judgeFull judges the audits of all accounts, each for its first error.
func (a *auditCheck) judgeFull() {
	full := a.j.audits.full
	if len(full) == 0 {
		return
	}
	loaded := a.j.loaded()
	var seeable []limits
	if a.sound() {
		seeable = a.limits()
	}
	for n := range full {
		x := &full[n]
		switch off := new(big.Int).Sub(big.NewInt(x.balance), loaded); {
		case x.count != a.j.config.Accounts:
			a.found.Add(KindAuditCount, func() check.Evidence {
				return x.evidence(fmt.Sprintf("found %s where %s loaded", check.Counted(x.count, "account", "accounts"), check.Counted(a.j.config.Accounts, "was", "were")))
			})
		case off.Sign() != 0:
			a.found.Add(KindAuditSum, func() check.Evidence {
				e := x.evidence(fmt.Sprintf("found %d in all accounts where %v were loaded: off by %v (read skew, if no money is missing in the end)",
					x.balance, loaded, off))
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

// limits are the fewest transfers that an audit must have seen, because they had been
// acknowledged before it started, and the most that it can have seen, because they had a row and
// had been started before it ended.
type limits struct{ least, most int64 }

// judgeVersions compares the versions' sum with the transfers, each of which raises it by two.
func (a *auditCheck) judgeVersions(x *fullAudit, can limits) {
	rows := int64(a.j.entries.len())
	saw := x.version / 2
	most := can.most + a.gone.startedBy(x.end)
	switch {
	case x.version%2 == 0 && saw > can.most && saw <= most:
		a.found.Add(KindGoneRead, func() check.Evidence {
			e := x.evidence(fmt.Sprintf("saw %s when it ended at %s, and the journal has only %s that had been started by then: %s without an answer must have been shown, and is gone",
				check.Counted(saw, "transfer", "transfers"), seconds(x.end), check.Count(can.most), check.Counted(saw-can.most, "transfer", "transfers")))
			e.Fields["saw"], e.Fields["started"] = saw, can.most
			return e
		})
	case x.version%2 != 0 || x.version < 0 || saw > rows:
		a.found.Add(KindAuditVersions, func() check.Evidence {
			return x.evidence(fmt.Sprintf("found versions that add up to %d; each of %s transfers adds two", x.version, check.Count(rows)))
		})
	case saw < can.least:
		a.found.Add(KindStaleRead, func() check.Evidence {
			e := x.evidence(fmt.Sprintf("saw %s, though %s had been acknowledged when it was started at %s",
				check.Counted(saw, "transfer", "transfers"), check.Count(can.least), seconds(x.first)))
			e.Fields["saw"], e.Fields["acknowledged"] = saw, can.least
			return e
		})
	case saw > can.most:
		a.found.Add(KindFutureRead, func() check.Evidence {
			e := x.evidence(fmt.Sprintf("saw %s, though only %s had been started when it ended at %s",
				check.Counted(saw, "transfer", "transfers"), check.Count(most), seconds(x.end)))
			e.Fields["saw"], e.Fields["started"] = saw, most
			return e
		})
	}
}

func (a *auditCheck) limits() []limits {
	full := a.j.audits.full
	byFirst, byEnd := make([]int, len(full)), make([]int, len(full))
	for n := range full {
		byFirst[n], byEnd[n] = n, n
	}
	slices.SortFunc(byFirst, func(x, y int) int { return cmp.Compare(full[x].first, full[y].first) })
	slices.SortFunc(byEnd, func(x, y int) int { return cmp.Compare(full[x].end, full[y].end) })
	// acknowledged[i] counts the transfers acknowledged before the i-th audit by start, but not
	// before the previous audit. started[i] counts those started by the end of the i-th audit by
	// end, but after the previous audit's end.
	acknowledged, started := make([]int64, len(full)+1), make([]int64, len(full)+1)
	// Successive entries are mostly between the same audits.
	byStart, byLast := 0, 0
	for n := range a.j.entries.len() {
		first, end := a.j.span(n)
		if byStart > 0 && full[byFirst[byStart-1]].first > end || byStart < len(full) && full[byFirst[byStart]].first <= end {
			byStart, _ = slices.BinarySearchFunc(byFirst, end, func(x int, end int64) int {
				if full[x].first > end {
					return 1
				}
				return -1
			})
		}
		acknowledged[byStart]++
		if byLast > 0 && full[byEnd[byLast-1]].end >= first || byLast < len(full) && full[byEnd[byLast]].end < first {
			byLast, _ = slices.BinarySearchFunc(byEnd, first, func(x int, first int64) int { return cmp.Compare(full[x].end, first) })
		}
		started[byLast]++
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
