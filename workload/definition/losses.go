package definition

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"assay/check"
	"assay/store/promise"
)

// Losses counts acknowledged operations that are missing after power cuts. Nil means a run
// without cuts: nothing may be lost.
type Losses struct {
	// Cuts are in order of time. Source is the settings that decide what may be lost.
	Cuts   []promise.Moment
	Source string
	// Event is the name of a cut in texts; empty means "the cut".
	Event string

	// Beyond counts operations acknowledged earlier before the next cut than allowed, or after
	// the last.
	Operations, Beyond int64
	// Untimed counts those acknowledged after the last cut.
	Untimed int64
	// Newest and Oldest are the shortest and longest time between acknowledgement and cut.
	Newest, Oldest time.Duration
}

// Add counts a missing operation by its attempt's begin and acknowledgement. It returns the cut
// that lost it, and whether the manual allows that. Any later cut can excuse it: what one node
// loses at a cut may have been on another until a later cut.
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

// Uncertain reports whether the manual allows losing an operation with these times. It must then
// be treated as unknown.
func (l *Losses) Uncertain(began, acknowledged int64) bool {
	return l != nil && slices.ContainsFunc(l.Cuts, func(m promise.Moment) bool { return m.MayLose(began, acknowledged) })
}

// Everything counts all acknowledged operations as lost and returns a text that says so.
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
			text := l.Source + " promises nothing at " + cmp.Or(l.Event, "a loss of power")
			if l.Beyond > 0 {
				text += fmt.Sprintf(", and %s acknowledged at another time", check.Counted(l.Beyond, "was", "were"))
			}
			return text
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

func short(d time.Duration) string {
	if d < time.Second {
		return fmt.Sprintf("%d ms", d.Milliseconds())
	}
	return fmt.Sprintf("%.1f s", d.Seconds())
}
