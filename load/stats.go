package load

import (
	"sync"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Stats is what the engine knows of a run beside its history.
type Stats struct {
	// MeasureStart and MeasureEnd bound the measured part, in nanoseconds
	// since the start. If the run was cut in the warm-up both are the end.
	MeasureStart, MeasureEnd int64
	// Cut is true if the run was ended before its time.
	Cut bool
	// Unserved counts arrivals that were due in the measured part and never
	// started, because all clients were busy; open loop only.
	Unserved int64
	// Hung counts clients that did not come back after the time limit of their
	// attempt, or, without one, after their attempt was taken back at the end of
	// the run. Their last operation is unknown and has no record.
	Hung int
	// Late is how long after due operations started, for whatever reason, and
	// OwnLag the part of it that is the tester's own fault, because a client was
	// free (see arrival.own; in a closed loop, what the client did between two
	// operations). In microseconds, measured part only.
	Late, OwnLag *hdrhistogram.Histogram
	// Self is how the process fared in the measured part.
	Self Usage
}

const (
	lagStripes = 16
	lagMax     = 3_600_000_000 // an hour, in microseconds
)

// lags gathers lateness from all clients in a bounded number of histograms.
type lags struct {
	stripes [lagStripes]struct {
		sync.Mutex
		late, own *hdrhistogram.Histogram
	}
}

func newLags() *lags {
	l := &lags{}
	for i := range l.stripes {
		l.stripes[i].late = hdrhistogram.New(1, lagMax, 2)
		l.stripes[i].own = hdrhistogram.New(1, lagMax, 2)
	}
	return l
}

// add takes nanoseconds.
func (l *lags) add(client int, late, own int64) {
	s := &l.stripes[client%lagStripes]
	s.Lock()
	defer s.Unlock()
	// Values are within the bounds, so that recording cannot fail.
	_ = s.late.RecordValue(min(max(late/1000, 0), lagMax))
	_ = s.own.RecordValue(min(max(own/1000, 0), lagMax))
}

func (l *lags) merged() (late, own *hdrhistogram.Histogram) {
	late, own = hdrhistogram.New(1, lagMax, 2), hdrhistogram.New(1, lagMax, 2)
	for i := range l.stripes {
		s := &l.stripes[i]
		s.Lock()
		late.Merge(s.late)
		own.Merge(s.own)
		s.Unlock()
	}
	return late, own
}
