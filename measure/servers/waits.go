package servers

import (
	"cmp"
	"fmt"
	"slices"

	"assay/store"
)

// wait is what sessions wait for, and the kind of limit it is if most do.
type wait struct {
	means             store.Meaning
	kind, limit, what string
	// share is the part of the sampled working sessions that waited for it, 0 to 1.
	share float64
}

func waitsOf() []wait {
	return []wait{
		{means: store.LockWaits, kind: LimitLocks, limit: "locks", what: "a lock"},
		{means: store.DiskWaits, kind: LimitDisk, limit: "the disk", what: "the disk"},
		{means: store.MemoryWaits, kind: LimitLocks, limit: "locks in memory", what: "a lock in memory"},
		{means: store.StandbyWaits, kind: LimitReplication, limit: "replication", what: "a standby"},
	}
}

// waited is what sessions waited for in the chosen intervals. known is false if the product does
// not tell, or too few working sessions were seen.
func (r *Record) waited(chosen []bool) (all []wait, known bool) {
	at, told := r.meaning(store.BusySessions)
	if !told {
		return nil, false
	}
	known = true
	for _, w := range waitsOf() {
		waiting, told := r.meaning(w.means)
		if !told {
			continue
		}
		both := make([]bool, len(chosen))
		for i := range both {
			both[i] = chosen[i] && at[i] == at[i] && waiting[i] == waiting[i] // not NaN
		}
		sessions, waits := selected(at, both), selected(waiting, both)
		total := sum(sessions)
		if len(sessions) < enough || total < enoughSessions {
			known = known && len(sessions) >= enough
			continue
		}
		w.share = min(sum(waits)/total, 1)
		all = append(all, w)
	}
	return all, known
}

// waitsText says in one sentence what transactions waited for, the most frequent first; empty if
// unknown.
func (r *Record) waitsText(chosen []bool) string {
	all, _ := r.waited(chosen)
	slices.SortStableFunc(all, func(a, b wait) int { return cmp.Compare(b.share, a.share) })
	if len(all) == 0 {
		return ""
	}
	text, rest := "Of the sampled sessions at work, "+percent(all[0].share)+" waited for "+all[0].what, 1-all[0].share
	for _, w := range all[1:] {
		text += ", " + percent(w.share) + " for " + w.what
		rest -= w.share
	}
	if rest >= 0 { // samples of counters may overlap
		text += ", and " + percent(rest) + " for none of these"
	}
	if waiting, told := r.meaning(store.ClientWaits); told {
		if values := selected(waiting, chosen); len(values) > 0 {
			text += fmt.Sprintf(". %.1f sessions on average were in a transaction and waited for the client", mean(values))
		}
	}
	return text + "."
}
