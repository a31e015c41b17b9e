package judge

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"assay/check"
	"assay/fault"
	"assay/history"
	"assay/measure"
	"assay/report"
	"assay/store"
	"assay/store/promise"
	"assay/workload/definition"
)

// Unjudged says why nothing of a run can be judged; empty if something can.
func Unjudged(r *report.Result) string {
	for _, s := range r.Database.Settings {
		if s.Name == store.SettingUnjudged {
			return s.Value
		}
	}
	return ""
}

// enterUnjudged still compares the tester's own counts.
func enterUnjudged(r *report.Result, why string, figures measure.Figures) {
	r.Checks = []check.Result{
		{Name: "answers", Verdict: check.Unknown, Detail: "not judged: " + why},
		accounting(figures, figures.Outcomes, &r.Client),
	}
	r.Verdict = check.Combine(r.Checks)
	r.Notes = slices.Concat(r.RunNotes, r.Notes)
}

// accounting compares three counts of the run: live, from the history, and by the judge. If they
// differ, the tester is wrong, and no check counts as valid.
func accounting(f measure.Figures, judged history.Counts, client *report.Client) check.Result {
	r := check.Result{Name: "record", Verdict: check.Valid}
	h := f.Outcomes
	r.Detail = fmt.Sprintf("%s in %s in the history", check.Counted(h.Total(), "operation", "operations"), check.Counted(f.Attempts, "attempt is", "attempts are"))
	// Reserved, done and not recorded: only a lost client leaves this.
	unrecorded := judged.Unknown - h.Unknown
	wrong := judged.Committed != h.Committed || judged.Rejected != h.Rejected || judged.Failed != h.Failed || unrecorded < 0
	live := client.Counted
	if live != nil {
		r.Detail += fmt.Sprintf(", as many as were counted while it went on (%s in %s)", check.Count(live.Outcomes.Total()), check.Count(live.Attempts))
		wrong = wrong || live.Outcomes != h || live.Attempts != f.Attempts || client.Hung == 0 && unrecorded != 0
	}
	if wrong {
		r.Verdict = check.Unknown
		r.Detail = fmt.Sprintf("the tester's own counts differ: history %+v, judge %+v, live %+v; please report this", h, judged, live)
	}
	return r
}

// twoPrimaries is the check of a run that left two primaries. That acknowledged operations are
// there says little: one primary will be given up, with what only it has.
func twoPrimaries(r *report.Result) []check.Result {
	if r.Cluster == nil || !r.Cluster.TwoPrimaries {
		return nil
	}
	return []check.Result{{Name: "primary", Verdict: check.Unknown, Detail: "two nodes take writes (" + r.Cluster.Settled +
		"); what was read back is one of them, whoever connects may reach the other, and what only one has is lost when the other is kept"}}
}

// readable is the check that all rows could be read; none if they could.
func readable(unread store.Unread) []check.Result {
	if unread.Rows == 0 {
		return nil
	}
	return []check.Result{{Name: "readable", Verdict: check.Violated, Found: unread.Rows,
		Detail:   fmt.Sprintf("%s cannot be read: %s", check.Counted(unread.Rows, "row", "rows"), unread.First),
		Findings: []check.Finding{{Kind: "unreadable row", Found: unread.Rows}}}}
}

// notesOf say which tables are missing.
func notesOf(unread store.Unread) (notes []string) {
	for _, table := range unread.Tables {
		notes = append(notes, fmt.Sprintf("table %s is not there any more: what was in it counts as lost", table))
	}
	return notes
}

const checkRestored = "restored"

// enterUnrestored adds to the check of restored backups what was not restored or not read. The
// check is then not valid: a backup that cannot be restored is none.
func enterUnrestored(results []check.Result, faults []report.Fault, read []definition.Restored) []check.Result {
	var problems []string
	for i := range faults {
		f := &faults[i]
		if fault.Recorded(f.Action).Name != fault.Restore || f.Backup != nil && slices.ContainsFunc(read, func(s definition.Restored) bool { return s.Number == f.Backup.Restore }) {
			continue
		}
		problems = append(problems, f.Asked+": "+cmp.Or(f.Problem, "the run ended before it had read what was restored"))
	}
	if len(problems) == 0 {
		return results
	}
	at := slices.IndexFunc(results, func(r check.Result) bool { return r.Name == checkRestored })
	if at < 0 {
		at, results = len(results), append(results, check.Result{Name: checkRestored})
	}
	r := &results[at]
	if r.Verdict == check.Valid {
		r.Verdict = check.Unknown
	}
	r.Detail = strings.TrimPrefix(r.Detail+"; "+strings.Join(problems, "; "), "; ")
	return results
}

// rulingOfCopies rules on findings in restored copies of the database's file alone; nil if no
// backup was such a copy.
func rulingOfCopies(faults []report.Fault) *promise.Ruling {
	const source = "backup=" + fault.WayCopy
	backups, copies := 0, 0
	for _, f := range faults {
		if f.Backup == nil || f.Backup.Restore > 0 {
			continue
		}
		backups++
		if f.Action == source {
			copies++
		}
	}
	if copies == 0 {
		return nil
	}
	ruling := promise.OfCopies(source, copies == backups)
	return &ruling
}

func enterMoments(r *report.Result, moments map[int]report.Moment) {
	for i := range r.Faults {
		if b := r.Faults[i].Backup; b != nil {
			if m, known := moments[b.Restore]; known {
				b.Moment = &m
			}
		}
	}
}
