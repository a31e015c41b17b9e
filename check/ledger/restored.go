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

// The kinds of evidence of a restored backup, beside those of the other checks.
const (
	// A transfer is there that was started when one that is missing had been acknowledged.
	kindNoMoment = "no-moment"
	// A transfer is missing that had been acknowledged before the moment that was asked for.
	kindBeforeTarget = "missing-before-target"
	// A transfer is there that was started after that moment.
	kindAfterTarget = "beyond-target"
	// A transfer is missing that the only node had acknowledged before its backup was begun.
	kindBeforeBackup = "missing-before-backup"

	restoredKinds = kindNoMoment + " " + kindBeforeTarget + " " + kindAfterTarget + " " + kindBeforeBackup
)

// targetGrain is how exact a server keeps the time of a commit.
const targetGrain = int64(time.Microsecond)

// Backup is what was restored. Times are nanoseconds since the start of the run.
type Backup struct {
	// Name is shown in evidence.
	Name string
	// Begun is when the backup was begun.
	Begun int64
	// Target is the moment whose state was asked for; negative for that of the backup.
	Target int64
	// Alone is true of a backup of the only node, in which nothing may be missing that had
	// been acknowledged when it was begun. Others may lag behind the one that answers.
	Alone bool
}

// Moment is where in the history a restored state lies.
type Moment struct {
	// From is when the last of its transfers was started, To when the first that it lacks
	// had been acknowledged: the moment is between them. math.MinInt64 and math.MaxInt64
	// where there is no such transfer.
	From, To int64
	// Lacks is how many acknowledged transfers are not there, LacksBegun how many of them
	// had been acknowledged when the backup was begun.
	Lacks, LacksBegun int64
}

// Restored is the check "restored" of a judge whose state is Earlier: it is one that the
// database can have been in at one moment, whole transactions and all that came before any
// of them.
//
// The other checks say that each account was given the versions from 1 on by whole
// transfers, so that what is there has all that came before it on an account. What had been
// acknowledged before it was started came before it too. Where both hold of each transfer
// that is there, they are the beginning of an order of all: that of the accounts and of real
// time. Of a backup of the only node, all is there that had been acknowledged when it was
// begun. For a moment that was asked for, all that had been acknowledged before it is there,
// and nothing that was started after it.
//
// Of a state that was not read whole no Moment is known; it is then the zero value, which no
// known one is.
func (j *Judge) Restored(b Backup) (check.Result, Moment) {
	r, missing := check.Result{Name: CheckRestored}, ""
	for _, one := range j.Results() {
		if one.Verdict == check.Unknown && missing == "" {
			missing = one.Detail
		}
		listed := map[string]int64{}
		for _, e := range one.Evidence {
			listed[e.Kind]++
			e.Text = b.Name + ": " + e.Text
			r.Add(e)
		}
		for _, f := range one.Findings {
			r.AddUnlisted(f.Kind, f.Found-listed[f.Kind])
		}
	}
	looked := fmt.Sprintf("%s holds %s and %s", b.Name, check.Counted(j.accountsRead, "account", "accounts"), journalRows(j.rowsRead))
	if j.incomplete[Journal] != "" {
		return r.Conclude(looked, "", "the state was not read whole: "+j.incomplete[Journal], false, ""), Moment{}
	}
	found := newFindings(restoredKinds)
	m := j.findMoment(b, found)
	found.AddTo(&r)
	r.Conclude(looked, " of one moment, "+m.between(), missing, false, "")
	r.Detail += "; " + m.lacking(b)
	return r, m
}

// findMoment goes over every transfer once.
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

// compareBegin holds a transfer that is missing, and had been acknowledged when the backup was
// begun, against what the backup is of.
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

// compareTarget holds a transfer against the moment that was asked for.
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

// between says when the moment is.
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

// lacking says what is missing of what was acknowledged.
func (m Moment) lacking(b Backup) string {
	return fmt.Sprintf("it lacks %s, %s of which had been acknowledged when the backup was begun at %s",
		check.Counted(m.Lacks, "acknowledged transfer", "acknowledged transfers"), check.Count(m.LacksBegun), seconds(b.Begun))
}
