package load

import (
	"sync"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Stats is what the engine knows of a run beside its history.
type Stats struct {
	// MeasureStart and MeasureEnd bound the measured part, in nanoseconds since the start. They
	// are equal if the run was cut in the warm-up.
	MeasureStart, MeasureEnd int64
	Cut                      bool
	// WhyCut says why the run ended itself early, as a clause; empty if its context ended it.
	WhyCut string
	// Unserved counts an open loop's arrivals due in the measured part that never started, because
	// all clients were busy or no attempt could be made.
	Unserved int64
	// Hung counts clients that did not come back after the time limit of their attempt or, without
	// one, after the end of the run. Their last operation is unknown and has no record.
	Hung int
	// Late is how late operations started, for any reason. OwnLag is the tester's own part, while a
	// client was free (see arrival.own; in a closed loop, the client's work between operations).
	// Both are in microseconds, for the measured part.
	Late, OwnLag *hdrhistogram.Histogram
	Self         Usage
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
