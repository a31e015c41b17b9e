package definition

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"assay/check"
	"assay/store/promise"
)

// Losses takes account of the acknowledged operations that are not there after power
// cuts. A nil one is that of a run without them: nothing may be lost.
type Losses struct {
	// Cuts are in the order of time, and Source is the settings that decide what may
	// be lost.
	Cuts   []promise.Moment
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
func (l *Losses) Add(began, acknowledged int64) (cut promise.Moment, allowed bool) {
	if l == nil {
		return promise.Moment{}, false
	}
	l.Operations++
	next := slices.IndexFunc(l.Cuts, func(c promise.Moment) bool { return began <= c.End() })
	if next < 0 {
		l.Untimed++
		l.Beyond++
		return promise.Moment{}, false
	}
	at := next + slices.IndexFunc(l.Cuts[next:], func(c promise.Moment) bool { return c.Allows(acknowledged) })
	if allowed = at >= next; !allowed {
		at = next
		l.Beyond++
	}
	before := l.Cuts[at].Before(acknowledged)
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
	return l != nil && slices.ContainsFunc(l.Cuts, func(m promise.Moment) bool { return m.MayLose(began, acknowledged) })
}

// Everything takes it that all acknowledged operations are lost, and returns what that is
// called.
func (l *Losses) Everything(acknowledged int64) (text string) {
	l.Operations = acknowledged
	if !slices.ContainsFunc(l.Cuts, func(c promise.Moment) bool { return c.Allows(0) }) {
		l.Beyond, l.Untimed = acknowledged, acknowledged
	}
	return fmt.Sprintf("all %s are lost; %s", check.Counted(acknowledged, "acknowledged operation", "acknowledged operations"), l.permission())
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
