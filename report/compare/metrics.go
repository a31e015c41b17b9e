package compare

import (
	"math"
	"slices"
	"strings"

	"assay/internal/quantity"
	"assay/measure"
	"assay/report"
)

const (
	perSecond    = "/s"
	milliseconds = "ms"
	microseconds = "µs"
	sizeBytes    = "B"
	percent      = "%"
	seconds      = "s"
	operations   = "operations"
	perMillion   = "a million"
	perGigabyte  = "a GB a month"

	numberOfClients = "clients"
)

// The metrics that the run's end may cut.
const (
	outageName      = "outage"
	readOutageName  = "read outage"
	longestCallName = "longest call"
	newPrimaryName  = "new primary"
)

// costName is the cost of a million committed operations, if a price was given.
const costName = "cost"

type metric struct {
	// name is as in thresholds (package measure), if these have the figure.
	name, unit   string
	moreIsBetter bool
	// of reads it from a run; ok is false if the run does not have it.
	of func(r *report.Result) (value float64, ok bool)
	// interval is a run's 95 % confidence interval, nil if it has none. The function is nil for
	// metrics that never have one.
	interval func(r *report.Result) *measure.Interval
}

func metrics() []metric {
	all := []metric{
		{"throughput", perSecond, true, func(r *report.Result) (float64, bool) { return r.Throughput.PerSecond, r.Throughput.Seconds > 0 },
			func(r *report.Result) *measure.Interval { return r.Throughput.Interval() }},
	}
	for _, l := range measure.LatencyMetrics() {
		all = append(all, metric{l.Name, milliseconds, false, func(r *report.Result) (float64, bool) { return l.Of(&r.Latency), r.Latency.Count > 0 },
			func(r *report.Result) *measure.Interval { return l.Interval(&r.Latency) }})
	}
	return append(all, []metric{
		{"errors", percent, false, errorShare, nil},
		{outageName, milliseconds, false, outage(false), nil},
		{readOutageName, milliseconds, false, outage(true), nil},
		{newPrimaryName, milliseconds, false, newPrimary, nil},
		{longestCallName, milliseconds, false, longestCall, nil},
		{"lost", operations, false, ofAvailability(func(a *report.Availability) int64 { return a.Lost }), nil},
		{"done twice", operations, false, ofAvailability(func(a *report.Availability) int64 { return a.Duplicates }), nil},
		{"stale reads", operations, false, ofAvailability(func(a *report.Availability) int64 { return a.Stale }), nil},
		{"loading", perSecond, true, func(r *report.Result) (float64, bool) {
			return r.Loading.PerSecond, r.Loading.Rows > 0 && r.Loading.Seconds > 0
		}, nil},
		{degradationName, numberOfClients, true, degradation, degradationInterval},
		{"size", sizeBytes, false, func(r *report.Result) (float64, bool) { return float64(r.Data.Bytes), r.Data.Bytes > 0 }, nil},
		{costName, perMillion, false, func(r *report.Result) (float64, bool) {
			if r.Cost == nil || r.Cost.Nodes == 0 { // of one node, it compares with nothing
				return 0, false
			}
			return r.Cost.PerMillion, r.Cost.PerMillion > 0
		}, nil},
		{"client cpu", microseconds, false, (*report.Result).ClientProcessor, nil},
	}...)
}

// layoutMetrics are the metrics that an author may name: beside metrics, more on the data's size,
// the servers' cost of a committed operation, and the figures of the run's rounds.
func layoutMetrics(r *report.Result) []metric {
	all := append(metrics(), []metric{
		{"indexes", sizeBytes, false, func(r *report.Result) (float64, bool) { return float64(r.Data.Indexes), r.Data.Indexes > 0 }, nil},
		{"bytes a row", sizeBytes, false, func(r *report.Result) (float64, bool) {
			n := rows(r)
			return float64(r.Data.Bytes) / float64(max(n, 1)), r.Data.Bytes > 0 && n > 0
		}, nil},
		{"best second", perSecond, true, bestSecond, nil},
		{costName + " of storage", perGigabyte, false, func(r *report.Result) (float64, bool) {
			if r.Cost == nil || r.Cost.Nodes == 0 {
				return 0, false
			}
			return r.Cost.PerGigabyteMonth, r.Cost.PerGigabyteMonth > 0
		}, nil},
		{"server cpu", microseconds, false, (*report.Result).ServerProcessor, nil},
	}...)
	for i := range r.Rounds {
		for _, f := range roundFigures() {
			if _, has := f.get(&r.Rounds[i]); has || !f.compared {
				all = append(all, f.metricOf(r.Rounds[i].Name))
			}
		}
	}
	return all
}

// bestSecond is the best commits a second of the measured part, or of a step of a long run.
func bestSecond(r *report.Result) (best float64, known bool) {
	s := &r.Series
	if s.IntervalSeconds <= 0 {
		return 0, false
	}
	steps := max(int(math.Round(1/s.IntervalSeconds)), 1)
	length := float64(steps) * s.IntervalSeconds
	for i := range max(len(s.Committed)-steps+1, 0) {
		if s.Start[i] < s.MeasureStart || s.Start[i]+length > s.MeasureEnd {
			continue
		}
		sum := int64(0)
		for _, n := range s.Committed[i : i+steps] {
			sum += n
		}
		best, known = max(best, float64(sum)/length), true
	}
	return best, known
}

func ofAvailability(get func(*report.Availability) int64) func(*report.Result) (float64, bool) {
	return func(r *report.Result) (float64, bool) {
		if r.Availability == nil || r.Availability.NotRead != "" {
			return 0, false
		}
		return float64(get(r.Availability)), true
	}
}

// errorShare is the percentage of measured operations that failed or are unknown; 0 if none.
func errorShare(r *report.Result) (float64, bool) {
	all := r.Measured.Total()
	if all == 0 {
		return 0, false
	}
	return 100 * float64(r.Measured.Failed+r.Measured.Unknown) / float64(all), true
}

// outage is the longest time without a write, or a read, in faults or anywhere in workload availability.
func outage(reads bool) func(*report.Result) (float64, bool) {
	return func(r *report.Result) (float64, bool) {
		longest := r.LongestOutage(reads).Millis
		if a := r.Availability; a != nil && reads {
			longest = max(longest, a.ReadOutage)
		} else if a != nil {
			longest = max(longest, a.WriteOutage)
		}
		return longest, longest >= 0
	}
}

func newPrimary(r *report.Result) (float64, bool) {
	return longestOfFaults(r, func(f *report.Fault) float64 {
		if !f.TookOver() {
			return -1
		}
		return f.NewPrimaryAfter
	})
}

func longestCall(r *report.Result) (float64, bool) {
	return longestOfFaults(r, func(f *report.Fault) float64 { return f.LongestCall })
}

// longestOfFaults ignores negative times, which mean none.
func longestOfFaults(r *report.Result, of func(*report.Fault) float64) (longest float64, known bool) {
	longest = -1
	for i := range r.Faults {
		if f := &r.Faults[i]; !f.Skipped {
			longest = max(longest, of(f))
		}
	}
	return longest, longest >= 0
}

type roundFigure struct {
	name, unit string
	// subject is a sentence's word for it, before the round's name.
	subject      string
	moreIsBetter bool
	compared     bool
	get          func(*report.Round) (float64, bool)
}

func roundFigures() []roundFigure {
	return []roundFigure{
		{"took", seconds, "the time of", false, true, func(x *report.Round) (float64, bool) { return x.Seconds, true }},
		{"rows", perSecond, "the rate of rows in", true, true, func(x *report.Round) (float64, bool) { return x.RowsPerSecond, x.RowsPerSecond > 0 }},
		{"p50", milliseconds, "the median time in", false, true, func(x *report.Round) (float64, bool) { return x.Service.P50, x.Service.Count > 1 }},
		{"longest", milliseconds, "the longest operation in", false, false, func(x *report.Round) (float64, bool) { return x.Service.Max, x.Service.Count > 0 }},
		{"mean", milliseconds, "the mean time in", false, false, func(x *report.Round) (float64, bool) { return x.Service.Mean, x.Service.Count > 0 }},
		{"size", sizeBytes, "the size after", false, false, func(x *report.Round) (float64, bool) {
			if x.Size == nil {
				return 0, false
			}
			return float64(x.Size.Bytes), true
		}},
	}
}

func (f roundFigure) metricOf(round string) metric {
	return metric{round + ": " + f.name, f.unit, f.moreIsBetter, func(r *report.Result) (float64, bool) {
		for i := range r.Rounds {
			if r.Rounds[i].Name == round {
				return f.get(&r.Rounds[i])
			}
		}
		return 0, false
	}, nil}
}

func (m metric) subject() string {
	round, figure, _ := cutLast(m.name, ": ")
	if strings.Contains(round, ",") {
		round = "“" + round + "”"
	}
	for _, f := range roundFigures() {
		if f.name == figure {
			return f.subject + " " + round
		}
	}
	return m.name
}

func roundFigureNames() (names []string) {
	for _, f := range roundFigures() {
		names = append(names, f.name)
	}
	return names
}

func roundMetrics(r *report.Result) (all []metric) {
	for i := range r.Rounds {
		for _, f := range roundFigures() {
			if _, has := f.get(&r.Rounds[i]); has && f.compared {
				all = append(all, f.metricOf(r.Rounds[i].Name))
			}
		}
	}
	return all
}

func metricsOf(groups []Group) []metric {
	all := metrics()
	if first := groups[0].Runs; len(first) > 0 {
		all = append(all, roundMetrics(first[0].Result)...)
	}
	return slices.DeleteFunc(all, func(m metric) bool { return !everyRunHas(groups, m) })
}

func find(all []metric, name string) (metric, bool) {
	at := slices.IndexFunc(all, func(m metric) bool { return m.name == name })
	if at < 0 {
		return metric{}, false
	}
	return all[at], true
}

func everyRunHas(groups []Group, m metric) bool {
	for _, g := range groups {
		for _, r := range g.Runs {
			if _, ok := m.of(r.Result); !ok {
				return false
			}
		}
	}
	return true
}

func (m metric) format(v float64) string {
	switch m.unit {
	case perSecond:
		return quantity.Figure(v) + "/s"
	case milliseconds:
		return quantity.Milliseconds(v)
	case microseconds:
		return quantity.Milliseconds(v / 1000)
	case seconds:
		return quantity.Seconds(v)
	case sizeBytes:
		return quantity.Bytes(int64(math.Round(v)))
	case operations:
		return quantity.Short(v)
	}
	return quantity.Figure(v) + " " + m.unit
}
