package ledger

import (
	"fmt"

	"assay/check"
)

// judgeOrder judges order and, if audits were asked for, snapshots.
func (j *Judge) judgeOrder() []check.Result {
	found, seen := j.order.clone(), newFindings(snapshotKinds)
	var c *chains
	if j.entries.tooMany == 0 {
		c = newChains(j, found)
	}
	ask := j.books.AuditKind != 0 || j.books.FullAuditKind != 0
	var a *auditing
	if c != nil && ask {
		a = newAuditing(c, seen)
	}
	order := check.Result{Name: "order"}
	var agreed int64
	if c != nil {
		agreed = c.judge(a)
	}
	j.sayOrder(&order, found, agreed)
	if !ask {
		return []check.Result{order}
	}
	snapshots := check.Result{Name: "snapshots"}
	if a != nil {
		a.judgeFull()
	}
	j.saySnapshots(&snapshots, seen, a)
	return []check.Result{order, snapshots}
}

// judge finds what is wrong with the chains and, unless it is nil, with the
// audits; it returns how many acknowledged balances agreed. It uses up the
// chains: an entry whose place closes a cycle loses it.
func (c *chains) judge(a *auditing) (agreed int64) {
	b := balances{chains: c, audits: a}
	b.followAll()
	if a != nil {
		a.findTorn()
	}
	transfers := newSweep(c, nil)
	transfers.run()
	if a != nil && len(a.out) > 0 {
		all := newSweep(c, a)
		all.run()
		a.spent = all.spent // as it is if a cycle of transfers was left
	}
	return b.agreed
}

// sound is true if the accounts' versions count whole transfers.
func (c *chains) sound() bool {
	return c.doubled+c.gaps == 0 && c.beyond == nil && c.j.entries.excused == nil && c.j.incomplete[Journal] == ""
}

// convict puts the findings that are not allowed into r, and says what was
// found that is; innocent is true if nothing convicts.
func (j *Judge) convict(r *check.Result, found findings, looked string) (allowed string, innocent bool) {
	forbidden, permitted := found.split(j.books.Allowed)
	forbidden.into(r)
	if allowed = permitted.String(); allowed != "" {
		allowed = "; of what the isolation level allows there was " + allowed
	}
	if r.Verdict == check.Violated {
		r.Detail = fmt.Sprintf("%s: %v%s", looked, forbidden, allowed)
		return allowed, false
	}
	return allowed, true
}

func (j *Judge) sayOrder(r *check.Result, found findings, agreed int64) {
	looked := check.Counted(j.entries.len(), "journal row was", "journal rows were") + " put in order by the versions that they gave"
	allowed, innocent := j.convict(r, found, looked)
	switch {
	case !innocent:
	case j.entries.tooMany > 0:
		r.Detail = fmt.Sprintf("%s journal rows are too many to be put in order", check.Count(j.rowsRead))
	case j.unproven(r, History, Journal):
	case allowed != "":
		r.Verdict = check.Valid
		r.Detail = looked + " and nothing else was wrong" + allowed
	default:
		r.Verdict = check.Valid
		r.Detail = fmt.Sprintf("%s gave each account the versions from 1 on once each, in one order for all accounts that agrees with real time; %s from it",
			journalRows(j.rowsRead), check.Counted(agreed, "acknowledged balance follows", "acknowledged balances follow"))
	}
}
