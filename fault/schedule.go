package fault

import (
	"iter"
	"time"
)

// Occurrence is one time that a fault is due.
type Occurrence struct {
	// Fault is its index in the list.
	Fault int
	// Round counts the occurrences of this fault from 0.
	Round int
	// At is from the start of the run, For how long it lasts; Ever until the work
	// has ended, 0 for an action that heals itself at once.
	At, For time.Duration
}

// What is taken if the schedule does not say it.
const (
	// DefaultAt is when a fault happens in a run whose length is not known;
	// else it is after a quarter of the run.
	DefaultAt = 5 * time.Second
	// DefaultFor is how long a fault lasts, but not more than half of Every,
	// nor than a quarter of the run where its length is known.
	DefaultFor = 15 * time.Second
	// DefaultTimes says both for users.
	DefaultTimes = "Without at or every it happens after a quarter of the measured time, or 5s where that is not known; without for it lasts 15s, but at most a quarter of that time and half of every"
)

// Explicit is the fault with everything said that Schedule otherwise takes for granted in
// a run of this length, so that it happens alike in one of another length. A fault while
// loading has no such length: nobody knows how long loading takes.
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

// Schedule yields when the faults that wait for no event are due in a run of this length, in
// order of time, those of the same time in the order of the list. A duration of 0 means
// that the length is not known; then faults with Every go on without end.
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

// occurrence is when fault i of the list happens for the round-th time, if it
// does.
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
