package ledger

import (
	"fmt"

	"assay/check"
)

func (j *Judge) judgeOrder() []check.Result {
	found, seen := j.order.Clone(), newFindings(snapshotKinds)
	ask := j.audited()
	var a *auditCheck
	if j.entries.tooMany == 0 && ask {
		a = newAuditCheck(&versionOrder{j: j}, seen)
	}
	order := check.Result{Name: "order"}
	agreed, tooMany := j.compareOrder(found, a)
	j.orderResult(&order, found, agreed, tooMany)
	if !ask {
		return []check.Result{order}
	}
	snapshots := check.Result{Name: "snapshots"}
	if a != nil && tooMany == "" {
		a.judgeFull()
	}
	j.snapshotsResult(&snapshots, seen, a, tooMany)
	return []check.Result{order, snapshots}
}

func (j *Judge) audited() bool { return j.config.AuditKind != 0 || j.config.FullAuditKind != 0 }

// compareOrder proves that nothing is wrong, or finds the errors. It returns how many
// acknowledged balances agreed, or why there are too many rows.
func (j *Judge) compareOrder(found check.Findings, a *auditCheck) (agreed int64, tooMany string) {
	if j.entries.tooMany > 0 {
		return 0, fmt.Sprintf("%s journal rows are too many to be put in order", check.Count(j.rowsRead))
	}
	agreed, proven := j.proveOrder()
	switch {
	case proven:
		return agreed, ""
	case j.entries.len() > j.searchable:
		return 0, fmt.Sprintf("of %s journal rows it could not be shown that nothing is wrong with their order, and they are too many to be searched for what is",
			check.Count(j.rowsRead))
	default:
		return j.findErrors(found, a), ""
	}
}

// findErrors finds the errors in order and, unless a is nil, in snapshots.
func (j *Judge) findErrors(found check.Findings, a *auditCheck) (agreed int64) {
	c := newVersionOrder(j, found)
	if a != nil {
		a.versionOrder = c
	}
	return c.judge(a)
}

// judge finds the errors in the version order and, unless a is nil, in the audits. It returns how
// many acknowledged balances agreed. It uses up the version order: an entry whose slot closes a
// cycle loses it.
func (c *versionOrder) judge(a *auditCheck) (agreed int64) {
	b := balances{versionOrder: c, audits: a}
	b.followAll()
	if a != nil {
		a.findTornReads()
	}
	transfers := newTopologicalSort(c, nil)
	transfers.run()
	if a != nil && len(a.excluded) > 0 {
		all := newTopologicalSort(c, a)
		all.run()
		a.gaveUp = all.gaveUp // as it is if a cycle of transfers was left
	}
	return b.agreed
}

// sound reports whether the accounts' versions count whole transfers.
func (c *versionOrder) sound() bool {
	return c.repeated+c.gaps == 0 && c.impossible == nil && c.j.entries.excluded == nil && c.j.incomplete[Journal] == ""
}

func convict(r *check.Result, found check.Findings, looked string) bool {
	found.AddTo(r)
	if r.Verdict == check.Violated {
		r.Detail = fmt.Sprintf("%s: %v", looked, found)
	}
	return r.Verdict == check.Violated
}

func (j *Judge) orderResult(r *check.Result, found check.Findings, agreed int64, tooMany string) {
	looked := check.Counted(j.entries.len(), "journal row was", "journal rows were") + " put in order by the versions that they gave"
	switch {
	case convict(r, found, looked):
	case tooMany != "":
		r.Detail = tooMany
	case j.unproven(r, History, Journal):
	default:
		r.Verdict = check.Valid
		r.Detail = fmt.Sprintf("%s gave each account the versions from 1 on once each, in one order for all accounts that agrees with real time; %s from it",
			journalRows(j.rowsRead), check.Counted(agreed, "acknowledged balance follows", "acknowledged balances follow"))
	}
}

// versionOrder holds the entries of each account by version.
type versionOrder struct {
	j *Judge
	// bounds is where the slots of each account begin, by id-1; the next element is where they
	// end. A slot stands for a version, from 1. An account has as many slots as its highest
	// version; but at most twice its entries if the journal is whole.
	bounds []uint32
	// slots hold the entry's number plus one; 0 if no entry gave the version.
	slots []uint32
	// ambiguous are the slots whose version was given twice. impossible are the accounts, by
	// id-1, that were given a version without a slot.
	ambiguous, impossible bits
	found                 check.Findings // of order
	// repeated and gaps count the slots with an error.
	repeated, gaps int64
	// steps bounds each topological sort's search for cycles, visits its search for short ones.
	steps, visits int64
}

func newVersionOrder(j *Judge, found check.Findings) *versionOrder {
	j.writeEntries()
	c := &versionOrder{j: j, found: found}
	c.setBounds()
	c.steps, c.visits = 16*int64(len(c.slots))+1<<20, maxSortVisits
	for n := range j.entries.len() {
		e := j.entry(n)
		for side := range sides {
			if at, ok := c.slotOf(e, side); ok {
				c.fillSlot(n, e, side, at)
			} else if e.account[side] > 0 {
				c.addImpossible(n, e.account[side], e.version[side])
			}
		}
	}
	if j.incomplete[Journal] == "" {
		for account := range j.accounts {
			c.findGaps(uint32(account))
		}
	}
	return c
}

func (c *versionOrder) setBounds() {
	entries := &c.j.entries
	count, highest := make([]uint32, len(c.j.accounts)+1), make([]uint32, len(c.j.accounts))
	for n := range entries.len() {
		e := c.j.entry(n)
		for side, id := range e.account {
			if id > 0 {
				count[id-1]++
				highest[id-1] = max(highest[id-1], e.version[side])
			}
		}
	}
	var all uint64
	for _, top := range highest {
		all += uint64(top)
	}
	// In an incomplete journal, rows may be missing before each version.
	roomy := c.j.incomplete[Journal] != "" && all <= 16*uint64(entries.len()) && all < 1<<32
	var sum uint32
	for i, top := range highest {
		room := top
		if !roomy {
			room = min(top, 2*count[i])
		}
		count[i] = sum
		sum += room
	}
	count[len(highest)] = sum
	c.bounds, c.slots = count, make([]uint32, sum)
}

// slotOf returns the entry's slot on one side; ok is false if there is no such slot.
func (c *versionOrder) slotOf(e *entry, side int) (at uint32, ok bool) {
	id, version := e.account[side], e.version[side]
	if id == 0 || version > c.bounds[id]-c.bounds[id-1] {
		return 0, false
	}
	return c.bounds[id-1] + version - 1, true
}

// ownSlot is slotOf, but only if the entry has the slot.
func (c *versionOrder) ownSlot(n uint32, e *entry, side int) (at uint32, ok bool) {
	at, ok = c.slotOf(e, side)
	return at, ok && c.slots[at] == n+1
}

func (c *versionOrder) version(account, at uint32) int64 { return int64(at-c.bounds[account]) + 1 }

func (c *versionOrder) fillSlot(n uint32, e *entry, side int, at uint32) {
	if c.slots[at] == 0 {
		c.slots[at] = n + 1
		return
	}
	if c.ambiguous == nil {
		c.ambiguous = newBits(len(c.slots))
	}
	c.ambiguous.set(at)
	c.repeated++
	c.found.Add(KindLostUpdate, func() check.Evidence {
		first, second := c.j.id(c.slots[at]-1), c.j.id(n)
		return check.Evidence{
			Text: fmt.Sprintf("%s and %s both gave account %d version %d: one of the two updates is lost",
				c.j.transfer(first), c.j.transfer(second), e.account[side], e.version[side]),
			Fields: map[string]int64{"id": first, "other_id": second, "account": int64(e.account[side]), "version": int64(e.version[side])},
		}
	})
}

// addImpossible reports a version that so few rows cannot have reached.
func (c *versionOrder) addImpossible(n, id, version uint32) {
	if c.j.incomplete[Journal] != "" || c.j.entries.excluded.has(id-1) {
		return
	}
	if c.impossible == nil {
		c.impossible = newBits(len(c.j.accounts))
	}
	c.impossible.set(id - 1)
	c.found.Add(KindImpossibleVersion, func() check.Evidence {
		transfer, rows := c.j.id(n), c.j.accounts[id-1].touched
		return check.Evidence{
			Text:   fmt.Sprintf("%s gave account %d version %d, but only %s it", c.j.transfer(transfer), id, version, check.Counted(rows, "journal row touches", "journal rows touch")),
			Fields: map[string]int64{"id": transfer, "account": int64(id), "version": int64(version), "journal_rows": rows},
		}
	})
}

// findGaps reports an account's missing versions below an existing one, unless already explained.
func (c *versionOrder) findGaps(account uint32) {
	if c.j.entries.excluded.has(account) || c.impossible.has(account) {
		return
	}
	var missing int64
	for at := c.bounds[account]; at < c.bounds[account+1]; at++ {
		if c.slots[at] == 0 {
			missing++
			continue
		}
		if missing > 0 {
			c.addGap(account, at, missing)
		}
		missing = 0
	}
}

func (c *versionOrder) addGap(account, at uint32, missing int64) {
	c.gaps += missing
	c.found.Add(KindMissingVersion, func() check.Evidence {
		next, id := c.version(account, at), c.j.id(c.slots[at]-1)
		what := fmt.Sprintf("version %d", next-1)
		if missing > 1 {
			what = fmt.Sprintf("any of the versions %d to %d", next-missing, next-1)
		}
		return check.Evidence{
			Text: fmt.Sprintf("no journal row gave account %d %s, though %s gave it version %d",
				account+1, what, c.j.transfer(id), next),
			Fields: map[string]int64{"account": int64(account + 1), "version": next - missing, "last_version": next - 1,
				"id": id, "next_version": next},
		}
	})
}
