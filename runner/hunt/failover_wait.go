package hunt

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"assay/fault"
)

// FailoverWait is the length of plans that take the primary away. Each kind of fault has its own once
// another node has taken writes after it: a primary that is told to stop hands over at once, and a
// dead one is missed after a time limit.
type FailoverWait struct {
	// Unknown is for kinds after which no other node took writes yet; leastWait if 0. It
	// grows with each plan in which none did.
	Unknown time.Duration `json:"unknown_ns,omitempty"`
	// Known is by kind of fault, and negative if none did in the longest of plans.
	Known map[string]time.Duration `json:"known_ns,omitempty"`
}

func (w *FailoverWait) of(action string) time.Duration {
	return cmp.Or(w.Known[action], w.Unknown, leastWait)
}

// learn takes a run of a plan whose first fault is the one that takes the primary away.
func (w *FailoverWait) learn(p Plan, seen Seen, longest time.Duration) {
	if len(p.Faults) == 0 {
		return
	}
	f, err := fault.Parse(p.Faults[0])
	wait := w.of(f.Action)
	if err != nil || !f.AimsAtPrimary() || !takesAway(f.Action) || wait < 0 || p.Duration < wait || f.For < wait/2 {
		return
	}
	if w.Known == nil {
		w.Known = map[string]time.Duration{}
	}
	another := slices.ContainsFunc(seen.States, func(state string) bool { return strings.HasPrefix(state, ledAnother) })
	switch {
	case another && len(p.Faults) > 1: // any of them may have been the reason
	case another:
		w.Known[f.Action] = wait
	case w.Known[f.Action] > 0:
		w.Known[f.Action] = min(wait*2, longest)
	case wait >= longest && len(p.Faults) > 1: // which may have kept the others from it
	case wait >= longest:
		w.Known[f.Action] = -1
	default:
		w.Unknown = min(wait*2, longest)
	}
}
