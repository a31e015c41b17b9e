package ledger

import (
	"fmt"
	"math"
	"time"

	"assay/check"
	"assay/history"
)

// CheckRestored is the name of the check of restored backups.
const CheckRestored = "restored"

// The kinds of evidence of a restored backup, besides those of the other checks.
const (
	// A transfer is there that was started after a missing one had been acknowledged.
	kindNoMoment = "no-moment"
	// A transfer is missing that had been acknowledged before the requested moment.
	kindBeforeTarget = "missing-before-target"
	// A transfer is there that was started after the requested moment.
	kindAfterTarget = "beyond-target"
	// A transfer is missing that the only node had acknowledged before its backup began.
	kindBeforeBackup = "missing-before-backup"

	restoredKinds = kindNoMoment + " " + kindBeforeTarget + " " + kindAfterTarget + " " + kindBeforeBackup
)

// targetGrain is the resolution of a server's commit times.
const targetGrain = int64(time.Microsecond)

// Backup says what was restored. Times are nanoseconds since the start of the run.
type Backup struct {
	// Name is shown in evidence.
	Name string
	// Begun is when the backup began.
	Begun int64
	// Target is the requested moment; negative for the backup's own.
	Target int64
	// Alone is true for a backup of the only node, which must contain everything acknowledged
	// when it began. Other nodes may lag behind the one that answers.
	Alone bool
}

// Moment is the moment of the history to which a restored state belongs.
type Moment struct {
	// From is when the last of its transfers was started, To when the first missing one had been
	// acknowledged. The moment is between them. Without such a transfer they are math.MinInt64
	// and math.MaxInt64.
	From, To int64
	// Lacks counts the missing acknowledged transfers, LacksBegun those acknowledged before Begun.
	Lacks, LacksBegun int64
}

// Restored is the check "restored" of a judge whose state is Earlier: the database can have been
// in this state at one moment. It has whole transactions, and everything that preceded any of them.
//
// The other checks say that whole transfers gave each account its versions from 1 on, so that
// everything before a transfer on its accounts is there. Whatever was acknowledged before the
// transfer was started precedes it too. If both hold for each transfer that is there, they are a
// prefix of an order of all transfers that agrees with the accounts and with real time. A backup
// of the only node contains everything acknowledged when it began. A requested moment needs
// everything acknowledged before it, and nothing started after it.
//
// If the state was not read whole, the Moment is the zero value, which no known moment has.
func (j *Judge) Restored(b Backup) (check.Result, Moment) {
	r, missing := check.Result{Name: CheckRestored}, ""
	parts := j.Results()
	for _, one := range parts {
		if one.Verdict == check.Unknown && missing == "" {
			missing = one.Detail
		}
		for i := range one.Evidence {
			one.Evidence[i].Text = b.Name + ": " + one.Evidence[i].Text
		}
	}
	looked := fmt.Sprintf("%s holds %s and %s", b.Name, check.Counted(j.accountsRead, "account", "accounts"), journalRows(j.rowsRead))
	if j.incomplete[Journal] != "" {
		r.AddParts(parts)
		return r.Conclude(looked, "", "the state was not read whole: "+j.incomplete[Journal], false, ""), Moment{}
	}
	found := newFindings(restoredKinds)
	m := j.findMoment(b, found)
	var moment check.Result
	found.AddTo(&moment)
	r.AddParts(append(parts, moment))
	r.Conclude(looked, " of one moment, "+m.between(), missing, false, "")
	r.Detail += "; " + m.lacking(b)
	return r, m
}

func (j *Judge) findMoment(b Backup, found check.Findings) Moment {
	m := Moment{From: math.MinInt64, To: math.MaxInt64}
	var last, absent int64
	for _, block := range j.ops.sorted() {
		for i, s := range block.states {
			there := s.rows() > 0
			if s.has(other) || !there && (!s.has(ended) || s.outcome() != history.Committed) {
				continue
			}
			first, end := block.page[i].span()
			id := j.config.ID(block.key.client(), block.key.seq(i))
			switch {
			case there && first > m.From:
				m.From, last = first, id
			case !there && end < m.To:
				m.To, absent = end, id
			}
			if !there {
				m.Lacks++
				if end < b.Begun {
					m.LacksBegun++
					j.compareBegin(b, id, end, found)
				}
			}
			j.compareTarget(b, id, there, first, end, found)
		}
	}
	if m.To < m.From {
		found.Add(kindNoMoment, func() check.Evidence {
			return check.Evidence{
				Text: fmt.Sprintf("%s: %s is there, which was started at %s, and %s is missing, which had been acknowledged at %s: the database was in no such state at any moment",
					b.Name, j.transfer(last), seconds(m.From), j.transfer(absent), seconds(m.To)),
				Fields: map[string]int64{"id": last, "started_ns": m.From, "missing_id": absent, "acknowledged_ns": m.To},
			}
		})
	}
	return m
}

// compareBegin judges a missing transfer that had been acknowledged when the backup began.
func (j *Judge) compareBegin(b Backup, id, end int64, found check.Findings) {
	if !b.Alone {
		return
	}
	found.Add(kindBeforeBackup, func() check.Evidence {
		return check.Evidence{
			Text: fmt.Sprintf("%s: %s is missing, which the only node had acknowledged at %s, before the backup was begun at %s",
				b.Name, j.transfer(id), seconds(end), seconds(b.Begun)),
			Fields: map[string]int64{"id": id, "acknowledged_ns": end, "begun_ns": b.Begun},
		}
	})
}

func (j *Judge) compareTarget(b Backup, id int64, there bool, first, end int64, found check.Findings) {
	switch {
	case b.Target < 0:
	case there && first > b.Target+targetGrain:
		found.Add(kindAfterTarget, func() check.Evidence {
			return check.Evidence{
				Text:   fmt.Sprintf("%s: %s is there, which was started at %s, after the moment that was asked for, %s", b.Name, j.transfer(id), seconds(first), seconds(b.Target)),
				Fields: map[string]int64{"id": id, "started_ns": first, "target_ns": b.Target},
			}
		})
	case !there && end < b.Target:
		found.Add(kindBeforeTarget, func() check.Evidence {
			return check.Evidence{
				Text:   fmt.Sprintf("%s: %s is missing, which had been acknowledged at %s, before the moment that was asked for, %s", b.Name, j.transfer(id), seconds(end), seconds(b.Target)),
				Fields: map[string]int64{"id": id, "acknowledged_ns": end, "target_ns": b.Target},
			}
		})
	}
}

func (m Moment) between() string {
	switch {
	case m.From == math.MinInt64 && m.To == math.MaxInt64:
		return "before the first transfer"
	case m.From == math.MinInt64:
		return "before " + seconds(m.To)
	case m.To == math.MaxInt64:
		return "after " + seconds(m.From)
	}
	return "between " + seconds(m.From) + " and " + seconds(m.To)
}

func (m Moment) lacking(b Backup) string {
	return fmt.Sprintf("it lacks %s, %s of which had been acknowledged when the backup was begun at %s",
		check.Counted(m.Lacks, "acknowledged transfer", "acknowledged transfers"), check.Count(m.LacksBegun), seconds(b.Begun))
}
