package fault

import (
	"iter"
	"time"
)

// Occurrence is one time that a fault is due.
type Occurrence struct {
	Fault int
	// Round counts the occurrences of this fault from 0.
	Round int
	// At is from the start of the run. For is how long it lasts: Ever until the work has ended, 0
	// for an action that heals itself at once.
	At, For time.Duration
}

const (
	// DefaultAt is when a fault happens in a run of unknown length. Otherwise it happens after a
	// quarter of the run.
	DefaultAt = 5 * time.Second
	// DefaultFor is how long a fault lasts, but at most half of Every and a quarter of a run of
	// known length.
	DefaultFor   = 15 * time.Second
	DefaultTimes = "Without at or every it happens after a quarter of the measured time, or 5s where that is not known; without for it lasts 15s, but at most a quarter of that time and half of every"
)

// Explicit sets the times that Schedule otherwise derives from a run's length, so that the fault is
// the same in a run of another length. Loading has no known length.
func (f Fault) Explicit(duration time.Duration) Fault {
	if f.Loading {
		duration = 0
	}
	f.For = f.length(duration)
	if f.Every == 0 {
		f.At = f.at(duration)
	}
	return f
}

// Schedule yields when the faults without an event are due in a run of this length, in order of
// time and then of the list. With a duration of 0, for an unknown length, faults with Every go on
// without end.
func Schedule(faults []Fault, duration time.Duration) iter.Seq[Occurrence] {
	return func(yield func(Occurrence) bool) {
		rounds := make([]int, len(faults))
		for {
			next := Occurrence{Fault: -1}
			for i, f := range faults {
				if o, is := f.occurrence(i, rounds[i], duration); is && (next.Fault < 0 || o.At < next.At) {
					next = o
				}
			}
			if next.Fault < 0 || !yield(next) {
				return
			}
			rounds[next.Fault]++
		}
	}
}

// occurrence is the round-th time of fault i of the list, if it happens.
func (f Fault) occurrence(i, round int, duration time.Duration) (Occurrence, bool) {
	o := Occurrence{Fault: i, Round: round, At: f.at(duration), For: f.length(duration)}
	if f.When != "" {
		return o, false // no time is known for it
	}
	if f.Every > 0 {
		o.At = f.Every * time.Duration(round+1)
		if o.At/f.Every != time.Duration(round+1) {
			return o, false // after the end of all time
		}
	} else if round > 0 {
		return o, false
	}
	return o, duration == 0 || o.At < duration
}

func (f Fault) at(duration time.Duration) time.Duration {
	switch {
	case f.When != "":
		return max(f.At, 0)
	case f.At >= 0:
		return f.At
	case duration > 0:
		return duration / 4
	default:
		return DefaultAt
	}
}

func (f Fault) length(duration time.Duration) time.Duration {
	if about, _ := Lookup(f.Action); !about.Lasts {
		return 0
	}
	if f.For > 0 {
		return f.For
	}
	length := DefaultFor
	if f.Every > 0 {
		length = min(length, f.Every/2)
	}
	if duration > 0 {
		length = min(length, duration/4)
	}
	return length
}
