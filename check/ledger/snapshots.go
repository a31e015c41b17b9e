package ledger

import (
	"fmt"
	"math"

	"assay/check"
)

type auditCheck struct {
	*versionOrder
	audits *audits
	gone   *gone
	// index and start are the readings by account and version.
	index, start []uint32
	// excluded are audits not judged further: an error was found, or their readings are in doubt.
	excluded []bool
	doubtful int64
	gaveUp   bool
	found    check.Findings // of snapshots
}

func newAuditCheck(c *versionOrder, seen check.Findings) *auditCheck {
	a := &auditCheck{versionOrder: c, audits: &c.j.audits, gone: newGone(c.j), found: seen}
	a.index, a.start = a.audits.byAccount(len(c.j.accounts))
	a.excluded = make([]bool, len(a.audits.partial))
	return a
}

func (a *auditCheck) reading(r *reading) check.Evidence {
	x := &a.audits.partial[r.audit]
	return check.Evidence{Fields: map[string]int64{"client": int64(x.client), "operation": int64(x.seq),
		"account": int64(r.account), "version": r.version, "balance": r.balance}}
}

// convict reports an audit's error, once.
func (a *auditCheck) convict(audit uint32, kind string, tell func() check.Evidence) {
	if !a.excluded[audit] {
		a.excluded[audit] = true
		a.found.Add(kind, tell)
	}
}

// checkReadings judges the readings of a version; for version 0 also those below it.
func (b *balances) checkReadings(version int64, p versionState) {
	if b.audits == nil {
		return
	}
	a := b.audits
	for ; b.next < a.start[b.account+1]; b.next++ {
		r := &a.audits.readings[a.index[b.next]]
		switch {
		case r.version > version:
			return
		case p.ambiguous && !a.excluded[r.audit]:
			a.excluded[r.audit] = true
			a.doubtful++
		case r.version < 0 || !p.exists && b.complete():
			if !b.goneRead(r) {
				b.noSuchVersion(r)
			}
		case p.exists && b.known && !b.agrees(r.balance):
			if !b.goneRead(r) {
				b.dirtyRead(r)
			}
		}
	}
}

func (b *balances) checkReadingsAbove() {
	b.checkReadings(math.MaxInt64, versionState{})
}

// complete reports whether a version of the account that is absent was certainly not given.
func (b *balances) complete() bool {
	return b.j.incomplete[Journal] == "" && !b.unreliable
}

func (b *balances) agrees(balance int64) bool {
	if b.exact {
		return balance == b.balance
	}
	return uint32(balance) == uint32(b.balance) || uint32(balance) == uint32(b.other)
}

func (b *balances) noSuchVersion(r *reading) {
	b.audits.convict(r.audit, KindNoSuchVersion, func() check.Evidence {
		e := b.audits.reading(r)
		e.Text = fmt.Sprintf("%s read %d in account %d at version %d, which no journal row gave it",
			b.j.audits.partial[r.audit].name(), r.balance, r.account, r.version)
		return e
	})
}

func (b *balances) dirtyRead(r *reading) {
	b.audits.convict(r.audit, KindDirtyRead, func() check.Evidence {
		e := b.audits.reading(r)
		e.Fields["expected"] = b.balance
		e.Text = fmt.Sprintf("%s read %d in account %d at version %d, where the journal makes it %d: it read what was never committed (dirty read, G1a)",
			b.j.audits.partial[r.audit].name(), r.balance, r.account, r.version, b.balance)
		return e
	})
}

// findTornReads finds the audits that saw only one side of a transfer, if the transfer is the last
// that they saw on an account or the first that they missed. Other torn reads are found as cycles.
func (a *auditCheck) findTornReads() {
	for n := range a.audits.partial {
		a.findTornIn(uint32(n))
	}
}

func (a *auditCheck) findTornIn(audit uint32) {
	readings := a.audits.of(audit)
	for _, r := range readings {
		for version := r.version; version <= r.version+1; version++ {
			first, end := int64(a.bounds[r.account-1]), int64(a.bounds[r.account])
			at := first + version - 1
			if version < 1 || at >= end || a.slots[at] == 0 {
				continue
			}
			n := a.slots[at] - 1
			e := a.j.entry(n)
			for _, other := range readings {
				side := debit
				if e.account[credit] == other.account {
					side = credit
				}
				if e.account[side] == other.account &&
					(version <= r.version) != (int64(e.version[side]) <= other.version) {
					self := a.j.entries.len() + audit
					cycle := []step{{self, n, r.account}, {n, self, other.account}}
					if version <= r.version {
						cycle[0].account, cycle[1].account = other.account, r.account
					}
					a.addTornRead(cycle)
					return
				}
			}
		}
	}
}

// gave is the version that entry n gave an account, by id; ok is false if it is not its account.
func (c *versionOrder) gave(n, id uint32) (version int64, ok bool) {
	e := c.j.entry(n)
	for side := range sides {
		if e.account[side] == id {
			return int64(e.version[side]), true
		}
	}
	return 0, false
}

func (j *Judge) snapshotsResult(r *check.Result, seen check.Findings, a *auditCheck, tooMany string) {
	partial, full := int64(len(j.audits.partial)), int64(len(j.audits.full))
	audits := auditsText(partial, int64(len(j.audits.readings)), full)
	looked := audits + " were compared with the order of the transfers"
	if partial+full == 1 {
		looked = audits + " was compared with the order of the transfers"
	}
	switch {
	case convict(r, seen, looked):
	case j.audits.malformed != "":
		r.Detail = "the history holds an audit that cannot be understood: " + j.audits.malformed
	case partial+full == 0:
		r.Detail = "no audit was done"
	case tooMany != "":
		r.Detail = tooMany
	case a.doubtful > 0:
		r.Detail = fmt.Sprintf("%s of %s audits read versions that were given twice", check.Count(a.doubtful), check.Count(partial+full))
	case a.gaveUp:
		r.Detail = "the transfers have no order that audits could be compared with"
	case j.unproven(r, History, Journal):
	default:
		r.Verdict = check.Valid
		each := "each "
		if partial+full == 1 {
			each = ""
		}
		r.Detail = audits + " " + each + "saw one state of the order, both sides or neither of every transfer, and all that had been acknowledged"
	}
}

// auditsText names the audits of some accounts and of all accounts; there must be at least one.
func auditsText(partial, accounts, full int64) string {
	some := check.Counted(partial, "audit", "audits") + " of " + check.Counted(accounts, "account", "accounts")
	switch {
	case full == 0:
		return some
	case partial == 0:
		return check.Counted(full, "audit", "audits") + " of all accounts"
	default:
		return some + " and " + check.Count(full) + " of all accounts"
	}
}
