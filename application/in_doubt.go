package application

import (
	"time"

	"assay/application/wire"
)

// doubts are the transactions of which the application could not know that they were committed. It may do
// others again by design: it counts a try, or enters each login.
type doubts struct {
	// untold is when those ended first that were committed, or may have been, and of which the
	// application was not told: by place and values.
	untold map[string]time.Duration
	// struck is the one that the event met, and place is the place of the event.
	struck *wire.Transaction
	place  string
}

func (r *run) doubts() doubts {
	d := doubts{untold: map[string]time.Duration{}, struck: r.struck(), place: r.name}
	for _, t := range r.all {
		if !t.Told && (t.Changed() || t.Outcome == wire.Unknown) {
			key := t.Place + t.Values()
			if t.Outcome == wire.Unknown { // nobody has said what it changed
				key = t.Place + opened(t)
			}
			if _, earlier := d.untold[key]; !earlier {
				d.untold[key] = t.Ended
			}
		}
	}
	return d
}

// of reports whether one like t was in doubt before. One that the event met counts only if t's values are
// its own: where transactions share them, connections that are opened anew may send them again.
func (d doubts) of(t *wire.Transaction, shared bool) bool {
	for _, key := range []string{t.Place + t.Values(), t.Place + opened(t)} {
		// The end of one that only its rows tell of is when it was sent: it is not before itself.
		if ended, is := d.untold[key]; is && ended <= t.Began && ended < t.Ended {
			return true
		}
	}
	return d.struck != nil && !shared && t.Place == d.place && d.struck != t && begins(t, d.struck)
}

// opened is a transaction's first statement and its values, as one text.
func opened(t *wire.Transaction) string {
	s := opening(t)
	if s == nil {
		return ""
	}
	return "\x01" + s.Exactly()
}
