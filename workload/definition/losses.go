package definition

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"assay/check"
)

// PowerCut is a moment at which nodes of the database lost their power, or what else makes
// them lose what they have acknowledged: their processes were killed, or others took over.
type PowerCut struct {
	// At is in nanoseconds since the start of the run. Until is how late, if it is later,
	// they may have acknowledged something in spite of it.
	At, Until int64
	// Allowed is how long before it an operation may have been acknowledged that the
	// database's manual does not promise to keep; negative for any time.
	Allowed time.Duration
}

// Losses takes account of the acknowledged operations that are not there after power
// cuts. A nil one is that of a run without them: nothing may be lost.
type Losses struct {
	// Cuts are in the order of time, and Source is the settings that decide what may
	// be lost.
	Cuts   []PowerCut
	Source string
	// Event is what the cuts are called; empty for the cut.
	Event string

	// Operations are lost; of these Beyond were acknowledged longer before the next
	// cut than is allowed, or after the last.
	Operations, Beyond int64
	// Untimed were acknowledged after the last cut.
	Untimed int64
	// Newest and Oldest are how long before the cut the last and the first of those
	// that a cut came after were acknowledged.
	Newest, Oldest time.Duration
}

// Add takes an acknowledged operation that is not there, by when the attempt began and
// when it was acknowledged. It returns the cut that it was lost at, and whether the
// manual allows that: at any cut that came after it, since what one node loses at a cut
// may have been on another until a later one.
func (l *Losses) Add(began, acknowledged int64) (cut PowerCut, allowed bool) {
	if l == nil {
		return PowerCut{}, false
	}
	l.Operations++
	next := slices.IndexFunc(l.Cuts, func(c PowerCut) bool { return began <= c.End() })
	if next < 0 {
		l.Untimed++
		l.Beyond++
		return PowerCut{}, false
	}
	at := next + slices.IndexFunc(l.Cuts[next:], func(c PowerCut) bool { return c.allows(acknowledged) })
	if allowed = at >= next; !allowed {
		at = next
		l.Beyond++
	}
	before := l.Cuts[at].before(acknowledged)
	if l.Operations == l.Untimed+1 {
		l.Newest = before
	}
	l.Newest, l.Oldest = min(l.Newest, before), max(l.Oldest, before)
	return l.Cuts[at], allowed
}

// Uncertain reports whether what was done between these moments, and was acknowledged,
// may be lost as the manual allows: then nothing follows from it that would not follow
// from an operation of unknown outcome.
func (l *Losses) Uncertain(began, acknowledged int64) bool {
	return l != nil && slices.ContainsFunc(l.Cuts, func(c PowerCut) bool {
		return began <= c.End() && c.allows(acknowledged)
	})
}

// End is the last moment at which something may have been acknowledged that was lost.
func (c PowerCut) End() int64 { return max(c.At, c.Until) }

// allows reports whether the manual allows to lose at the cut what was acknowledged at a
// moment before it.
func (c PowerCut) allows(acknowledged int64) bool {
	return c.Allowed < 0 || c.Allowed > 0 && c.before(acknowledged) <= c.Allowed
}

// Everything takes it that all acknowledged operations are lost, and returns what that is
// called.
func (l *Losses) Everything(acknowledged int64) (text string) {
	l.Operations = acknowledged
	if !slices.ContainsFunc(l.Cuts, func(c PowerCut) bool { return c.allows(0) }) {
		l.Beyond, l.Untimed = acknowledged, acknowledged
	}
	return fmt.Sprintf("all %s are lost; %s", check.Counted(acknowledged, "acknowledged operation", "acknowledged operations"), l.permission())
}

// before is how long before the cut an operation was acknowledged. The answer may have
// been on its way when the power was cut.
func (c PowerCut) before(acknowledged int64) time.Duration {
	return time.Duration(max(c.At-acknowledged, 0))
}

// Text says what was lost and whether it may be; empty for a run without cuts.
func (l *Losses) Text() string {
	switch {
	case l == nil:
		return ""
	case l.Operations == 0:
		return "acknowledged operations lost: none"
	}
	text := "acknowledged operations lost: " + check.Count(l.Operations)
	if l.Operations > l.Untimed {
		text += fmt.Sprintf(", the newest %s and the oldest %s before %s", short(l.Newest), short(l.Oldest), cmp.Or(l.Event, "the cut"))
	}
	return text + "; " + l.permission()
}

func (l *Losses) permission() string {
	most := time.Duration(0)
	for _, cut := range l.Cuts {
		if cut.Allowed < 0 {
			return l.Source + " promises nothing at " + cmp.Or(l.Event, "a loss of power")
		}
		most = max(most, cut.Allowed)
	}
	if most == 0 {
		return l.Source + " promises that none is"
	}
	text := fmt.Sprintf("%s allows those of the last %s", l.Source, short(most))
	if l.Beyond > 0 {
		text += fmt.Sprintf(", and %s acknowledged before", check.Counted(l.Beyond, "was", "were"))
	}
	return text
}

// short is a time in milliseconds, or from a second on in seconds.
func short(d time.Duration) string {
	if d < time.Second {
		return fmt.Sprintf("%d ms", d.Milliseconds())
	}
	return fmt.Sprintf("%.1f s", d.Seconds())
}
