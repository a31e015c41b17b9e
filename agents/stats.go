package agents

import (
	"fmt"

	"github.com/HdrHistogram/hdrhistogram-go"

	"assay/load"
)

// encodedStats are load.Stats on their way. The histograms are in HdrHistogram's own
// form (V2, compressed).
type encodedStats struct {
	Rest   load.Stats `json:"rest"`
	Late   string     `json:"late"`
	OwnLag string     `json:"own_lag"`
}

func encodeStats(s load.Stats) encodedStats {
	e := encodedStats{Rest: s, Late: encodeHistogram(s.Late), OwnLag: encodeHistogram(s.OwnLag)}
	e.Rest.Late, e.Rest.OwnLag = nil, nil
	return e
}

func encodeHistogram(h *hdrhistogram.Histogram) string {
	if h == nil {
		return ""
	}
	text, _ := h.Encode(hdrhistogram.V2CompressedEncodingCookieBase) // fails for other forms only
	return string(text)
}

func (e encodedStats) decode() (s load.Stats, err error) {
	s = e.Rest
	for _, one := range []struct {
		text string
		to   **hdrhistogram.Histogram
	}{{e.Late, &s.Late}, {e.OwnLag, &s.OwnLag}} {
		if one.text == "" {
			continue
		}
		if *one.to, err = hdrhistogram.Decode([]byte(one.text)); err != nil {
			return s, fmt.Errorf("an agent's histogram cannot be read: %w", err)
		}
	}
	return s, nil
}

// Joined are the stats of two shares as those of one run: counts are added, histograms
// merged, and of what says how an agent fared the worse is taken. The measured part
// lasts from the first start to the last end.
func Joined(a, b load.Stats) load.Stats {
	if a.Late == nil {
		return b
	}
	if b.Late == nil {
		return a
	}
	a.Late.Merge(b.Late)
	a.OwnLag.Merge(b.OwnLag)
	a.MeasureStart, a.MeasureEnd = min(a.MeasureStart, b.MeasureStart), max(a.MeasureEnd, b.MeasureEnd)
	a.Cut = a.Cut || b.Cut
	a.Hung += b.Hung
	a.Unserved += b.Unserved
	if b.Self.CPUShare > a.Self.CPUShare {
		a.Self.CPUShare, a.Self.CPUs = b.Self.CPUShare, b.Self.CPUs
	}
	a.Self.SchedulerP99 = max(a.Self.SchedulerP99, b.Self.SchedulerP99)
	a.Self.Runnable = max(a.Self.Runnable, b.Self.Runnable)
	return a
}
