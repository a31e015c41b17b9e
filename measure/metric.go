package measure

import "assay/history"

const (
	unitPerSecond  = "/s"
	unitMillis     = "ms"
	unitOperations = "operations"
)

// metric is a figure that thresholds can limit.
type metric struct {
	name, alias string
	unit        string
	lowIsBad    bool
	// whole gives its value for the measured part; ok is false if there is none. point gives
	// it for one interval of the series; nil if the series lacks it.
	whole func(f *Figures) (value float64, ok bool)
	point func(s *Series, i int) (value float64, ok bool)
	// arrivals bounds whole if arrivals never started; nil if they do not matter to it.
	arrivals func(f *Figures) (least, most float64)
}

func metrics() []metric {
	all := []metric{{
		name: "throughput", alias: "committed_per_second", unit: unitPerSecond, lowIsBad: true,
		whole: func(f *Figures) (float64, bool) { return f.Throughput.PerSecond, f.Throughput.Seconds > 0 },
		point: func(s *Series, i int) (float64, bool) { return float64(s.Committed[i]) / s.IntervalSeconds, true },
	}}
	for _, l := range LatencyMetrics() {
		all = append(all, metric{
			name: l.Name, alias: l.alias, unit: unitMillis,
			whole:    func(f *Figures) (float64, bool) { return l.Of(&f.Latency), f.Latency.Count > 0 },
			point:    func(s *Series, i int) (float64, bool) { v := l.at(s)[i]; return v, v >= 0 },
			arrivals: func(f *Figures) (float64, float64) { return l.Of(&f.Arrivals.least), l.Of(&f.Arrivals.most) },
		})
	}
	for _, l := range LatencyMetrics() {
		m := metric{
			name: "service." + l.Name, unit: unitMillis,
			whole: func(f *Figures) (float64, bool) { return l.Of(&f.ServiceTime), f.ServiceTime.Count > 0 },
		}
		if l.alias != "" {
			m.alias = "service." + l.alias
		}
		all = append(all, m)
	}
	for _, c := range []struct {
		name string
		of   func(o history.Counts) int64
	}{
		{"rejected", func(o history.Counts) int64 { return o.Rejected }},
		{"failed", func(o history.Counts) int64 { return o.Failed }},
		{"unknown", func(o history.Counts) int64 { return o.Unknown }},
		{nameErrors, func(o history.Counts) int64 { return o.Failed + o.Unknown }},
	} {
		m := metric{
			name: c.name, unit: unitOperations,
			whole: func(f *Figures) (float64, bool) { return float64(c.of(f.Measured)), f.Measured.Total() > 0 },
			point: func(s *Series, i int) (float64, bool) { return float64(c.of(s.outcomes(i))), true },
		}
		if c.name == nameErrors {
			m.arrivals = func(f *Figures) (least, most float64) {
				least = float64(c.of(f.Measured))
				return least, least + float64(f.Arrivals.Unserved)
			}
		}
		all = append(all, m)
	}
	return append(all, metric{
		name: nameOutage, unit: unitMillis,
		whole: func(f *Figures) (float64, bool) { return millis(f.Outage.Length()), f.Outage.Known },
	})
}

const (
	// nameOutage is a metric without windows: it is a time, not about operations.
	nameOutage = "outage"
	// nameErrors may count arrivals that never started.
	nameErrors = "errors"
)

// LatencyMetric is one figure of a Latency, with its name in thresholds, gates and tables.
type LatencyMetric struct {
	Name string
	Of   func(l *Latency) float64
	// interval may be nil for a figure without one.
	interval func(i *Intervals) *Interval
	// alias is another name. at gives the figure in a series.
	alias string
	at    func(s *Series) []float64
}

// Interval is the figure's interval; nil if there is none.
func (m LatencyMetric) Interval(l *Latency) *Interval {
	if l.Intervals == nil || m.interval == nil {
		return nil
	}
	return m.interval(l.Intervals)
}

// LatencyMetrics are the metrics of every Latency, in the order of tables.
func LatencyMetrics() []LatencyMetric {
	return []LatencyMetric{
		{"mean", func(l *Latency) float64 { return l.Mean }, func(i *Intervals) *Interval { return i.Mean }, "", func(s *Series) []float64 { return s.Mean }},
		{"p50", func(l *Latency) float64 { return l.P50 }, func(i *Intervals) *Interval { return i.P50 }, "", func(s *Series) []float64 { return s.P50 }},
		{"p95", func(l *Latency) float64 { return l.P95 }, func(i *Intervals) *Interval { return i.P95 }, "", func(s *Series) []float64 { return s.P95 }},
		{"p99", func(l *Latency) float64 { return l.P99 }, func(i *Intervals) *Interval { return i.P99 }, "", func(s *Series) []float64 { return s.P99 }},
		{"p99.9", func(l *Latency) float64 { return l.P999 }, func(i *Intervals) *Interval { return i.P999 }, "p999", func(s *Series) []float64 { return s.P999 }},
		{"max", func(l *Latency) float64 { return l.Max }, nil, "", func(s *Series) []float64 { return s.Max }},
	}
}

func metricNames() []string {
	var names []string
	for _, m := range metrics() {
		names = append(names, m.name)
	}
	return names
}
