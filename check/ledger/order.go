package ledger

import (
	"fmt"

	"assay/check"
)

// judgeOrder judges order and, if audits were asked for, snapshots.
func (j *Judge) judgeOrder() []check.Result {
	found, seen := j.order.clone(), newFindings(snapshotKinds)
	var c *versionOrder
	if j.entries.tooMany == 0 {
		c = newVersionOrder(j, found)
	}
	ask := j.config.AuditKind != 0 || j.config.FullAuditKind != 0
	var a *auditCheck
	if c != nil && ask {
		a = newAuditCheck(c, seen)
	}
	order := check.Result{Name: "order"}
	var agreed int64
	if c != nil {
		agreed = c.judge(a)
	}
	j.orderResult(&order, found, agreed)
	if !ask {
		return []check.Result{order}
	}
	snapshots := check.Result{Name: "snapshots"}
	if a != nil {
		a.judgeFull()
	}
	j.snapshotsResult(&snapshots, seen, a)
	return []check.Result{order, snapshots}
}

// judge finds what is wrong with the versionOrder and, unless it is nil, with the
// audits; it returns how many acknowledged balances agreed. It uses up the
// version order: an entry whose slot closes a cycle loses it.
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

// sound is true if the accounts' versions count whole transfers.
func (c *versionOrder) sound() bool {
	return c.repeated+c.gaps == 0 && c.impossible == nil && c.j.entries.excluded == nil && c.j.incomplete[Journal] == ""
}

// addForbidden puts the findings that the isolation level forbids into r. It
// returns what was found that is allowed, and true if nothing is forbidden.
func (j *Judge) addForbidden(r *check.Result, found findings, looked string) (allowed string, innocent bool) {
	forbidden, permitted := found.split(j.config.Allowed)
	forbidden.addTo(r)
	if allowed = permitted.String(); allowed != "" {
		allowed = "; of what the isolation level allows there was " + allowed
	}
	if r.Verdict == check.Violated {
		r.Detail = fmt.Sprintf("%s: %v%s", looked, forbidden, allowed)
		return allowed, false
	}
	return allowed, true
}

func (j *Judge) orderResult(r *check.Result, found findings, agreed int64) {
	looked := check.Counted(j.entries.len(), "journal row was", "journal rows were") + " put in order by the versions that they gave"
	allowed, innocent := j.addForbidden(r, found, looked)
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
